import Foundation
import Testing
import TransparencyLog

/// The probes of transparency-dev/merkle; where they come from is told in `Vectors/README.md`.
@Suite struct `Foreign proof vectors` {
    struct Inclusion: Decodable {
        var leafIdx: UInt64
        var treeSize: UInt64
        var root: Data?
        var leafHash: Data?
        var proof: [Data]?
        var wantErr: Bool
    }

    struct Consistency: Decodable {
        var size1: UInt64
        var size2: UInt64
        var root1: Data?
        var root2: Data?
        var proof: [Data]?
        var wantErr: Bool
    }

    struct NotAHash: Error {}

    @Test func `all 98 inclusion probes are judged as published`() throws {
        let probes: [String: Inclusion] = try self.load("inclusion")
        #expect(probes.count == 98)
        #expect(probes.values.count { !$0.wantErr } == 6)
        for (name, probe) in probes {
            let isAccepted = self.succeeds {
                try InclusionProof(
                    leafIndex: probe.leafIdx,
                    treeSize: probe.treeSize,
                    hashes: (probe.proof ?? []).map(self.hash)
                ).verify(leaf: self.hash(probe.leafHash), root: self.hash(probe.root))
            }
            #expect(isAccepted == !probe.wantErr, "\(name)")
        }
    }

    @Test func `all 98 consistency probes are judged as published`() throws {
        let probes: [String: Consistency] = try self.load("consistency")
        #expect(probes.count == 98)
        #expect(probes.values.count { !$0.wantErr } == 6)
        for (name, probe) in probes {
            let isAccepted = self.succeeds {
                try ConsistencyProof(
                    oldSize: probe.size1,
                    newSize: probe.size2,
                    hashes: (probe.proof ?? []).map(self.hash)
                ).verify(oldRoot: self.root(probe.root1), newRoot: self.root(probe.root2))
            }
            #expect(isAccepted == !probe.wantErr, "\(name)")
        }
    }

    private func load<Probe: Decodable>(_ name: String) throws -> [String: Probe] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/\(name).json")
        return try JSONDecoder().decode([String: Probe].self, from: Data(contentsOf: file))
    }

    /// Eleven probes give texts "don't care 1" and "don't care 2" for roots, one of them in a valid proof, since that
    /// verifier only compares them. Their hashes stand for them here, where a root is always 32 bytes.
    private func root(_ bytes: Data?) throws -> LogHash {
        guard let bytes, String(decoding: bytes, as: UTF8.self).hasPrefix("don't care") else {
            return try self.hash(bytes)
        }
        return MerkleTree.leafHash(bytes)
    }

    private func hash(_ bytes: Data?) throws -> LogHash {
        guard let hash = LogHash(bytes ?? Data()) else { throw NotAHash() }
        return hash
    }

    private func succeeds(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            return false
        }
    }
}

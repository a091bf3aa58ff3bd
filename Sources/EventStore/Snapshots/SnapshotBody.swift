import PinWire
import Pinning
import TransparencyLog

/// A fold in the form in which the database stores it: the state's parts, each after its length, and a digest of all.
struct SnapshotBody: Sendable {
    let bytes: [UInt8]
    /// The digest of the state alone, by which two folds are compared.
    let stateDigest: [UInt8]

    /// Why stored bytes are not a snapshot to start from.
    enum Unusable: Error, CustomStringConvertible {
        case damaged
        case notAuthentic
        case foreign
        case later
        case unreadable(SnapshotDefect)

        var description: String {
            switch self {
            case .damaged: "its bytes are not those that were written"
            case .notAuthentic: "it was not made by a node with the key-encryption key"
            case .foreign: "its tree is not the ledger's"
            case .later: "it was made at a feature level that this program does not know"
            case .unreadable(let defect): "it cannot be read: \(defect)"
            }
        }
    }

    /// Serializes a state, part by part: other tasks of the thread run in between.
    init(of view: LedgerView) async {
        var bytes: [UInt8] = []
        var digests: [UInt8] = []
        for index in 0..<LedgerState.snapshotPartCount {
            let part = view.state.snapshotPart(index)
            withUnsafeBytes(of: UInt32(part.count).bigEndian) { bytes += $0 }
            bytes += part
            digests += sha256(part)
            await Task.yield()
        }
        self.stateDigest = sha256(digests)
        bytes += Self.seal(self.stateDigest, view.head)
        self.bytes = bytes
    }

    /// The digest of a state, as ``stateDigest``, without keeping its bytes.
    static func digest(of state: LedgerState) async -> [UInt8] {
        var digests: [UInt8] = []
        for index in 0..<LedgerState.snapshotPartCount {
            digests += sha256(state.snapshotPart(index))
            await Task.yield()
        }
        return sha256(digests)
    }

    /// The digest at the end of the bytes: of the state, and of its ledger and position.
    var seal: [UInt8] { Array(self.bytes.suffix(32)) }

    private static func seal(_ stateDigest: [UInt8], _ head: Head) -> [UInt8] {
        var context = Array("pinledger/snapshot/v1\u{0}".utf8)
        withUnsafeBytes(of: LedgerState.foldVersion.bigEndian) { context += $0 }
        withUnsafeBytes(of: head.position.bigEndian) { context += $0 }
        return sha256(context + head.frontier.encoded + stateDigest)
    }

    /// Takes stored bytes, if they are undamaged and belong to `head`.
    init(stored bytes: [UInt8], at head: Head) throws(Unusable) {
        var digests: [UInt8] = []
        for part in try Self.parts(of: bytes) { digests += sha256(bytes[part]) }
        let digest = sha256(digests)
        guard bytes.suffix(32).elementsEqual(Self.seal(digest, head)) else { throw .damaged }
        self.bytes = bytes
        self.stateDigest = digest
    }

    /// The state.
    func state() throws(Unusable) -> LedgerState {
        var state = LedgerState()
        for (index, part) in try Self.parts(of: self.bytes).enumerated() {
            do { try state.restore(part: index, from: self.bytes[part]) } catch { throw .unreadable(error) }
        }
        return state
    }

    private static func parts(of bytes: [UInt8]) throws(Unusable) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var at = 0
        let end = bytes.count - 32
        for _ in 0..<LedgerState.snapshotPartCount {
            guard at + 4 <= end else { throw .damaged }
            let count = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
            at += 4
            guard count <= end - at else { throw .damaged }
            parts.append(at..<(at + count))
            at += count
        }
        guard at == end else { throw .damaged }
        return parts
    }
}

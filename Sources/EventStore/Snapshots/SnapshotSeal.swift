import PinWire
import Pinning

/// What a snapshot is authenticated by: the form of its state, its place in the ledger, and the digests of its parts.
///
/// It is read and checked before any part, so that only bytes that a node has written are parsed.
struct SnapshotSeal: Hashable, Sendable {
    let foldVersion: Int32
    let position: Int64
    /// The right edge of the tree at ``position``, encoded.
    let frontier: [UInt8]
    /// The SHA-256 of each part, one after another: 32 bytes each.
    let digests: [UInt8]

    /// Why a stored snapshot is none to start from.
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

    init(foldVersion: Int32 = LedgerState.foldVersion, position: Int64, frontier: [UInt8], digests: [UInt8]) {
        self.foldVersion = foldVersion
        self.position = position
        self.frontier = frontier
        self.digests = digests
    }

    /// The digest of the state alone, by which two folds are compared: 32 bytes.
    var stateDigest: [UInt8] { sha256(self.digests) }

    /// What a tag and a signature are made of: the SHA-256 of the text `pinledger/snapshot/v1` and a zero byte, the form of the
    /// state (4 bytes, big-endian), the position (8 bytes, big-endian), the frontier, and ``stateDigest``.
    var bytes: [UInt8] {
        var context = Array("pinledger/snapshot/v1\u{0}".utf8)
        withUnsafeBytes(of: self.foldVersion.bigEndian) { context += $0 }
        withUnsafeBytes(of: self.position.bigEndian) { context += $0 }
        return sha256(context + self.frontier + self.stateDigest)
    }

    /// The digest of a state, as ``stateDigest``. Other tasks of the thread run between its parts.
    static func digest(of state: LedgerState) async -> [UInt8] {
        var digests: [UInt8] = []
        for number in 0..<LedgerState.snapshotPartCount {
            digests += sha256(state.snapshotPart(number))
            await Task.yield()
        }
        return sha256(digests)
    }

    /// Takes in a stored part, after those before it, if it has the digest that is recorded for it.
    func restore(part number: Int, from bytes: [UInt8], in state: inout LedgerState) throws(Unusable) {
        guard self.digests.dropFirst(number * 32).prefix(32).elementsEqual(sha256(bytes)) else { throw .damaged }
        do { try state.restore(part: number, from: bytes[...]) } catch { throw .unreadable(error) }
    }
}

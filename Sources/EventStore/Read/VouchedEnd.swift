import PinWire
import Pinning
package import TransparencyLog

/// An end of the ledger for which a node that remembers it vouches to one that remembers nothing.
///
/// A database that was restored from a backup has all that was once written to it, earlier answers too. So the node that asks draws a
/// challenge, and an answer is signed over that: it was made while the node asked.
package struct VouchedEnd: Hashable, Sendable {
    /// The number of events.
    package var position: Int64
    /// The number of the epoch that the ledger is in.
    package var epoch: Int64
    /// The root of the Merkle tree over the events.
    package var root: LogHash

    package init(position: Int64, epoch: Int64, root: LogHash) {
        self.position = position
        self.epoch = epoch
        self.root = root
    }

    /// The end of what a node has taken in and verified.
    package init(of view: LedgerView) {
        self.init(position: view.head.position, epoch: view.state.fleet.epoch, root: view.head.frontier.root)
    }

    /// The bytes of a challenge: as many as nobody guesses or meets twice.
    package static let challengeLength = 32

    /// The number of events and that of the epoch (8 bytes each, big-endian), and the root (32 bytes).
    private var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [self.position, self.epoch] {
            withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
        }
        return bytes + self.root.bytes
    }

    private static let length = 48

    /// The bytes that are signed: the text `pinledger/vouched-end/v1`, a zero byte, the challenge, and ``bytes``.
    private static func message(_ bytes: [UInt8], to challenge: [UInt8]) -> [UInt8] {
        Array("pinledger/vouched-end/v1\u{0}".utf8) + challenge + bytes
    }

    /// The answer to a challenge, 120 bytes: the end, and its signature with the key's id as ``BatchSigner`` makes it; nil where the node
    /// has no key, or cannot sign.
    package func answer(to challenge: [UInt8], by keys: BatchKeys) -> [UInt8]? {
        let bytes = self.bytes
        return keys.current.signer?.signature(over: Self.message(bytes, to: challenge)).map { bytes + $0 }
    }

    /// Reads an answer to a challenge; nil where none of `verifiers` has signed it.
    package init?(answer: [UInt8], to challenge: [UInt8], verifiedBy verifiers: [BatchVerifier]) {
        guard answer.count > Self.length else { return nil }
        let bytes = Array(answer.prefix(Self.length))
        let (signature, message) = (Array(answer.dropFirst(Self.length)), Self.message(bytes, to: challenge))
        guard verifiers.contains(where: { $0.defect(of: signature, over: message) == nil }) else { return nil }
        let numbers = [bytes[..<8], bytes[8..<16]].map { part in
            Int64(bitPattern: part.reduce(0) { $0 << 8 | UInt64($1) })
        }
        // The end of an empty ledger is one of every ledger, and shows nothing.
        guard numbers.allSatisfy({ (0...JSON.largestInteger).contains($0) }), numbers[0] > 0,
            let root = LogHash(Array(bytes[16...]))
        else { return nil }
        self.init(position: numbers[0], epoch: numbers[1], root: root)
    }
}

import Crypto

/// The hashing rules of the log's Merkle tree (RFC 6962 section 2.1, unchanged in RFC 9162 section 2.1).
///
/// Leaves and nodes are prefixed differently, so that no entry can be passed off as an interior node.
package enum MerkleTree {
    /// The largest tree this module works with: positions are PostgreSQL `bigint`s.
    package static let maximumSize: UInt64 = 1 << 63

    /// The root of the tree without leaves: SHA-256 of nothing.
    package static let emptyRoot = digest { _ in }

    /// The hash of a leaf: SHA-256(0x00 ‖ entry).
    package static func leafHash(_ entry: some Collection<UInt8>) -> LogHash {
        self.digest { hasher in
            hasher.update(byte: 0x00)
            let contiguous: Void? = entry.withContiguousStorageIfAvailable {
                hasher.update(bufferPointer: UnsafeRawBufferPointer($0))
            }
            if contiguous == nil {
                [UInt8](entry).withUnsafeBytes { hasher.update(bufferPointer: $0) }
            }
        }
    }

    /// The hash of an interior node: SHA-256(0x01 ‖ left ‖ right).
    package static func nodeHash(_ left: LogHash, _ right: LogHash) -> LogHash {
        self.digest { hasher in
            hasher.update(byte: 0x01)
            left.withUnsafeBytes { hasher.update(bufferPointer: $0) }
            right.withUnsafeBytes { hasher.update(bufferPointer: $0) }
        }
    }

    /// The root over `leaves`, which are leaf hashes; ``emptyRoot`` without any.
    package static func root(of leaves: some Sequence<LogHash>) -> LogHash {
        MerkleFrontier(leaves: leaves).root
    }

    /// The largest power of two that is smaller than `count`, at which RFC 6962 splits a tree; `count` MUST be ≥ 2.
    static func split(_ count: UInt64) -> UInt64 {
        1 << UInt64(63 - (count - 1).leadingZeroBitCount)
    }

    private static func digest(_ feed: (inout SHA256) -> Void) -> LogHash {
        var hasher = SHA256()
        feed(&hasher)
        return hasher.finalize().withUnsafeBytes { LogHash(loading: $0) }
    }
}

extension SHA256 {
    /// Feeds one byte: the prefix that tells leaves from nodes.
    fileprivate mutating func update(byte: UInt8) {
        withUnsafeBytes(of: byte) { self.update(bufferPointer: $0) }
    }
}

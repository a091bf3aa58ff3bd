/// Why a proof could not be made, or was refused.
package enum LogError: Error, Hashable, Sendable {
    /// The leaf index is not smaller than the tree's size.
    case leafOutsideTree(leafIndex: UInt64, treeSize: UInt64)
    /// A consistency proof needs 0 < old size ≤ new size. What an empty log promises is the caller's business.
    case sizesOutOfOrder(oldSize: UInt64, newSize: UInt64)
    /// The size is beyond ``MerkleTree/maximumSize``.
    case treeTooLarge(size: UInt64)
    /// A frontier of this size does not have this many bytes.
    case malformedFrontier(size: UInt64, byteCount: Int)
    /// The proof does not have the number of hashes that its sizes ask for.
    case wrongProofLength
    /// The proof leads to another root than the one it was made for.
    case rootMismatch
    /// The store answered a request for hashes with another number of them.
    case missingHashes(HashRange)
    /// An entry does not fit a bundle's 16-bit length (C2SP tlog-tiles).
    case entryTooLarge(byteCount: Int)
    /// The bytes are not a bundle of length-prefixed entries.
    case malformedBundle
}

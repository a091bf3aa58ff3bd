/// Why a proof could not be made, or was refused.
package enum LogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The leaf index is not smaller than the tree's size.
    case leafOutsideTree(leafIndex: UInt64, treeSize: UInt64)
    /// A consistency proof needs 0 < old size ≤ new size. The caller handles the empty log.
    case sizesOutOfOrder(oldSize: UInt64, newSize: UInt64)
    /// The size is beyond ``MerkleTree/maximumSize``.
    case treeTooLarge(size: UInt64)
    /// A frontier of this size does not have this many bytes.
    case malformedFrontier(size: UInt64, byteCount: Int)
    /// The proof does not have the number of hashes that its sizes require.
    case wrongProofLength
    /// The proof leads to another root than the one it was made for.
    case rootMismatch
    /// The store answered a request for hashes with another number of them.
    case missingHashes(HashRange)
    /// An entry does not fit a bundle's 16-bit length (C2SP tlog-tiles).
    case entryTooLarge(byteCount: Int)
    /// The bytes are not a bundle of length-prefixed entries.
    case malformedBundle
    /// The text is not a checkpoint's.
    case malformedCheckpoint
    /// The bytes are not a proof file's.
    case malformedProof

    package var description: String {
        switch self {
        case .leafOutsideTree(let leafIndex, let treeSize): "leaf \(leafIndex) is not in a tree of \(treeSize) leaves"
        case .sizesOutOfOrder(let oldSize, let newSize): "no tree of \(oldSize) leaves grows to one of \(newSize)"
        case .treeTooLarge(let size): "a tree of \(size) leaves is too large"
        case .malformedFrontier(let size, let byteCount):
            "the edge of a tree of \(size) leaves does not have \(byteCount) bytes"
        case .wrongProofLength: "the proof has too few hashes, or too many"
        case .rootMismatch: "the proof leads to another root"
        case .missingHashes: "hashes of the tree are missing"
        case .entryTooLarge(let byteCount): "an entry of \(byteCount) bytes is too large"
        case .malformedBundle: "the bundle of entries is malformed"
        case .malformedCheckpoint: "the text is not a log's origin, size and root in a line each"
        case .malformedProof: "the file is not a proof of an entry in a log"
        }
    }
}

import KeyFiles
import PinWire
import Pinning

/// The uploads of one request: what may still be spent on their key stores, and the keys and certificates among them
/// that the request is about, which are to be kept.
struct Uploads: Sendable {
    private var allowance = KeyStoreAllowance()
    private(set) var material: Set<Material> = []

    init() {}

    /// Reads one of them. May take a second, for a key store: not on a cooperative thread.
    ///
    /// - Parameter bytes: What is overwritten if it is refused.
    mutating func read(_ bytes: consuming [UInt8]) throws(UploadError) -> Upload {
        try Upload.read(&bytes, allowance: &self.allowance)
    }

    /// Notes that the ledger is to know of an upload what `evidence` says.
    mutating func keep(_ evidence: KeyEvidence, of upload: Upload) {
        let digests = evidence.digests
        self.material.formUnion(upload.material.filter { digests.contains($0.digest) })
    }
}

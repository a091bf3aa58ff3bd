import KeyFiles
import PinWire
import Pinning

/// The uploads of one request: the work that may still be spent on their key stores, and the keys and certificates
/// among them that are to be stored.
struct Uploads: Sendable {
    private var allowance = KeyStoreAllowance()
    private(set) var material: Set<Material> = []
    /// The keys by which hexadecimal digits are judged.
    let known: KnownKeys

    init(known: KnownKeys) {
        self.known = known
    }

    /// Reads one of them. May take a second, for a key store: not on a cooperative thread.
    ///
    /// - Parameter bytes: Overwritten if they are refused.
    mutating func read(_ bytes: consuming [UInt8]) throws(UploadError) -> Upload {
        try Upload.read(&bytes, allowance: &self.allowance)
    }

    /// Notes that the ledger is to name the contents of `evidence`.
    mutating func keep(_ evidence: KeyEvidence, of upload: Upload) {
        let digests = evidence.digests
        self.material.formUnion(upload.material.filter { digests.contains($0.digest) })
    }
}

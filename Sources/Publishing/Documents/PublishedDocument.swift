package import PinWire
package import Pinning

/// The current signed document of an app, ready to be served.
package struct PublishedDocument: Sendable {
    package let app: AppID
    package let version: Int64
    /// The ledger's position that it reflects.
    package let position: Int64
    /// SHA-256 of the content without the freshness fields, 32 bytes.
    package let contentDigest: [UInt8]
    package let issuedAt: Timestamp
    package let expiresAt: Timestamp
    /// The id of the key that signed it.
    package let keyID: String
    package let body: PreparedBody

    /// Whether this document may replace `other`: served documents never go back.
    package func supersedes(_ other: PublishedDocument, at now: Timestamp) -> Bool {
        other.issuance(at: now) < self.issuance(at: now) && !self.contradicts(other)
    }

    /// Its place among the documents of its app.
    func issuance(at now: Timestamp) -> Issuance { Issuance(version: self.version, issuedAt: self.issuedAt, at: now) }

    /// Whether the two are of one version and have different contents: then one of them is wrong.
    package func contradicts(_ other: PublishedDocument) -> Bool {
        self.version == other.version && self.contentDigest != other.contentDigest
    }

    /// What the ledger records of it, where it records documents.
    package var publication: Publication { Publication(version: self.version, contentDigest: self.contentDigest) }

    /// What a node remembers of having served it.
    var remembered: NodeMemory.Document {
        NodeMemory.Document(version: self.version, contentDigest: self.contentDigest)
    }
}

/// A document as it was issued: with the fields that say how fresh it is.
public struct IssuedDocument: Hashable, Sendable {
    public var document: Document
    /// `iat`: when it was signed, in whole seconds.
    public var issuedAt: Timestamp
    /// `exp`: from then on a client fetches anew, and goes by this one where it cannot.
    public var expiresAt: Timestamp
    /// `content_sha256`, 32 bytes: computed anew when it was read.
    public var contentDigest: [UInt8]

    public init(_ document: Document, issuedAt: Timestamp, expiresAt: Timestamp) {
        self.document = document
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.contentDigest = document.contentDigest
    }

    /// The most bytes a payload may have: twice what a server lets a document grow to.
    public static let payloadLimit = 2 << 20

    /// Why bytes are not the payload of a document.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads back what ``Document/payload(issuedAt:expiresAt:)`` writes, and nothing else: not a byte may be another,
    /// and `content_sha256` is computed anew. Who signed it is for the caller to have checked.
    public init(payload: [UInt8]) throws(Malformed) {
        guard payload.count <= Self.payloadLimit else {
            throw Malformed(description: "the payload has more than \(Self.payloadLimit) bytes")
        }
        let value: JSON
        do { value = try JSON(parsing: payload, limits: JSONLimits(depth: 8, nodes: 1 << 19)) } catch {
            throw Malformed(description: error.description)
        }
        do { self = try Self.read(JSONField(value)) } catch { throw Malformed(description: error.description) }
        // This also refuses what is spelled in another way, in another order, or given more than once.
        guard self.document.payload(issuedAt: self.issuedAt, expiresAt: self.expiresAt) == payload else {
            throw Malformed(description: "the payload is not in canonical form, or `content_sha256` is not its digest")
        }
    }

    private static func read(_ field: JSONField) throws(JSONDefect) -> IssuedDocument {
        try field.object { (members) throws(JSONDefect) in
            // Compared through the payload's bytes.
            _ = try members.required("content_sha256").string()
            let issued = try members.required("iat").instant()
            let expires = try members.required("exp").instant()
            return IssuedDocument(try Document(&members), issuedAt: issued, expiresAt: expires)
        }
    }
}

extension Document {
    /// Reads back what ``payload(issuedAt:expiresAt:)`` writes; see ``IssuedDocument/init(payload:)``.
    public init(payload: [UInt8]) throws(IssuedDocument.Malformed) {
        self = try IssuedDocument(payload: payload).document
    }
}

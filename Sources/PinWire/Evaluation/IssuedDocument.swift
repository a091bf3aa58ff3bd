/// An issued document: with its freshness fields.
public struct IssuedDocument: Hashable, Sendable {
    public var document: Document
    /// `iat`: when it was signed, in whole seconds.
    public var issuedAt: Timestamp
    /// `exp`: from then on a client fetches the document again, and uses this one where it cannot.
    public var expiresAt: Timestamp
    /// `content_sha256`, 32 bytes: computed again when it was read.
    public var contentDigest: [UInt8]

    public init(_ document: Document, issuedAt: Timestamp, expiresAt: Timestamp) {
        self.document = document
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.contentDigest = document.contentDigest
    }

    /// The most bytes of a payload: twice the server's limit on a document.
    public static let payloadLimit = 2 << 20

    /// Why bytes are not the payload of a document.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads back what ``Document/payload(issuedAt:expiresAt:)`` writes, and nothing else: every byte must be the same,
    /// and `content_sha256` is computed again. The caller has to verify the signature.
    package init(payload: [UInt8]) throws(Malformed) {
        guard payload.count <= Self.payloadLimit else {
            throw Malformed(description: "the payload has more than \(Self.payloadLimit) bytes")
        }
        if let scanned = Self(scanning: payload) { self = scanned } else { self = try Self(parsing: payload) }
    }

    /// Reads hosts, which are nearly all of a payload, in place, and the rest as JSON values. Nil where ``init(parsing:)`` has to judge.
    private init?(scanning payload: [UInt8]) {
        guard let scanned = payload.withUnsafeBufferPointer({ ScannedHosts(of: $0) }) else { return nil }
        let frame = payload[..<scanned.range.lowerBound] + Array("[]".utf8) + payload[scanned.range.upperBound...]
        guard let value = try? JSON(parsing: frame, limits: Self.limits),
            let (document, issuedAt, expiresAt) = try? Self.read(JSONField(value))
        else { return nil }
        let encoded = Document.Encoded(document.content, hosts: payload[scanned.range])
        guard encoded.payload(issuedAt: issuedAt, expiresAt: expiresAt) == payload else { return nil }
        self.document = document
        self.document.hosts = scanned.hosts
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.contentDigest = encoded.digest
    }

    private static let limits = JSONLimits(depth: 8, nodes: 1 << 19)

    /// Reads the whole payload as JSON values: what ``init(payload:)`` comes to, whatever it does.
    package init(parsing payload: [UInt8]) throws(Malformed) {
        let value: JSON
        do { value = try JSON(parsing: payload, limits: Self.limits) } catch {
            throw Malformed(description: error.description)
        }
        do {
            (self.document, self.issuedAt, self.expiresAt) = try Self.read(JSONField(value))
        } catch { throw Malformed(description: error.description) }
        let encoded = self.document.encoded
        self.contentDigest = encoded.digest
        // This also refuses another spelling, another order, and repeated members.
        guard encoded.payload(issuedAt: self.issuedAt, expiresAt: self.expiresAt) == payload else {
            throw Malformed(description: "the payload is not in canonical form, or `content_sha256` is not its digest")
        }
    }

    private static func read(_ field: JSONField) throws(JSONDefect) -> (Document, Timestamp, Timestamp) {
        try field.object { (members) throws(JSONDefect) in
            // Compared through the payload's bytes.
            _ = try members.required("content_sha256").string()
            let issued = try members.required("iat").instant()
            let expires = try members.required("exp").instant()
            return (try Document(&members), issued, expires)
        }
    }
}

extension Document {
    /// Reads back what ``payload(issuedAt:expiresAt:)`` writes; see ``IssuedDocument/init(payload:)``.
    package init(payload: [UInt8]) throws(IssuedDocument.Malformed) {
        self = try IssuedDocument(payload: payload).document
    }
}

/// What a document of any form says of itself: of the form that this program makes, or one with members of a later program.
///
/// The members stand at the top of every payload (see ``Document/payload(issuedAt:expiresAt:)``); what the others mean is not
/// read. The digest is computed again, over all members but those of freshness.
package struct DocumentEnvelope: Hashable, Sendable {
    package let app: AppID
    package let version: Int64
    package let issuedAt: Timestamp
    package let expiresAt: Timestamp
    /// `content_sha256`, 32 bytes.
    package let contentDigest: [UInt8]
    /// Whether it was decided for single devices.
    package let isEvaluated: Bool

    package init(_ issued: IssuedDocument) {
        self.app = issued.document.app
        self.version = issued.document.version
        self.issuedAt = issued.issuedAt
        self.expiresAt = issued.expiresAt
        self.contentDigest = issued.contentDigest
        self.isEvaluated = issued.document.evaluatedFrom != nil
    }

    /// Reads a payload of any form, whose signature the caller has verified.
    package init(anyForm payload: [UInt8]) throws(IssuedDocument.Malformed) {
        guard payload.count <= IssuedDocument.payloadLimit else {
            throw IssuedDocument.Malformed(
                description: "the payload has more than \(IssuedDocument.payloadLimit) bytes")
        }
        let value: JSON
        do { value = try JSON(parsing: payload, limits: JSONLimits(depth: 8, nodes: 1 << 19)) } catch {
            throw IssuedDocument.Malformed(description: error.description)
        }
        do { self = try Self(value) } catch { throw IssuedDocument.Malformed(description: error.description) }
        guard case .object(var members) = value, value.canonicalBytes == payload else {
            throw IssuedDocument.Malformed(description: "the payload is not in canonical form")
        }
        for freshness in ["content_sha256", "iat", "exp"] { members[freshness] = nil }
        guard sha256(JSON.object(members).canonicalBytes) == self.contentDigest else {
            throw IssuedDocument.Malformed(description: "`content_sha256` is not its digest")
        }
    }

    private init(_ payload: JSON) throws(JSONDefect) {
        var members = try JSONField(payload).members()
        self.app = try members.required("aud").parse(AppID.init)
        self.version = try members.required("version").integer(0...JSON.largestInteger)
        self.issuedAt = try members.required("iat").instant()
        self.expiresAt = try members.required("exp").instant()
        self.contentDigest = try members.required("content_sha256").digest()
        self.isEvaluated = members.optional("evaluated_from") != nil
    }
}

public import PinWire

/// Decides whether bytes are a document that this app may use: rules 1 to 9 of the handbook page `client-integration`.
///
/// Pure: the caller gives the time and what is held. The cost grows linearly with the bytes, and at most 2 MiB are looked at.
public struct DocumentVerifier: Sendable {
    /// The most bytes of a document: 2 MiB.
    public static let byteLimit = 2 << 20
    /// `typ` of a document for all devices.
    private static let type = "pinset+jws"

    public let app: AppID
    /// The issuer that documents have to name (`iss`).
    public let issuer: String
    public let anchors: TrustAnchors

    public init(app: AppID, issuer: String, anchors: TrustAnchors) {
        self.app = app
        self.issuer = issuer
        self.anchors = anchors
    }

    /// Verifies a document that may replace the held one.
    ///
    /// - Parameters:
    ///   - held: What the app holds; nil where it holds nothing. One whose key is no trust anchor any more counts as nothing: a thief
    ///     of that key may have signed a high version.
    ///   - now: The time by this device's clock. Nil leaves out rule 9, for a document that was accepted before: what it proves then
    ///     is that the clock is behind.
    public func verify(
        _ document: UnverifiedDocument, replacing held: VerifiedDocument?, at now: Timestamp?
    ) throws(VerificationFailure) -> VerifiedDocument {
        let verified = try self.verify(document)
        if let held, self.anchors.contains(held.keyID) {
            guard verified.version >= held.version else { throw .olderVersion }
            guard
                verified.version > held.version || verified.issued.contentDigest == held.issued.contentDigest
            else { throw .contradiction }
            guard verified.issued.issuedAt >= held.issued.issuedAt else { throw .issuedEarlier }
        }
        if let now, now.adding(seconds: IssuedDocument.clockSkew) < verified.issued.issuedAt { throw .issuedAhead }
        return verified
    }

    /// The rules that need neither a clock nor what is held: 1 to 6.
    private func verify(_ document: UnverifiedDocument) throws(VerificationFailure) -> VerifiedDocument {
        let bytes = document.bytes
        guard bytes.count <= Self.byteLimit else { throw .tooLarge }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decode(parts[0]), let payload = Self.decode(parts[1]),
            let signature = Self.decode(parts[2]), signature.count == 64
        else { throw .malformedToken }
        let keyID = try Self.keyID(in: header)
        guard self.anchors.contains(keyID) else { throw .unknownKey }
        guard self.anchors.isSignature(signature, of: bytes[..<parts[1].endIndex], by: keyID) else {
            throw .wrongSignature
        }
        guard let issued = try? IssuedDocument(payload: payload), issued.document.evaluatedFrom == nil else {
            throw .malformedPayload
        }
        guard issued.document.app == self.app else { throw .otherApp }
        guard issued.document.issuer == self.issuer else { throw .otherIssuer }
        return VerifiedDocument(issued, keyID: keyID, bytes: bytes)
    }

    private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        String(ascii: part).flatMap { Base64URL.decode($0) }
    }

    /// The `kid` of a header with exactly the members `alg`, `kid` and `typ`.
    private static func keyID(in header: [UInt8]) throws(VerificationFailure) -> String {
        guard header.count <= 1024, let members = (try? JSON(parsing: header))?.objectValue, members.count == 3,
            members["alg"] == "EdDSA", members["typ"] == .string(Self.type), let keyID = members["kid"]?.stringValue
        else { throw .unsupportedHeader }
        return keyID
    }
}

public import PinWire

/// Decides whether bytes are a document that this app may use: rules 1 to 10 of the handbook page `client-integration`.
///
/// Pure: the caller gives the time and what is held. The cost grows linearly with the bytes, and at most 2 MiB are looked at.
public struct DocumentVerifier: Sendable {
    /// The most bytes of a document: 2 MiB.
    public static let byteLimit = 2 << 20
    /// What stands before and after the `kid` in a header: canonical JSON (RFC 8785) of exactly `alg`, `kid` and `typ`.
    private static let header = (
        beginning: Array(#"{"alg":"EdDSA","kid":""#.utf8), end: Array(#"","typ":"pinset+jws"}"#.utf8)
    )

    public let app: AppID
    /// The issuer that documents have to name (`iss`).
    public let issuer: String
    public internal(set) var anchors: TrustAnchors

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
    ///   - now: The time by this device's clock. Nil leaves out rules 9 and 10, for a document that was accepted before: what it proves
    ///     then is that the clock is behind.
    public func verify(
        _ document: UnverifiedDocument, replacing held: VerifiedDocument?, at now: Timestamp?
    ) throws(VerificationFailure) -> VerifiedDocument {
        let verified = try self.verify(document)
        if let held, self.anchors.contains(held.keyID) {
            guard verified.version >= held.version else { throw .olderVersion }
            // A higher version is newer, whenever it was signed: nodes sign by clocks of their own.
            if verified.version == held.version {
                guard verified.issued.contentDigest == held.issued.contentDigest else { throw .contradiction }
                guard verified.issued.issuedAt >= held.issued.issuedAt else { throw .issuedEarlier }
            }
        }
        if let now, now.adding(seconds: IssuedDocument.clockSkew) < verified.issued.issuedAt { throw .issuedAhead }
        if let now, let root = self.anchors.root, root.expiresAt <= now { throw .rootExpired }
        return verified
    }

    /// The rules that need neither a clock nor what is held: 1 to 6.
    private func verify(_ document: UnverifiedDocument) throws(VerificationFailure) -> VerifiedDocument {
        let bytes = document.bytes
        guard bytes.count <= Self.byteLimit else { throw .tooLarge }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(bytes: parts[0]),
            let payload = Base64URL.decode(bytes: parts[1]),
            !parts[0].isEmpty, !parts[1].isEmpty, let signature = Base64URL.decode(bytes: parts[2]),
            signature.count == 64
        else { throw .malformedToken }
        guard let keyID = Self.keyID(in: header) else { throw .unsupportedHeader }
        guard self.anchors.contains(keyID) else { throw .unknownKey }
        guard self.anchors.isSignature(signature, of: bytes[..<parts[1].endIndex], by: keyID) else {
            throw .wrongSignature
        }
        guard let issued = try? IssuedDocument(payload: payload), issued.document.isForAllDevices else {
            throw .malformedPayload
        }
        guard issued.document.app == self.app else { throw .otherApp }
        guard issued.document.issuer == self.issuer else { throw .otherIssuer }
        return VerifiedDocument(issued, keyID: keyID, bytes: bytes)
    }

    /// The `kid` of a header that is the one of a signed pin set, byte for byte: nothing that is not signed yet is parsed.
    private static func keyID(in header: [UInt8]) -> String? {
        let (beginning, end) = Self.header
        guard header.count > beginning.count + end.count, header.starts(with: beginning),
            header.suffix(end.count) == end[...],
            let keyID = String(ascii: header[beginning.count..<header.count - end.count]), keyID.isBase64URL
        else { return nil }
        return keyID
    }
}

extension String {
    fileprivate var isBase64URL: Bool {
        self.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

extension Document {
    /// Whether it is the document for all devices, and no part of it was decided for one.
    fileprivate var isForAllDevices: Bool {
        self.evaluatedFrom == nil && self.hosts.allSatisfy { $0.arm == nil }
    }
}

/// Why a document is refused. The raw values are stable: conformance vectors carry them.
///
/// Which one it is follows from the first rule of verification that fails (handbook page `client-integration`, "Verify").
@nonexhaustive
public enum VerificationFailure: String, Error, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// Rule 1: more than 2 MiB; nothing was parsed.
    case tooLarge = "too_large"
    /// Rule 2: not three parts of base64url with dots between them, or a signature of another length than 64 bytes.
    case malformedToken = "malformed_token"
    /// Rule 3: the header is not the one of a signed pin set, byte for byte.
    case unsupportedHeader = "unsupported_header"
    /// Rule 4: no trust anchor has this `kid`.
    case unknownKey = "unknown_key"
    /// Rule 4: the signature is not the key's.
    case wrongSignature = "wrong_signature"
    /// Rule 5: not a document in canonical form, unknown members, an unknown bucketing, or another digest than the content's.
    case malformedPayload = "malformed_payload"
    /// Rule 6: for another app.
    case otherApp = "other_app"
    /// Rule 6: from another issuer.
    case otherIssuer = "other_issuer"
    /// Rule 7: a lower version than the held document's.
    case olderVersion = "older_version"
    /// Rule 8: another content under the held document's version.
    case contradiction
    /// Rule 8: signed before the held document of the same version.
    case issuedEarlier = "issued_earlier"
    /// Rule 9: signed more than 300 seconds ahead of this clock.
    case issuedAhead = "issued_ahead"
    /// Rule 10: the root of trust has ended, and the next one is not there.
    case rootExpired = "root_expired"

    public var description: String {
        switch self {
        case .tooLarge: "the document has more than \(DocumentVerifier.byteLimit) bytes"
        case .malformedToken: "the document is no compact JWS"
        case .unsupportedHeader: "the document's header is not that of a signed pin set"
        case .unknownKey: "the document is signed by a key that is no trust anchor of this app"
        case .wrongSignature: "the document's signature is wrong"
        case .malformedPayload: "the document's content is malformed, or of a kind that this version does not know"
        case .otherApp: "the document is for another app"
        case .otherIssuer: "the document is from another issuer"
        case .olderVersion: "the document is older than the one that is held"
        case .contradiction: "the document has another content under the same version"
        case .issuedEarlier: "the document was signed before the one that is held"
        case .issuedAhead: "the document was signed in the future, or this device's clock is behind"
        case .rootExpired: "the root of trust has ended, and the service has no next one"
        }
    }
}

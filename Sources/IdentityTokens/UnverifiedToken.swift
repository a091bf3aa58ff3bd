import PinWire
import Pinning

/// The parts of a signed token (RFC 7515 section 3.1), of which nothing is true yet.
///
/// Strict where readers of tokens have been fooled: three parts in base64url without padding, JSON in which no member is there twice, and a
/// header that names its key. What a header says of where keys are (`jku`, `jwk`, `x5u`, `x5c`) is not looked at.
struct UnverifiedToken {
    /// The text of the first two parts with the dot between them: what is signed.
    let signed: [UInt8]
    let signature: [UInt8]
    let keyID: String
    let algorithm: String
    let issuer: String
    let claims: [String: JSON]

    /// Bytes of a token: more than any provider issues, and than HTTP fields hold.
    static let lengthLimit = 16_384
    private static let keyIDLimit = 255

    init(_ text: String) throws(IdentityTokenFailure) {
        guard text.utf8.count <= Self.lengthLimit else { throw .malformed("has more than \(Self.lengthLimit) bytes") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(String(parts[2])), !signature.isEmpty else {
            throw .malformed("is not three parts in base64url with dots between them")
        }
        let header = try Self.members(of: parts[0], "header")
        let claims = try Self.members(of: parts[1], "payload")
        // Extensions that must be understood: there are none here (RFC 7515 section 4.1.11).
        guard header["crit"] == nil else { throw .malformed("has a header with crit") }
        // An access token has another type (RFC 9068): it says what may be done elsewhere, not who someone is.
        if let type = header["typ"], type.stringValue?.lowercased() != "jwt" {
            throw .malformed("has a header with a typ that is not JWT")
        }
        guard let algorithm = header["alg"]?.stringValue else { throw .malformed("has a header without alg") }
        guard let keyID = header["kid"]?.stringValue, (1...Self.keyIDLimit).contains(keyID.utf8.count) else {
            throw .malformed("has a header without kid")
        }
        guard let issuer = claims["iss"]?.stringValue else { throw .claim("iss", "is missing") }
        self.signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
        self.keyID = keyID
        self.algorithm = algorithm
        self.issuer = issuer
        self.claims = claims
    }

    private static func members(of part: Substring, _ name: String) throws(IdentityTokenFailure) -> [String: JSON] {
        guard let bytes = Base64URL.decode(String(part)), let json = try? JSON(parsing: bytes),
            case .object(let members) = json
        else { throw .malformed("has a \(name) that is no JSON object in base64url") }
        return members
    }
}

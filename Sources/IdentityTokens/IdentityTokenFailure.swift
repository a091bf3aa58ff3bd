package import Pinning

/// Why an identity token is not accepted. The texts have nothing of the token but what a verified one says of itself.
package enum IdentityTokenFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not of the form of a signed JSON Web Token, or longer than one may be.
    case malformed(String)
    /// No provider of the ledger has the issuer that it names.
    case issuerUnknown
    /// Signed by an algorithm that its provider's tokens may not have.
    case algorithmNotAllowed
    /// The provider publishes no such key.
    case keyUnknown
    case signatureInvalid
    /// A claim is missing, or is not as it has to be.
    case claim(String, String)
    /// The provider's keys cannot be had, and none are known that are recent enough.
    case providerUnavailable(RoleName, String)

    package var description: String {
        switch self {
        case .malformed(let why): "it \(why)"
        case .issuerUnknown: "no identity provider with its issuer is known here"
        case .algorithmNotAllowed: "it is signed by an algorithm that is not allowed for its provider"
        case .keyUnknown: "its provider publishes no key of its kid that can be used"
        case .signatureInvalid: "its signature is wrong"
        case .claim(let name, let why): "its \(name) \(why)"
        case .providerUnavailable(let name, let why): "the keys of \(name) cannot be had: \(why)"
        }
    }
}

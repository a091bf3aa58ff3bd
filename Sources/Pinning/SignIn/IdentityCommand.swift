package import PinWire

/// A command about identity providers, the identities that they vouch for, and sign-ins.
package enum IdentityCommand: Hashable, Sendable {
    /// Adds a provider, or changes one; its issuer stays.
    case setProvider(IdentityProvider)
    case removeProvider(RoleName)
    /// Adds a rule, or gives the one of its name other terms. What sessions hold by the earlier terms ends.
    case setRule(SignInRule)
    case removeRule(RoleName)
    /// Sign-ins with the identity are the principal's.
    case link(Identity, principal: String)
    case unlink(id: String)
    /// Only the server gives it, after it has verified an identity token.
    case signIn(SignIn)
    /// Exchanges the code of a digest for a token of its principal, which has these id, digest and end. Only the server gives it.
    case redeem(codeDigest: [UInt8], tokenID: String, digest: [UInt8], expiresAt: Timestamp)
}

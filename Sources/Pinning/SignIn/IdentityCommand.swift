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
}

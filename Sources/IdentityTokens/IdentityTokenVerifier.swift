package import PinWire
package import Pinning

/// A subject that an identity provider vouches for, and what it says of it.
package struct VerifiedIdentity: Sendable {
    package let provider: IdentityProvider
    package let identity: Identity
    package let claims: IdentityClaims
    /// A name for people, without control characters.
    package let displayName: String
    /// When the provider last had the person prove who they are (`auth_time`); nil where it does not say.
    package let authenticatedAt: Timestamp?
    /// SHA-256 of what was signed: of all spellings of one token the same, also where a signature has several.
    package let digest: [UInt8]
}

/// Verifies identity tokens (OpenID Connect Core 1.0, section 3.1.3.7, within RFC 8725's rules).
package struct IdentityTokenVerifier: Sendable {
    package let keys: ProviderKeySource
    private let clock: @Sendable () -> Timestamp

    /// How far clocks may differ, and how long a token may be valid, in seconds.
    static let (leeway, longestLife): (Int64, Int64) = (60, 86_400)

    package init(keys: ProviderKeySource, clock: @escaping @Sendable () -> Timestamp) {
        self.keys = keys
        self.clock = clock
    }

    /// What a token says, after its provider, algorithm, key, signature, audience and times are found right, in this order.
    ///
    /// - Parameter nonce: What the token's `nonce` must be; nil for a token without one.
    package func verify(
        _ text: String, of providers: some Collection<IdentityProvider>, nonce: String?
    ) async throws(IdentityTokenFailure) -> VerifiedIdentity {
        let token = try UnverifiedToken(text)
        // To the character: an issuer with a slash more is another.
        guard let provider = providers.first(where: { $0.issuer.text == token.issuer }) else { throw .issuerUnknown }
        guard let algorithm = IdentityProvider.Algorithm(rawValue: token.algorithm),
            provider.algorithms.contains(algorithm)
        else { throw .algorithmNotAllowed }
        let keys = try await self.keys.keys(of: provider, with: token.keyID)
        guard keys.has(token.keyID) else { throw .keyUnknown }
        guard await keys.verify(token.signature, of: token.signed, by: algorithm, key: token.keyID) else {
            throw .signatureInvalid
        }
        try Self.checkAudience(token.claims, of: provider)
        try Self.checkTimes(token.claims, at: self.clock())
        if token.claims["nonce"] != nil || nonce != nil {
            guard let nonce, token.claims["nonce"]?.stringValue == nonce else {
                throw .claim("nonce", "is not the one of this sign-in")
            }
        }
        // Keycloak's access tokens say here what they are, and not in the header.
        if let type = token.claims["typ"]?.stringValue, type != "ID" { throw .claim("typ", "is not ID") }
        guard let subject = token.claims["sub"]?.stringValue,
            Identity.isPrintable(subject, atMost: Identity.subjectLimit)
        else { throw .claim("sub", "is not 1 to \(Identity.subjectLimit) printable ASCII characters") }
        return VerifiedIdentity(
            provider: provider, identity: Identity(issuer: provider.issuer, subject: subject),
            claims: IdentityClaims(token.claims), displayName: Self.name(token.claims, or: subject),
            authenticatedAt: Self.proofTime(token.claims, at: self.clock()), digest: sha256(token.signed))
    }

    private static func checkAudience(
        _ claims: [String: JSON], of provider: IdentityProvider
    ) throws(IdentityTokenFailure) {
        let audiences: [String]
        switch claims["aud"] {
        case .string(let one): audiences = [one]
        case .array(let several): audiences = several.compactMap(\.stringValue)
        default: throw .claim("aud", "is missing")
        }
        guard audiences.contains(where: provider.audiences.contains) else {
            throw .claim("aud", "is none of the audiences that are accepted from \(provider.name)")
        }
        // Issued to another client, which may hand it on.
        if audiences.count > 1, let party = claims["azp"] {
            guard let party = party.stringValue, provider.audiences.contains(party) || party == provider.clientID else {
                throw .claim("azp", "is another client")
            }
        }
    }

    private static func checkTimes(_ claims: [String: JSON], at now: Timestamp) throws(IdentityTokenFailure) {
        guard let end = self.time(claims["exp"]) else { throw .claim("exp", "is missing, or no time") }
        guard now < end.adding(seconds: self.leeway) else { throw .claim("exp", "is over: get a new token") }
        guard end <= now.adding(seconds: self.longestLife + self.leeway) else {
            throw .claim("exp", "is more than a day ahead")
        }
        guard let begin = self.time(claims["iat"]) else { throw .claim("iat", "is missing, or no time") }
        guard begin <= now.adding(seconds: self.leeway) else { throw .claim("iat", "is ahead of this server's clock") }
        guard now <= begin.adding(seconds: self.longestLife + self.leeway) else {
            throw .claim("iat", "is more than a day ago")
        }
        guard claims["nbf"] != nil else { return }
        guard let start = self.time(claims["nbf"]), start <= now.adding(seconds: self.leeway) else {
            throw .claim("nbf", "is ahead of this server's clock, or no time")
        }
    }

    /// What says nothing that can be right is no proof, and keeps nobody out.
    private static func proofTime(_ claims: [String: JSON], at now: Timestamp) -> Timestamp? {
        self.time(claims["auth_time"]).flatMap { $0 <= now.adding(seconds: self.leeway) ? min($0, now) : nil }
    }

    /// A NumericDate (RFC 7519 section 2) in the years up to 9999.
    private static func time(_ value: JSON?) -> Timestamp? {
        let seconds: Int64? =
            switch value {
            case .integer(let seconds): seconds
            case .number(let seconds) where seconds >= 0 && seconds < 253_402_300_800: Int64(seconds)
            default: nil
            }
        guard let seconds, (0..<253_402_300_800).contains(seconds) else { return nil }
        return Timestamp(seconds: seconds)
    }

    /// The first claim that can be shown: nothing is decided by it.
    private static func name(_ claims: [String: JSON], or subject: String) -> String {
        for claim in ["name", "preferred_username", "email"] {
            if let text = claims[claim]?.stringValue, PlainText.isAcceptable(text, atMost: 200) { return text }
        }
        return String(subject.prefix(200))
    }
}

import COpenSSL

/// The settings that all handshakes share: versions, ciphers, limits and the trust store.
///
/// It guards no secret and trusts nothing: its purpose is to see what a host serves to today's clients. So it accepts
/// whatever proves possession of a certificate's key in TLS 1.2 or 1.3, weak keys included. It leaves out only DHE,
/// which no mobile client speaks any more, and whose groups a hostile host may choose so large that they cost seconds.
package final class TLSContext: Sendable {
    /// The most certificates in a chain.
    package static let maximumCertificates = 10
    /// The most bytes in a chain.
    package static let maximumChainBytes = 100_000

    private let any: Made
    private let rsa: Made
    private let ellipticCurve: Made
    let hasTrustStore: Bool

    package init(trust: TrustStore) throws(TLSUnavailable) {
        self.any = try Made(.any, trust)
        self.rsa = try Made(.rsa, trust)
        self.ellipticCurve = try Made(.ellipticCurve, trust)
        self.hasTrustStore = !trust.isEmpty
    }

    /// A connection that accepts leaf keys of that choice; the caller frees it. Nil if memory is short.
    func makeConnection(_ choice: KeyChoice) -> OpaquePointer? {
        let made =
            switch choice {
            case .any: self.any
            case .rsa: self.rsa
            case .ellipticCurve: self.ellipticCurve
            }
        return unsafe SSL_new(made.context)
    }
}

/// OpenSSL's context for one choice of leaf keys.
@safe private final class Made: Sendable {
    // @safe class and nonisolated(unsafe), invariant: written to in `init` alone; SSL_new, the only function called
    // with it afterwards, reads it and counts references atomically.
    nonisolated(unsafe) let context: OpaquePointer

    init(_ choice: KeyChoice, _ trust: TrustStore) throws(TLSUnavailable) {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw TLSUnavailable.takingErrors() }
        unsafe self.context = context
        // From here on `deinit` frees it.
        // @SECLEVEL=0 lets weak keys and signatures through to be reported; the verification has a level of its own.
        let ciphers: String
        let signatures: String?
        switch choice {
        case .any:
            (ciphers, signatures) = ("DEFAULT:!kDHE:!PSK:!SRP:!aDSS:@SECLEVEL=0", nil)
        case .rsa:
            ciphers = "aRSA:!kDHE:!eNULL:!PSK:!SRP:@SECLEVEL=0"
            signatures =
                "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:rsa_pss_pss_sha256:rsa_pss_pss_sha384:"
                + "rsa_pss_pss_sha512:RSA+SHA256:RSA+SHA384:RSA+SHA512:RSA+SHA1"
        case .ellipticCurve:
            ciphers = "aECDSA:!eNULL:!PSK:!SRP:@SECLEVEL=0"
            signatures = "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:ed448:ECDSA+SHA1"
        }
        var isReady = unsafe SSL_CTX_set_cipher_list(context, ciphers) == 1
        if let signatures {
            isReady = unsafe isReady && tls_set_signature_algorithms(context, signatures) == 1
            isReady = unsafe isReady && tls_accept_every_chain_signature(context) == 1
        }
        isReady = unsafe isReady && tls_set_minimum_version(context, TLS1_2_VERSION) == 1
        guard isReady else { throw TLSUnavailable.takingErrors() }
        unsafe SSL_CTX_set1_cert_store(context, trust.store)
        // Enforces nothing; OpenSSL verifies all the same and notes the result.
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        unsafe tls_make_single_use(context)
        unsafe tls_set_largest_certificate_list(context, TLSContext.maximumChainBytes)
    }

    deinit {
        unsafe SSL_CTX_free(self.context)
    }
}

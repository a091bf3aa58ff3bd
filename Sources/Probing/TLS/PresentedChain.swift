/// A chain as a host presented it in a handshake in which it proved that it has the leaf's key.
package struct PresentedChain: Hashable, Sendable {
    /// Each certificate in DER, in the order sent: the leaf first, 1 to 10 of them.
    package var certificates: [[UInt8]]
    /// The certificates of the path that clients build, in DER, the leaf first. Where ``verification`` is valid these
    /// are those of the verified path, up to the root, whether sent or not. Otherwise they are the first ones sent, as
    /// far as each has issued the one before it.
    package var path: [[UInt8]]
    /// The kind of the leaf's key.
    package var keyKind: KeyKind
    /// `TLSv1.2` or `TLSv1.3`.
    package var version: String
    /// As IANA's registry writes it: `TLS_AES_128_GCM_SHA256`. Nil if the handshake ended before it was agreed.
    package var cipher: String?
    /// How the host proved possession of its key; nil where TLS 1.2 proved it by decryption.
    package var signature: SignatureKind?
    /// The application protocol the host chose.
    package var applicationProtocol: String?
    /// The verdict of this machine's own trust store on the chain: information, never a condition.
    package var verification: Verification
    /// Why the handshake was not completed after the proof, such as because the host demands a client's certificate.
    package var incompletion: String?

    /// - Parameter path: The certificates sent, if it is not given.
    package init(
        certificates: [[UInt8]], path: [[UInt8]]? = nil, keyKind: KeyKind, version: String, cipher: String? = nil,
        signature: SignatureKind? = nil, applicationProtocol: String? = nil, verification: Verification = .unknown,
        incompletion: String? = nil
    ) {
        self.certificates = certificates
        self.path = path ?? certificates
        self.keyKind = keyKind
        self.version = version
        self.cipher = cipher
        self.signature = signature
        self.applicationProtocol = applicationProtocol
        self.verification = verification
        self.incompletion = incompletion
    }
}

/// The kind of a leaf's key.
package enum KeyKind: String, Hashable, Sendable, CaseIterable {
    case rsa, ecdsa, eddsa, other
}

/// The kind of signature in a handshake.
package enum SignatureKind: String, Hashable, Sendable, CaseIterable {
    case rsaPKCS1 = "rsa_pkcs1"
    case rsaPSS = "rsa_pss"
    case ecdsa, ed25519, ed448
}

/// Whether a chain leads to a root of the trust store, is valid for servers at that time, and covers the name.
package enum Verification: Hashable, Sendable {
    case valid
    /// With OpenSSL's code (`X509_V_ERR_*`) and its words: `certificate has expired`.
    case invalid(code: Int, reason: String)
    /// This machine has no trust store.
    case unknown
}

/// Which leaf keys a handshake accepts.
package enum KeyChoice: Hashable, Sendable, CaseIterable {
    case any
    case rsa
    /// ECDSA and EdDSA.
    case ellipticCurve

    /// The choice that reveals a host's other certificate.
    package static func other(than kind: KeyKind) -> KeyChoice? {
        switch kind {
        case .rsa: .ellipticCurve
        case .ecdsa, .eddsa: .rsa
        case .other: nil
        }
    }

    func covers(_ kind: KeyKind) -> Bool {
        switch self {
        case .any: true
        case .rsa: kind == .rsa
        case .ellipticCurve: kind == .ecdsa || kind == .eddsa
        }
    }
}

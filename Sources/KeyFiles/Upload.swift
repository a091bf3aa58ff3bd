package import PinWire

/// What an operator sent to have pins made of it: certificates, public keys, certificate requests or pins, in whatever
/// form these are handed around.
///
/// Reading may take a second for PKCS#12, whose passphrase is meant to be slow to try, and milliseconds otherwise: it
/// does not belong on Swift's cooperative threads.
package struct Upload: Hashable, Sendable {
    /// One thing that was sent.
    package enum Item: Hashable, Sendable {
        case certificate(CertificateFacts)
        case publicKey(KeyFacts)
        case request(RequestFacts)
        /// A pin as text. Of 64 hexadecimal digits nobody can tell whether they are meant as a pin or are the
        /// certificate's fingerprint: compare with ``CertificateFacts/mistaken(_:)``.
        case pin(Pin, spelling: PinSpelling)
        /// What is a certificate's fingerprint and no pin: 20 bytes (SHA-1) or, where the text says so, 32 (SHA-256).
        case fingerprint([UInt8])
    }

    /// The most bytes that are read: 1 MiB.
    package static let maximumSize = 1 << 20

    /// The most things that one upload may hold.
    package static let maximumCount = 200

    /// In the order in which they stood; at least one.
    package let items: [Item]

    /// The public keys and the certificates of ``items``, by whose digests these name them.
    package let material: Set<Material>

    /// Reads bytes of unknown form.
    ///
    /// What is refused is overwritten with zeros, `bytes` and every copy that was made here, because what cannot be read
    /// may be or hold a private key. `bytes` MUST be the caller's only copy for that to help.
    ///
    /// - Parameter password: of a PKCS#12 file. Without one, the empty one and none at all are tried.
    /// - Throws: ``UploadError``, for everything if one thing in it is wrong.
    package static func read(_ bytes: inout [UInt8], password: String? = nil) throws(UploadError) -> Upload {
        var allowance = KeyStoreAllowance()
        return try self.read(&bytes, password: password, allowance: &allowance)
    }

    /// Reads one of several uploads that came together.
    ///
    /// - Parameter allowance: What may be spent on the PKCS#12 files of all of them.
    package static func read(
        _ bytes: inout [UInt8], password: String? = nil, allowance: inout KeyStoreAllowance
    ) throws(UploadError) -> Upload {
        OpenSSL.forgetErrors()
        defer { OpenSSL.forgetErrors() }
        var reader = UploadReader(password: password, allowance: allowance)
        defer { allowance = reader.allowance }
        do {
            try reader.read(bytes[...])
            return Upload(items: reader.items, material: reader.material)
        } catch {
            OpenSSL.wipe(&bytes)
            throw error
        }
    }

    private init(items: [Item], material: Set<Material>) {
        self.items = items
        self.material = material
    }
}

/// How a pin was written.
package enum PinSpelling: String, CaseIterable, Hashable, Sendable {
    /// `sha256/` and base64, as OkHttp and this project write it.
    case sha256 = "sha256/…"
    /// `sha256//` and base64, as curl and wget write it.
    case curl = "sha256//…"
    /// `pin-sha256="…"`, as RFC 7469 writes it.
    case header = "pin-sha256=\"…\""
    case base64
    /// 64 hexadecimal digits.
    case hex
    /// 32 pairs of hexadecimal digits with colons between them, as fingerprints of certificates mostly are.
    case colonHex = "colon hex"

    /// Whether fingerprints of whole certificates are written like this too.
    package var isAmbiguous: Bool { self == .hex || self == .colonHex }
}

extension CertificateFacts {
    /// The facts of one certificate in DER, with nothing after it.
    ///
    /// - Throws: ``UploadError/malformed(_:kind:detail:)``, or what of the certificate cannot be read.
    package init(der: [UInt8]) throws(UploadError) {
        OpenSSL.forgetErrors()
        defer { OpenSSL.forgetErrors() }
        let place = UploadPlace.whole
        guard let (certificate, count) = Certificate.decode(der[...]) else {
            throw .malformed(place, kind: .certificate, detail: OpenSSL.takeError())
        }
        guard count == der.count else { throw .trailingBytes(place, count: der.count - count) }
        self = try certificate.described(place).facts
    }
}

extension KeyFacts {
    /// The facts of one SubjectPublicKeyInfo in DER, with nothing after it.
    ///
    /// - Throws: ``UploadError``, as for a certificate.
    package init(publicKeyInfo der: [UInt8]) throws(UploadError) {
        OpenSSL.forgetErrors()
        defer { OpenSSL.forgetErrors() }
        self = try PublicKey.described(der[...], .whole).facts
    }
}

package import PinWire

/// An operator's upload from which pins are made: certificates, public keys, certificate requests or pins, in any of
/// their usual forms.
///
/// Reading may take a second for PKCS#12, whose passphrase is slow to try on purpose, and milliseconds otherwise: do
/// not read on Swift's cooperative threads.
package struct Upload: Hashable, Sendable {
    /// One object of an upload.
    package enum Item: Hashable, Sendable {
        case certificate(CertificateFacts)
        case publicKey(KeyFacts)
        case request(RequestFacts)
        /// A pin as text. 64 hexadecimal digits may be a pin or the certificate's fingerprint: compare with
        /// ``CertificateFacts/mistaken(_:)``.
        case pin(Pin, spelling: PinSpelling)
        /// A certificate's fingerprint, which is not a pin: 20 bytes (SHA-1) or, where the text says so, 32 (SHA-256).
        case fingerprint([UInt8])
    }

    /// The most bytes of an upload: 1 MiB.
    package static let maximumSize = 1 << 20

    /// The most objects of one upload.
    package static let maximumCount = 200

    /// The objects in the order of the upload; at least one.
    package let items: [Item]

    /// The public keys and the certificates of ``items``, which name them by digest.
    package let material: Set<Material>

    /// Reads bytes of unknown form.
    ///
    /// Refused bytes are overwritten with zeros, both `bytes` and every copy that was made here, because an unreadable
    /// upload may be or hold a private key. That only helps where `bytes` are the caller's only copy, which they MUST
    /// be.
    ///
    /// - Parameter password: The password of a PKCS#12 file. Without one, the empty one and none at all are tried.
    /// - Throws: ``UploadError``, for the whole upload if one object in it is wrong.
    package static func read(_ bytes: inout [UInt8], password: String? = nil) throws(UploadError) -> Upload {
        var allowance = KeyStoreAllowance()
        return try self.read(&bytes, password: password, allowance: &allowance)
    }

    /// Reads one of several uploads that came together.
    ///
    /// - Parameter allowance: The work that may be spent on the PKCS#12 files of all of them.
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

extension CertificateFacts {
    /// The facts of one certificate in DER, with nothing after it.
    ///
    /// - Throws: ``UploadError/malformed(_:kind:detail:)``, or the part of the certificate that cannot be read.
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

internal import COpenSSL
internal import PinWire

/// An X.509 certificate in OpenSSL's form.
struct Certificate {
    private let object: Owned

    /// The certificate at the beginning of `bytes`, and the number of its bytes; nil where there is none.
    static func decode(_ bytes: ArraySlice<UInt8>) -> (Certificate, count: Int)? {
        let decoded = unsafe OpenSSL.decode(bytes) { unsafe d2i_X509(nil, $0, $1) }
        guard let (pointer, count) = unsafe decoded, let certificate = unsafe Certificate(adopting: pointer) else {
            return nil
        }
        return (certificate, count)
    }

    /// Whether `bytes` begin with a revocation list.
    static func isRevocationList(_ bytes: ArraySlice<UInt8>) -> Bool {
        let decoded = unsafe OpenSSL.decode(bytes) { unsafe d2i_X509_CRL(nil, $0, $1) }
        guard let (list, _) = unsafe decoded else { return false }
        unsafe X509_CRL_free(list)
        return true
    }

    /// Takes over a certificate; nil for a null pointer.
    init?(adopting pointer: OpaquePointer?) {
        guard let object = unsafe Owned(pointer, free: { unsafe X509_free($0) }) else { return nil }
        self.object = object
    }

    /// Adds a reference to a certificate that another object owns.
    init?(sharing pointer: OpaquePointer) {
        guard unsafe X509_up_ref(pointer) == 1 else { return nil }
        unsafe self.init(adopting: pointer)
    }

    /// All facts that are stored of it.
    func described(_ place: UploadPlace) throws(UploadError) -> Described<CertificateFacts> {
        try unsafe self.object.with { (certificate) throws(UploadError) in
            let key = try unsafe PublicKey.described(X509_get_X509_PUBKEY(certificate), place)
            // Encoded again rather than as it was sent, as every program with OpenSSL does.
            let encoding = unsafe OpenSSL.encode { unsafe i2d_X509(certificate, $0) }
            guard let encoding, let sha256 = unsafe OpenSSL.digest(encoding, EVP_sha256()),
                let sha1 = unsafe OpenSSL.digest(encoding, EVP_sha1())
            else { throw .malformed(place, kind: .certificate, detail: OpenSSL.takeError()) }
            guard let notBefore = unsafe Self.time(X509_get0_notBefore(certificate)),
                let notAfter = unsafe Self.time(X509_get0_notAfter(certificate))
            else { throw .unreadableTime(place) }
            let subject = unsafe X509_get_subject_name(certificate)
            let issuer = unsafe X509_get_issuer_name(certificate)
            let names = unsafe AlternativeNames(
                X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil).map { OpaquePointer($0) })
            let commonName = unsafe NameText.commonName(of: subject)
            let facts = unsafe CertificateFacts(
                key: key.facts, sha256: sha256, sha1: sha1, subject: NameText.text(of: subject),
                issuer: NameText.text(of: issuer), commonName: commonName, dnsNames: names.dnsNames,
                ipAddresses: names.ipAddresses,
                emailAddress: commonName?.isEmpty == false ? nil : names.emailAddress,
                serial: Self.serial(of: certificate),
                notBefore: notBefore, notAfter: notAfter,
                isCA: X509_get_extension_flags(certificate) & UInt32(EXFLAG_CA) != 0,
                isSelfSigned: Self.isSelfSigned(certificate, subject, issuer))
            return Described(facts: facts, material: key.material + [Material(.certificate, der: encoding)])
        }
    }

    /// See ``RenewalIdentifier``.
    var renewalIdentifier: String? {
        unsafe self.object.with { certificate in
            guard let key = unsafe X509_get0_authority_key_id(certificate),
                let number = unsafe X509_get0_serialNumber(certificate),
                unsafe ASN1_STRING_type(number) & V_ASN1_NEG == 0
            else { return nil }
            let serial = unsafe OpenSSL.bytes(of: number)
            let identifier = unsafe OpenSSL.bytes(of: key)
            guard let first = serial.first, !identifier.isEmpty, identifier.count <= 64, serial.count <= 64 else {
                return nil
            }
            // As DER has it: a leading zero keeps a number positive.
            let content = first & 0x80 == 0 ? serial : [0] + serial
            return "\(Base64URL.encode(identifier)).\(Base64URL.encode(content))"
        }
    }

    private static func isSelfSigned(
        _ certificate: OpaquePointer, _ subject: OpaquePointer?, _ issuer: OpaquePointer?
    ) -> Bool {
        guard unsafe X509_NAME_cmp(subject, issuer) == 0, let key = unsafe X509_get0_pubkey(certificate) else {
            return false
        }
        return unsafe X509_verify(certificate, key) == 1
    }

    /// In lower-case hexadecimal.
    private static func serial(of certificate: OpaquePointer) -> String {
        guard let number = unsafe X509_get0_serialNumber(certificate) else { return "0" }
        // RFC 5280 allows 20 bytes; a longer serial number violates it and is cut.
        let digits = Hex.encode(unsafe OpenSSL.bytes(of: number).drop { $0 == 0 }.prefix(PrintableText.limit / 2))
        let isNegative = unsafe ASN1_STRING_type(number) & V_ASN1_NEG != 0
        let trimmed = digits.drop { $0 == "0" }
        return trimmed.isEmpty ? "0" : (isNegative ? "-" : "") + trimmed
    }

    /// A time of a certificate, within the years that ``Timestamp`` reads and writes: one before 1970 becomes its
    /// beginning, which is as long past. Nil for a malformed time.
    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
        guard let time = unsafe time, let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: CInt = 0
        var seconds: CInt = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        let last: Int64 = 253_402_300_799
        return Timestamp(seconds: min(max(Int64(days) * 86_400 + Int64(seconds), 0), last))
    }
}

internal import COpenSSL
internal import PinWire

/// A SubjectPublicKeyInfo (RFC 5280 section 4.1) in OpenSSL's form.
enum PublicKey {
    /// OpenSSL, and so most clients, support no larger ones.
    private static let maximumBits = 16_384

    /// A key in DER, with nothing after it.
    static func described(_ der: ArraySlice<UInt8>, _ place: UploadPlace) throws(UploadError) -> Described<KeyFacts> {
        let decoded = unsafe OpenSSL.decode(der) { unsafe d2i_X509_PUBKEY(nil, $0, $1) }
        guard let (pointer, count) = unsafe decoded,
            let info = unsafe Owned(pointer, free: { unsafe X509_PUBKEY_free($0) })
        else { throw .malformed(place, kind: .publicKey, detail: OpenSSL.takeError()) }
        guard count == der.count else { throw .trailingBytes(place, count: der.count - count) }
        return try unsafe info.with { (info) throws(UploadError) in try unsafe self.described(info, place) }
    }

    /// An `X509_PUBKEY`, which its owner keeps.
    static func described(_ info: OpaquePointer?, _ place: UploadPlace) throws(UploadError) -> Described<KeyFacts> {
        var algorithm: OpaquePointer?
        var start: UnsafePointer<UInt8>?
        var count: CInt = 0
        guard let info = unsafe info, unsafe X509_PUBKEY_get0_param(&algorithm, &start, &count, nil, info) == 1,
            let encoding = unsafe OpenSSL.encode({ unsafe i2d_X509_PUBKEY(info, $0) }),
            let digest = unsafe OpenSSL.digest(encoding, EVP_sha256()), let pin = Pin(bytes: digest),
            let sha512 = unsafe OpenSSL.digest(encoding, EVP_sha512()),
            let raw = unsafe Optional(OpenSSL.copy(start, count: count)),
            let rawSHA256 = unsafe OpenSSL.digest(raw, EVP_sha256())
        else { throw .malformed(place, kind: .publicKey, detail: OpenSSL.takeError()) }
        guard let key = unsafe X509_PUBKEY_get0(info), let name = unsafe EVP_PKEY_get0_type_name(key) else {
            throw .unreadableKey(place, algorithm: unsafe self.name(of: algorithm))
        }
        let type = unsafe String(cString: name)
        let bits = unsafe Int(EVP_PKEY_get_bits(key))
        guard bits <= self.maximumBits else { throw .unreadableKey(place, algorithm: "\(type) of \(bits) bits") }
        let curve = type == "EC" || type == "SM2" ? unsafe self.curve(of: key) : nil
        var facts = KeyFacts(
            pin: pin, algorithm: type.lowercased(), bits: bits, curve: curve, spkiSHA512: sha512,
            rawKeySHA256: rawSHA256)
        facts.weaknesses = KeyWeakness.all(
            of: facts, raw: raw, modulus: unsafe self.number(OSSL_PKEY_PARAM_RSA_N, of: key),
            exponent: unsafe self.number(OSSL_PKEY_PARAM_RSA_E, of: key))
        return Described(facts: facts, material: [Material(.publicKey, der: encoding)])
    }

    /// The curve's name in the spelling of NIST where it has one; nil for one given by its parameters.
    private static func curve(of key: OpaquePointer) -> String? {
        guard let encoding = unsafe self.text(OSSL_PKEY_PARAM_EC_ENCODING, of: key), encoding != "explicit",
            let name = unsafe self.text(OSSL_PKEY_PARAM_GROUP_NAME, of: key)
        else { return nil }
        return switch name {
        case "prime192v1": "P-192"
        case "secp224r1": "P-224"
        case "prime256v1": "P-256"
        case "secp384r1": "P-384"
        case "secp521r1": "P-521"
        default: name
        }
    }

    private static func text(_ parameter: String, of key: OpaquePointer) -> String? {
        let capacity = 80
        let text = unsafe [CChar](unsafeUninitializedCapacity: capacity) { buffer, count in
            let isThere =
                unsafe EVP_PKEY_get_utf8_string_param(key, parameter, buffer.baseAddress, capacity, &count) == 1
            if !isThere { count = 0 }
        }
        return text.isEmpty ? nil : String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// A number of the key as its magnitude, the highest byte first; nil where the key has no such number.
    private static func number(_ parameter: String, of key: OpaquePointer) -> [UInt8]? {
        var pointer: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, parameter, &pointer) == 1,
            let number = unsafe Owned(pointer, free: { unsafe BN_free($0) })
        else { return nil }
        return unsafe number.with { (number) in
            let size = unsafe Int(BN_num_bits(number) + 7) / 8
            return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                count = unsafe size == 0 ? 0 : max(0, Int(BN_bn2bin(number, buffer.baseAddress)))
            }
        }
    }

    /// The name or the number of an algorithm.
    private static func name(of algorithm: OpaquePointer?) -> String {
        guard let algorithm = unsafe algorithm else { return "unknown" }
        let identifier = unsafe OBJ_obj2nid(algorithm)
        if identifier != NID_undef, let name = unsafe OBJ_nid2sn(identifier) { return unsafe String(cString: name) }
        let text = unsafe [CChar](unsafeUninitializedCapacity: 80) { buffer, count in
            count = unsafe min(79, max(0, Int(OBJ_obj2txt(buffer.baseAddress, 80, algorithm, 1))))
        }
        return String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

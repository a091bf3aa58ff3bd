internal import COpenSSL
internal import PinWire

/// A PKCS#12 file (RFC 7292), of which the certificates are taken, and which is refused if there is a key in it.
///
/// Trying a password is slow on purpose, by a number in the file; the work is bounded (``KeyStoreAllowance``).
@safe struct KeyStore {
    private let place: UploadPlace
    private let store: Owned
    /// The file's parts (of type `PKCS7`), some of them encrypted.
    private let parts: Owned
    private var certificates: [Described<CertificateFacts>] = []

    /// The certificates in the order of the file, those that stand in the clear first.
    static func certificates(
        of bytes: ArraySlice<UInt8>, password: String?, allowance: inout KeyStoreAllowance, _ place: UploadPlace
    ) throws(UploadError) -> [Described<CertificateFacts>] {
        // Most keys are visible without a password, so that OpenSSL makes no copies of them.
        if KeyBags.areVisible(in: bytes) { throw .privateKey(place, form: "PKCS#12") }
        var store = try KeyStore(bytes, place)
        try store.readOpenParts()
        if try store.isLocked {
            guard allowance.spend(try store.iterations()) else { throw .tooManyIterations(place) }
            try store.readLockedParts(store.rightPassword(password))
        }
        guard !store.certificates.isEmpty else { throw .noCertificates(place, kind: .keyStore) }
        return store.certificates
    }

    private init(_ bytes: ArraySlice<UInt8>, _ place: UploadPlace) throws(UploadError) {
        let decoded = unsafe OpenSSL.decode(bytes) { unsafe d2i_PKCS12(nil, $0, $1) }
        guard let (pointer, count) = unsafe decoded,
            let store = unsafe Owned(pointer, free: { unsafe PKCS12_free($0) }),
            let parts = unsafe store.with({ unsafe Owned(PKCS12_unpack_authsafes($0), free: pinledger_free_messages) })
        else { throw .malformed(place, kind: .keyStore, detail: OpenSSL.takeError()) }
        guard count == bytes.count else { throw .trailingBytes(place, count: bytes.count - count) }
        self.place = place
        self.store = store
        self.parts = parts
    }

    /// Calls `body` with the parts that are encrypted, or with those that are not.
    private func eachPart(
        isLocked: Bool, _ body: (UnsafeMutablePointer<PKCS7>) throws(UploadError) -> Void
    ) throws(UploadError) {
        let wanted = isLocked ? NID_pkcs7_encrypted : NID_pkcs7_data
        try unsafe self.parts.with { (parts) throws(UploadError) in
            try unsafe OpenSSL.each(of: parts) { (part) throws(UploadError) in
                let part = unsafe UnsafeMutablePointer<PKCS7>(part)
                if unsafe OBJ_obj2nid(part.pointee.type) == wanted { try unsafe body(part) }
            }
        }
    }

    /// Whether the file has a checksum, which needs the password.
    private var hasChecksum: Bool { unsafe self.store.with { unsafe PKCS12_mac_present($0) == 1 } }

    private var isLocked: Bool {
        get throws(UploadError) {
            var isLocked = self.hasChecksum
            try unsafe self.eachPart(isLocked: true) { _ in isLocked = true }
            return isLocked
        }
    }

    private mutating func readOpenParts() throws(UploadError) {
        var read = self
        try unsafe self.eachPart(isLocked: false) { (part) throws(UploadError) in
            try unsafe read.take(PKCS12_unpack_p7data(part))
        }
        self = read
    }

    private mutating func readLockedParts(_ password: Password) throws(UploadError) {
        var read = self
        try unsafe self.eachPart(isLocked: true) { (part) throws(UploadError) in
            try unsafe read.take(password.open(part))
        }
        self = read
    }

    /// A password to try; no password at all is one too.
    private struct Password {
        let text: String?

        /// The bags of an encrypted part, which the caller frees; nil where it does not open.
        func open(_ part: UnsafeMutablePointer<PKCS7>) -> OpaquePointer? {
            unsafe PKCS12_unpack_p7encdata(part, self.text, CInt(self.text?.utf8.count ?? 0))
        }

        func opens(_ part: UnsafeMutablePointer<PKCS7>) -> Bool {
            guard let bags = unsafe self.open(part) else { return false }
            unsafe pinledger_free_bags(bags)
            return true
        }

        func fits(checksumOf store: OpaquePointer) -> Bool {
            unsafe PKCS12_verify_mac(store, self.text, CInt(self.text?.utf8.count ?? 0)) == 1
        }
    }

    /// The password of the checksum, or without one of the first encrypted part.
    private func rightPassword(_ given: String?) throws(UploadError) -> Password {
        let candidates = given.map { [Password(text: $0)] } ?? [Password(text: ""), Password(text: nil)]
        for candidate in candidates {
            if self.hasChecksum {
                guard unsafe self.store.with({ unsafe candidate.fits(checksumOf: $0) }) else { continue }
                try self.refuseOutdatedCiphers(candidate)
                return candidate
            }
            var isFirst = true
            var isRight = false
            try unsafe self.eachPart(isLocked: true) { part in
                if isFirst { isRight = unsafe candidate.opens(part) }
                isFirst = false
            }
            if isRight { return candidate }
        }
        guard given != nil else { throw .passwordNeeded(self.place) }
        if !self.hasChecksum { try self.refuseOutdatedCiphers(candidates[0]) }
        throw .wrongPassword(self.place)
    }

    /// Ciphers that OpenSSL 3 moved to its legacy provider: RC2, RC4 and DES.
    private static let outdatedCiphers = [
        NID_pbe_WithSHA1And40BitRC2_CBC, NID_pbe_WithSHA1And128BitRC2_CBC, NID_pbe_WithSHA1And40BitRC4,
        NID_pbe_WithSHA1And128BitRC4, NID_pbeWithMD2AndDES_CBC, NID_pbeWithMD5AndDES_CBC, NID_pbeWithMD2AndRC2_CBC,
        NID_pbeWithMD5AndRC2_CBC, NID_pbeWithSHA1AndDES_CBC, NID_pbeWithSHA1AndRC2_CBC,
    ]

    /// Throws if a part does not open because its cipher is missing.
    private func refuseOutdatedCiphers(_ password: Password) throws(UploadError) {
        try unsafe self.eachPart(isLocked: true) { (part) throws(UploadError) in
            guard let algorithm = unsafe part.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm else { return }
            let identifier = unsafe OBJ_obj2nid(algorithm.pointee.algorithm)
            guard Self.outdatedCiphers.contains(identifier), unsafe !password.opens(part) else { return }
            let name = unsafe OBJ_nid2sn(identifier).map { unsafe String(cString: $0) } ?? "unknown"
            throw .outdatedCipher(self.place, name: name)
        }
    }

    /// The rounds of hashing that trying one password takes. Throws if they exceed the most that is ever spent.
    private func iterations() throws(UploadError) -> Int {
        var sum = 0
        func add(_ count: Int) throws(UploadError) {
            guard (0...KeyStoreAllowance.iterations).contains(count) else { throw .tooManyIterations(self.place) }
            sum += count
        }
        if self.hasChecksum {
            var count: UnsafePointer<ASN1_INTEGER>?
            unsafe self.store.with { unsafe PKCS12_get0_mac(nil, nil, nil, &count, $0) }
            // One, where the file has no number.
            try add(unsafe count.map { unsafe ASN1_INTEGER_get($0) } ?? 1)
        }
        try unsafe self.eachPart(isLocked: true) { (part) throws(UploadError) in
            guard let algorithm = unsafe part.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm,
                let encoding = unsafe OpenSSL.encode({ unsafe i2d_X509_ALGOR(algorithm, $0) }),
                let iterations = KeyBags.iterations(of: encoding[...])
            else { throw .tooManyIterations(self.place) }
            try add(iterations)
        }
        return sum
    }

    /// Takes over a stack of bags, and takes the certificates out of it.
    private mutating func take(_ bags: OpaquePointer?) throws(UploadError) {
        guard let bags = unsafe Owned(bags, free: { unsafe pinledger_free_bags($0) }) else {
            throw .malformed(self.place, kind: .keyStore, detail: OpenSSL.takeError())
        }
        try unsafe bags.with { (bags) throws(UploadError) in try unsafe self.look(into: bags, depth: 0) }
    }

    private mutating func look(into bags: OpaquePointer?, depth: Int) throws(UploadError) {
        try unsafe OpenSSL.each(of: bags) { (bag) throws(UploadError) in
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag, NID_pkcs8ShroudedKeyBag: throw .privateKey(self.place, form: "PKCS#12")
            case NID_certBag: try unsafe self.takeCertificate(bag)
            case NID_safeContentsBag:
                // The format allows bags within bags, but no program makes them.
                guard depth < 4 else { throw .malformed(self.place, kind: .keyStore, detail: "bags within bags") }
                try unsafe self.look(into: PKCS12_SAFEBAG_get0_safes(bag), depth: depth + 1)
            default: return
            }
        }
    }

    private mutating func takeCertificate(_ bag: OpaquePointer) throws(UploadError) {
        guard unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate else { return }
        guard self.certificates.count < Upload.maximumCount else { throw .tooMany }
        let place = UploadPlace.certificate(self.certificates.count + 1)
        guard let certificate = unsafe Certificate(adopting: PKCS12_SAFEBAG_get1_cert(bag)) else {
            throw .malformed(place, kind: .certificate, detail: OpenSSL.takeError())
        }
        self.certificates.append(try certificate.described(place))
    }
}

internal import Glibc
internal import PinWire

/// Recognises the form of an upload and parses it, within the limits of ``Upload``.
struct UploadReader {
    /// The password of a PKCS#12 file.
    let password: String?
    private(set) var allowance: KeyStoreAllowance
    private(set) var items: [Upload.Item] = []
    private(set) var material: Set<Material> = []

    init(password: String?, allowance: KeyStoreAllowance) {
        self.password = password
        self.allowance = allowance
    }

    mutating func add(_ item: Upload.Item) throws(UploadError) {
        guard self.items.count < Upload.maximumCount else { throw .tooMany }
        self.items.append(item)
    }

    private mutating func add<ExternalFacts>(
        _ described: Described<ExternalFacts>, as item: (ExternalFacts) -> Upload.Item
    ) throws(UploadError) {
        try self.add(item(described.facts))
        self.material.formUnion(described.material)
    }

    mutating func read(_ bytes: ArraySlice<UInt8>) throws(UploadError) {
        guard bytes.count <= Upload.maximumSize else { throw .tooLarge(byteCount: bytes.count) }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { throw .utf16 }
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
        guard bytes.contains(where: { !ASCII.isSpace($0) }) else { throw .empty }

        // The tags and lengths of DER are control characters, which no text has.
        if bytes.contains(where: { $0 < 0x20 && !ASCII.isSpace($0) }) {
            let isPEM = PEMScanner.beginsBlock(in: bytes)
            if bytes.first == DERValue.sequence, !isPEM || DERReader.isWhole(bytes) {
                return try self.readDER(bytes, .whole)
            }
            if bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED]) || bytes.starts(with: [0xCE, 0xCE, 0xCE, 0xCE]) {
                throw .javaKeyStore
            }
            guard isPEM else { throw .unknownBinary(.whole) }
        }
        if let form = PEMScanner.privateKey(in: bytes) { throw .privateKey(.whole, form: form) }
        if PEMScanner.beginsBlock(in: bytes) { return try self.readPEM(bytes) }
        try self.readText(bytes)
    }

    /// Reads every PEM block, and skips the text around them.
    private mutating func readPEM(_ bytes: ArraySlice<UInt8>) throws(UploadError) {
        var scanner = PEMScanner(bytes)
        while var block = try scanner.next() {
            defer { OpenSSL.wipe(&block.bytes) }
            let place = UploadPlace.block(scanner.count, label: block.label)
            switch block.label {
            case "EC PARAMETERS", "DSA PARAMETERS", "DH PARAMETERS", "X9.42 DH PARAMETERS": continue
            case "X509 CRL": throw .revocationList(place)
            case "TRUSTED CERTIFICATE":
                // OpenSSL's own: a certificate, followed by the uses for which it is trusted.
                guard let (certificate, _) = Certificate.decode(block.bytes[...]) else {
                    throw .malformed(place, kind: .certificate, detail: OpenSSL.takeError())
                }
                try self.add(certificate.described(place), as: Upload.Item.certificate)
            case "CERTIFICATE", "X509 CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE REQUEST",
                "NEW CERTIFICATE REQUEST", "PKCS7", "PKCS #7 SIGNED DATA", "CMS":
                try self.readDER(block.bytes[...], place)
            default:
                throw .unknownBlock(place)
            }
        }
        if self.items.isEmpty { throw .onlyParameters }
    }

    /// Reads one DER value of whatever kind.
    mutating func readDER(_ bytes: ArraySlice<UInt8>, _ place: UploadPlace) throws(UploadError) {
        switch DERShape(bytes) {
        case .privateKey: throw .privateKey(place, form: "in DER")
        case .encryptedPrivateKey: throw .privateKey(place, form: "PKCS#8 under a passphrase")
        case .publicKey: try self.add(PublicKey.described(bytes, place), as: Upload.Item.publicKey)
        case .rsaPublicKey:
            let info = DERWriter.publicKey(DERWriter.Algorithm.rsa, Array(bytes))
            try self.add(PublicKey.described(info[...], place), as: Upload.Item.publicKey)
        case .signed: try self.readSigned(bytes, place)
        case .message:
            try CertificateMessage.read(bytes, place) { certificate throws(UploadError) in
                try self.add(certificate, as: Upload.Item.certificate)
            }
        case .keyStore:
            // Trying one password is slow enough; no program writes these as PEM.
            if case .block = place { throw .unknownBlock(place) }
            let certificates = try KeyStore.certificates(
                of: bytes, password: self.password, allowance: &self.allowance, place)
            for certificate in certificates { try self.add(certificate, as: Upload.Item.certificate) }
        case .unknown: throw .unknownBinary(place)
        }
    }

    private mutating func readSigned(_ bytes: ArraySlice<UInt8>, _ place: UploadPlace) throws(UploadError) {
        if let (certificate, count) = Certificate.decode(bytes) {
            guard count == bytes.count else { throw .trailingBytes(place, count: bytes.count - count) }
            return try self.add(certificate.described(place), as: Upload.Item.certificate)
        }
        let detail = OpenSSL.takeError()
        if let (request, count) = CertificateRequest.decode(bytes) {
            guard count == bytes.count else { throw .trailingBytes(place, count: bytes.count - count) }
            return try self.add(request.described(place), as: Upload.Item.request)
        }
        if Certificate.isRevocationList(bytes) { throw .revocationList(place) }
        let isRequest = if case .block(_, let label) = place { label.hasSuffix("REQUEST") } else { false }
        throw .malformed(
            place, kind: isRequest ? .request : .certificate, detail: isRequest ? OpenSSL.takeError() : detail)
    }

    /// Reads a text without PEM blocks.
    private mutating func readText(_ bytes: ArraySlice<UInt8>) throws(UploadError) {
        let text = ASCII.trim(bytes)
        switch text.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            for key in try JSONWebKeys.read(text) { try self.add(key, as: Upload.Item.publicKey) }
            return
        case UInt8(ascii: "<"): throw .markup
        default: break
        }
        guard String(validating: text, as: UTF8.self) != nil else {
            guard text.first == DERValue.sequence else { throw .unknownBinary(.whole) }
            return try self.readDER(bytes, .whole)
        }
        if PinText.isSSHKey(text) { throw .sshKey }
        if var der = PinText.base64DER(text) {
            defer { OpenSSL.wipe(&der) }
            return try self.readDER(der[...], .whole)
        }
        let items: [Upload.Item]
        do throws(PinText.Defect) { items = try PinText.read(text, atMost: Upload.maximumCount) } catch {
            throw UploadError(error)
        }
        guard !items.isEmpty else { throw .unknownText(.whole) }
        for item in items { try self.add(item) }
    }
}

extension UploadError {
    init(_ defect: PinText.Defect) {
        self =
            switch defect.reason {
            case .otherHash(let name): .otherHash(defect.place, name: name)
            case .hexDigits(let byteCount): .malformedHex(defect.place, byteCount: byteCount)
            case .digest(let reason): .malformedPin(defect.place, reason)
            case .fingerprint, .several, .otherText, nil: .unknownText(defect.place)
            }
    }
}

extension DERReader {
    /// Whether `bytes` are one value and nothing else.
    static func isWhole(_ bytes: ArraySlice<UInt8>) -> Bool {
        var reader = DERReader(bytes)
        guard let value = reader.next() else { return false }
        return value.isComplete && value.contents.endIndex == bytes.endIndex
    }
}

/// The characters of texts, as bytes.
enum ASCII {
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// `text` without white space at both ends.
    static func trim(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop(while: Self.isSpace)
        while let last = text.last, self.isSpace(last) { text.removeLast() }
        return text
    }

    /// Where `needle` first stands in `text`.
    static func find(_ needle: StaticString, in text: ArraySlice<UInt8>) -> Range<Int>? {
        self.find(Array("\(needle)".utf8), in: text)
    }

    static func find(_ needle: [UInt8], in text: ArraySlice<UInt8>) -> Range<Int>? {
        guard let first = needle.first else { return nil }
        let place = unsafe text.withUnsafeBytes { text -> Int? in
            guard let start = text.baseAddress else { return nil }
            var at = 0
            // The last place where it could begin, plus one.
            let end = text.count - needle.count + 1
            while at < end, let found = unsafe memchr(start + at, CInt(first), end - at) {
                at = unsafe UnsafeRawPointer(found) - start
                if unsafe memcmp(found, needle, needle.count) == 0 { return at }
                at += 1
            }
            return nil
        }
        return place.map { text.startIndex + $0..<text.startIndex + $0 + needle.count }
    }
}

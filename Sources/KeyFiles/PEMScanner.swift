/// Finds the PEM blocks (RFC 7468, and with headers RFC 1421) in a text.
///
/// Text before, between and after blocks is skipped. Line ends may be of any system, or written as `\n` as in JSON and
/// environment variables. Each byte is examined a fixed number of times.
struct PEMScanner {
    /// A block between its two boundaries.
    struct Block {
        /// `CERTIFICATE`, at most 40 printable characters.
        let label: String
        var bytes: [UInt8]
    }

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    private var rest: ArraySlice<UInt8>
    /// The number of blocks found so far.
    private(set) var count = 0

    init(_ text: ArraySlice<UInt8>) {
        self.rest = text
    }

    static func beginsBlock(in text: ArraySlice<UInt8>) -> Bool { ASCII.find(self.begin, in: text) != nil }

    /// The label of the first private key in `text`; nil for none.
    ///
    /// The whole text is searched before anything is decoded, with any number of dashes.
    static func privateKey(in text: ArraySlice<UInt8>) -> String? {
        var rest = text
        while let place = ASCII.find("BEGIN ", in: rest) {
            let label = rest[place.upperBound...].prefix(60).prefix { $0 != UInt8(ascii: "-") && $0 >= 0x20 }
            let isBoundary = rest[..<place.lowerBound].last { $0 != 0x20 } == UInt8(ascii: "-")
            if isBoundary, ASCII.find("PRIVATE", in: label) != nil || ASCII.find("SECRET", in: label) != nil {
                return self.printable(label)
            }
            // In SSH's own form, only the label of an encrypted key differs from a public key's.
            if isBoundary, ASCII.find("SSH2 ENCRYPTED", in: label) != nil { return self.printable(label) }
            rest = rest[place.upperBound...]
        }
        if ASCII.find("PuTTY-User-Key-File-", in: text) != nil { return "PuTTY" }
        return nil
    }

    /// The next block, decoded; nil after the last one.
    mutating func next() throws(UploadError) -> Block? {
        guard let begin = ASCII.find(Self.begin, in: self.rest) else { return nil }
        self.count += 1
        let afterBegin = self.rest[begin.upperBound...]
        let rawLabel = afterBegin.prefix { $0 != UInt8(ascii: "-") && $0 >= 0x20 }
        let label = Self.printable(rawLabel)
        let place = UploadPlace.block(self.count, label: label)
        guard afterBegin[rawLabel.endIndex...].starts(with: Self.dashes) else {
            throw .malformed(place, kind: .pem, detail: "its first line does not end in five dashes")
        }
        let body = afterBegin[rawLabel.endIndex...].dropFirst(Self.dashes.count)
        guard let end = ASCII.find(Self.dashes, in: body), body[end.lowerBound...].starts(with: Self.end) else {
            throw .malformed(place, kind: .pem, detail: "it has no END line")
        }
        let endLabel = body[(end.lowerBound + Self.end.count)...]
        guard endLabel.starts(with: rawLabel), endLabel.dropFirst(rawLabel.count).starts(with: Self.dashes) else {
            throw .malformed(place, kind: .pem, detail: "its END line names something else")
        }
        // PGP's blocks are not quite base64.
        if label.hasPrefix("PGP ") { throw .pgp }
        self.rest = endLabel.dropFirst(rawLabel.count + Self.dashes.count)
        guard let bytes = Self.decode(body[..<end.lowerBound]) else {
            throw .malformed(place, kind: .pem, detail: "it is not base64")
        }
        return Block(label: label, bytes: bytes)
    }

    /// The bytes of a block's lines; nil where they have anything but headers, base64 and white space.
    private static func decode(_ body: ArraySlice<UInt8>) -> [UInt8]? {
        var decoder = LenientBase64(capacity: body.count)
        var rest = body
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0A && $0 != 0x0D && $0 != UInt8(ascii: "\\") }
            rest = rest[line.endIndex...]
            if rest.first == UInt8(ascii: "\\") {
                // `\n` and `\r`, spelled out.
                guard let escaped = rest.dropFirst().first,
                    [UInt8(ascii: "n"), UInt8(ascii: "r")].contains(escaped)
                else {
                    decoder.wipe()
                    return nil
                }
                rest = rest.dropFirst(2)
            } else {
                rest = rest.dropFirst()
            }
            if decoder.isEmpty, line.contains(UInt8(ascii: ":")) { continue }
            guard decoder.take(line) else {
                decoder.wipe()
                return nil
            }
        }
        return decoder.finish()
    }

    /// `label`, made printable.
    private static func printable(_ label: ArraySlice<UInt8>) -> String {
        let shown = label.prefix(40).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: shown, as: UTF8.self)
    }
}

/// Decodes base64 as people's tools write and break it: with white space anywhere, and with or without padding.
///
/// The buffer has its final size from the beginning, so that growing leaves no copies of it behind.
struct LenientBase64 {
    private var bytes: [UInt8] = []
    private var bits: UInt32 = 0
    private var held = 0
    private var isPadded = false

    /// For a text of `capacity` characters.
    init(capacity: Int) {
        self.bytes.reserveCapacity(capacity / 4 * 3 + 3)
    }

    var isEmpty: Bool { self.bytes.isEmpty && self.held == 0 }

    /// Decodes some more; false where it is not base64.
    mutating func take(_ text: ArraySlice<UInt8>) -> Bool {
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                self.isPadded = true
                continue
            case _ where ASCII.isSpace(character): continue
            default: return false
            }
            guard !self.isPadded else { return false }
            self.bits = self.bits << 6 | UInt32(value)
            self.held += 6
            if self.held >= 8 {
                self.held -= 8
                self.bytes.append(UInt8(truncatingIfNeeded: self.bits >> UInt32(self.held)))
            }
        }
        return true
    }

    /// The decoded bytes.
    consuming func finish() -> [UInt8] { self.bytes }

    mutating func wipe() {
        OpenSSL.wipe(&self.bytes)
    }
}

internal import PinWire

/// The pins and fingerprints of a text, read one after the other.
struct PinTextEntries {
    /// The text without separators and quotation marks; no word is empty.
    private var words: [ArraySlice<UInt8>]
    private let isHeader: Bool
    private var at = 0
    /// The number of entries so far.
    private var number = 0

    init(_ text: ArraySlice<UInt8>) {
        let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text.dropFirst(3) : text
        self.words = text.split { ASCII.isSpace($0) || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }
            .map(WrittenPin.unquoted).filter { !$0.isEmpty }
        self.isHeader = self.words.contains { Self.lower($0.prefix(12)).hasPrefix("pin-sha256=") }
    }

    /// The next pin or fingerprint; nil at the end.
    mutating func next() throws(PinText.Defect) -> Upload.Item? {
        while self.isHeader, self.at < self.words.count, Self.isDirective(self.words[self.at]) { self.at += 1 }
        guard self.at < self.words.count else { return nil }
        self.number += 1
        let label = self.takeLabel()
        guard self.at < self.words.count else { throw PinText.Defect(place: .whole, reason: nil) }
        if let (bytes, spelling) = self.takeDigits(atMost: label?.byteCount ?? 32) {
            guard [20, 32].contains(bytes.count), label?.byteCount ?? bytes.count == bytes.count else {
                throw self.defect(.hexDigits(byteCount: bytes.count))
            }
            guard label?.isFingerprint != true, let pin = Pin(bytes: bytes) else { return .fingerprint(bytes) }
            return .pin(pin, spelling: spelling)
        }
        guard label?.isFingerprint != true, self.words[self.at].count <= WrittenPin.longest else {
            throw self.defect(nil)
        }
        let word = String(decoding: self.words[self.at], as: UTF8.self)
        self.at += 1
        do throws(WrittenPin.Malformed) {
            let written = try WrittenPin(word: word)
            return .pin(written.pin, spelling: written.spelling)
        } catch {
            switch error {
            case .fingerprint(let bytes): return .fingerprint(bytes)
            case .digest:
                // With a pin's beginning or about 44 characters it is meant as a pin, and its defect can be named.
                let isMeant = ["sha256/", "pin-sha256="].contains { word.lowercased().hasPrefix($0) }
                throw self.defect(isMeant || (40...48).contains(word.utf8.count) ? error : nil)
            case .otherHash, .hexDigits, .several, .otherText: throw self.defect(error)
            }
        }
    }

    private func defect(_ reason: WrittenPin.Malformed?) -> PinText.Defect {
        PinText.Defect(place: self.words.count == 1 ? .whole : .entry(self.number), reason: reason)
    }

    // MARK: Hexadecimal digits

    /// The words before hexadecimal digits that say of what these are.
    private struct Label {
        /// The number of bytes of the hash that it names; nil for none.
        var byteCount: Int?
        /// False for a digest of something that the label does not name.
        var isFingerprint: Bool
    }

    private static let hashes = ["sha1": 20, "sha-1": 20, "sha256": 32, "sha-256": 32]

    /// Takes the label before a digest: `SHA256 Fingerprint=` of `openssl x509`, `SHA256:` of keytool, `SHA2-256(stdin)=` of
    /// `openssl dgst`; nil for none.
    private mutating func takeLabel() -> Label? {
        var word = self.shortWord
        if word.hasPrefix("sha"), word.contains("("), word.hasSuffix(")=") {
            self.at += 1
            return Label(byteCount: nil, isFingerprint: false)
        }
        var label: Label?
        let hasColon = word.hasSuffix(":")
        if let byteCount = Self.hashes[hasColon ? String(word.dropLast()) : word] {
            label = Label(byteCount: byteCount, isFingerprint: hasColon)
            self.at += 1
            word = self.shortWord
        }
        let noun = "fingerprint"
        guard word.hasPrefix(noun) else { return label }
        let rest = self.words[self.at].dropFirst(noun.utf8.count)
        // The digits may follow the sign at once, and be in quotation marks.
        let digits = rest.first == UInt8(ascii: "=") || rest.first == UInt8(ascii: ":") ? rest.dropFirst() : rest
        self.words[self.at] = WrittenPin.unquoted(digits)
        if self.words[self.at].isEmpty { self.at += 1 }
        return Label(byteCount: label?.byteCount, isFingerprint: true)
    }

    /// The present word in lower case; empty at the end, and for one that is longer than any pin.
    private var shortWord: String {
        guard self.at < self.words.count, self.words[self.at].count <= WrittenPin.longest else { return "" }
        return Self.lower(self.words[self.at])
    }

    /// Takes hexadecimal digits of 16 bytes or more, in one word or in several that have fewer each; nil for anything else.
    ///
    /// - Parameter limit: The number of bytes after which no further word is taken.
    private mutating func takeDigits(atMost limit: Int) -> (bytes: [UInt8], spelling: PinSpelling)? {
        var taken = WrittenPin.hex(self.shortWord)
        if taken != nil {
            self.at += 1
        } else {
            var digits = ""
            var end = self.at
            while end < self.words.count, digits.utf8.count < 2 * limit, self.words[end].count < 32,
                Hex.decode(Self.lower(self.words[end])) != nil
            {
                digits += Self.lower(self.words[end])
                end += 1
            }
            guard let bytes = Hex.decode(digits), bytes.count >= 16 else { return nil }
            taken = (bytes, .spacedHex)
            self.at = end
        }
        // sha256sum names its standard input so.
        if self.at < self.words.count, self.words[self.at].elementsEqual("-".utf8) { self.at += 1 }
        return taken
    }

    // MARK: Words

    /// True for another directive of an RFC 7469 header, or the header's name.
    private static func isDirective(_ word: ArraySlice<UInt8>) -> Bool {
        let lower = self.lower(word.prefix(WrittenPin.longest))
        return ["public-key-pins:", "public-key-pins-report-only:", "includesubdomains", "strict"].contains(lower)
            || ["max-age=", "report-uri="].contains { lower.hasPrefix($0) }
    }

    private static func lower(_ word: ArraySlice<UInt8>) -> String {
        String(decoding: word, as: UTF8.self).lowercased()
    }
}

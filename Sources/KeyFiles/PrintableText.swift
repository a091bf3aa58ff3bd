internal import PinWire

/// Makes text from a certificate, which anyone may have written, safe for a terminal, a log and JSON.
enum PrintableText {
    /// The most bytes of UTF-8 of a stored text.
    static let limit = 1000

    /// `bytes` as text. Bytes that are not UTF-8 become U+FFFD; control and formatting characters (of which some turn
    /// the direction of writing), and combining marks after thirty others, become `\` and two hexadecimal digits for
    /// each byte, as RFC 4514 escapes; a text longer than ``limit`` ends in `…`.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        var out: [UInt8] = []
        // The place to cut the text that leaves room for the mark.
        var cut = 0
        var marks = 0
        // A character takes at least one byte, so no character after these can be within the limit.
        for scalar in String(decoding: bytes.prefix(self.limit + 4), as: UTF8.self).unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            marks = self.isMark(scalar) ? marks + 1 : 0
            let isSafe = self.isSafe(scalar) && marks <= StreamSafeText.markLimit
            out.append(contentsOf: isSafe ? encoded : encoded.flatMap(self.escaped))
            if out.count <= self.limit - 3 { cut = out.count }
            if out.count > self.limit { return String(decoding: out[..<cut], as: UTF8.self) + "…" }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse: false
        default: !scalar.properties.isNoncharacterCodePoint
        }
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "\\"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

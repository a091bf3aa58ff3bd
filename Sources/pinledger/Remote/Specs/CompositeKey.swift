import PinWire

/// A key of a mapping in YAML that is no text: one behind `?`, or an alias before a colon.
///
/// The reader of YAML compares keys with one another, and aliases can make one as long as they like in a few lines. So such keys are
/// found, in one pass, before it sees the text. Texts in quotes that look like one are taken for one.
enum CompositeKey {
    static func isIn(_ text: [UInt8]) -> Bool {
        // What may stand before a key, as far as the scan has come.
        var isAtStart = true
        var place = 0
        while place < text.count {
            let byte = text[place]
            place += 1
            switch byte {
            case UInt8(ascii: "?") where isAtStart && (place == text.count || Self.isSpace(text[place])): return true
            case UInt8(ascii: "*") where isAtStart:
                while place < text.count, Self.isOfName(text[place]) { place += 1 }
                var next = place
                while next < text.count, [UInt8(ascii: " "), UInt8(ascii: "\t")].contains(text[next]) { next += 1 }
                if next < text.count, text[next] == UInt8(ascii: ":"),
                    next + 1 == text.count || Self.isSpace(text[next + 1])
                {
                    return true
                }
                isAtStart = false
            case UInt8(ascii: "\n"), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: "-"),
                UInt8(ascii: "?"), UInt8(ascii: ":"):
                isAtStart = true
            case let other where Self.isSpace(other): break
            default: isAtStart = false
            }
        }
        return false
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte)
    }

    /// Whether a byte can be part of an anchor's name, as libyaml reads it.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// Quotes texts for the languages of the files.
enum Quoting {
    /// A text for a comment of one line: a character that could end the line, is invisible, or turns the direction of
    /// the following text becomes a question mark.
    static func comment(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse: out += "?"
            default: out.unicodeScalars.append(self.isNoncharacter(scalar) ? "?" : scalar)
            }
        }
        return out
    }

    /// A text for a comment that must not have two hyphens in a row: one in XML (XML 1.0 section 2.5), or a line
    /// between blocks of PEM.
    static func sparseComment(_ text: String) -> String {
        var out = ""
        var wasHyphen = false
        for scalar in self.comment(text).unicodeScalars {
            if wasHyphen, scalar == "-" { out += " " }
            wasHyphen = scalar == "-"
            out.unicodeScalars.append(scalar)
        }
        return wasHyphen ? out + " " : out
    }

    /// A text for an XML element's content or, between either kind of quotation marks, an attribute's value. Characters
    /// that XML 1.0 (section 2.2) cannot express become U+FFFD.
    static func xml(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&apos;"
            case "\t", "\n", "\r": out += "&#\(scalar.value);"
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// A string literal of Swift. Everything but printable ASCII is written by its number.
    static func swift(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case " "..."~": out.unicodeScalars.append(scalar)
            default: out += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return out + "\""
    }

    /// A string literal of Kotlin. Everything but printable ASCII is written by its UTF-16 code units.
    static func kotlin(_ text: String) -> String {
        var out = "\""
        for unit in text.utf16 {
            switch unit {
            case 0x22, 0x24, 0x5C: out += "\\\(Character(Unicode.Scalar(UInt8(unit))))"
            case 0x20...0x7E: out.append(Character(Unicode.Scalar(UInt8(unit))))
            default:
                let digits = String(unit, radix: 16, uppercase: true)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return out + "\""
    }

    /// One word of a POSIX shell (XCU section 2.2.2). No argument can hold a NUL, which is left out.
    static func shell(_ text: String) -> String {
        var out = "'"
        for scalar in text.unicodeScalars where scalar != "\u{0}" {
            if scalar == "'" { out += #"'\''"# } else { out.unicodeScalars.append(scalar) }
        }
        return out + "'"
    }

    private static func isNoncharacter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value)
    }
}

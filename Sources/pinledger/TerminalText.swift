/// Texts of servers and files without what a terminal would obey: control characters, and those that change the direction of the text
/// around them.
extension String {
    /// The text with `?` for each such character that is not kept.
    func withoutControls(but kept: Set<Unicode.Scalar> = []) -> String {
        self.replacingControls { kept.contains($0) ? nil : "?" }
    }

    /// Text in JSON with an escape for each such character, which stands in its strings alone: another reader reads the same value.
    var withEscapedControls: String {
        self.replacingControls { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// Whether a terminal would obey a character other than line feeds and tabs.
    var holdsControls: Bool { self.unicodeScalars.contains { $0.isControl && $0 != "\n" && $0 != "\t" } }

    /// The text with what `replacement` gives for each such character; nil keeps it.
    private func replacingControls(_ replacement: (Unicode.Scalar) -> String?) -> String {
        guard self.unicodeScalars.contains(where: \.isControl) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in self.unicodeScalars {
            if scalar.isControl, let other = replacement(scalar) {
                text.append(contentsOf: other.unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        // Looking up what Unicode says of a character takes long, and nearly all are these.
        guard self.value < 0x20 || self.value > 0x7E else { return false }
        return self.properties.generalCategory == .control || self.properties.isBidiControl
    }
}

/// Finds host names that people confuse with others: mixed scripts within a label, and letters that look like Latin
/// ones.
///
/// It covers a small part of Unicode TR 39: the Cyrillic and Greek letters that domains were forged with.
package enum ConfusableHostName {
    private static let latin: [Unicode.Scalar: Character] = [
        "а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "у": "y", "х": "x", "і": "i", "ј": "j", "ѕ": "s", "һ": "h",
        "ԁ": "d", "ԛ": "q", "ԝ": "w", "ӏ": "l", "ь": "b", "к": "k", "м": "m", "т": "t", "в": "b", "н": "h", "г": "r",
        "α": "a", "ο": "o", "ν": "v", "ρ": "p", "τ": "t", "υ": "u", "ι": "i", "κ": "k", "γ": "y", "η": "n", "χ": "x",
    ]

    /// Why a pattern needs a second look, as a sentence; nil for an ordinary one.
    package static func reason(_ pattern: HostPattern, among others: some Sequence<HostPattern>) -> String? {
        guard pattern.name.contains("xn--") else { return nil }
        let labels = pattern.name.split(separator: ".").map { label -> [Unicode.Scalar] in
            guard label.hasPrefix("xn--") else { return Array(label.unicodeScalars) }
            return Punycode.decode(Array(label.utf8)[4...]) ?? Array(label.unicodeScalars)
        }
        for label in labels {
            let scripts = Set(label.compactMap(Self.script))
            if scripts.count > 1 {
                return "\(pattern) mixes \(scripts.sorted().joined(separator: " and ")) letters in one label."
            }
        }
        let skeleton = labels.map { label in String(label.map { Self.latin[$0] ?? Character($0) }) }
            .joined(separator: ".")
        guard let other = others.first(where: { $0 != pattern && $0.name == skeleton }) else { return nil }
        return "\(pattern) looks like \(other) when browsers show it."
    }

    private static func script(_ scalar: Unicode.Scalar) -> String? {
        switch scalar.value {
        case 0x61...0x7A, 0xC0...0x24F: "Latin"
        case 0x370...0x3FF: "Greek"
        case 0x400...0x52F: "Cyrillic"
        default: nil
        }
    }
}

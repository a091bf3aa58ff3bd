/// A person's languages, the preferred first: `Accept-Language` (RFC 9110 section 12.5.4) reduced to languages, since
/// texts are stored by language alone.
package struct WultraLanguages: Hashable, Sendable {
    /// Two lower-case letters each (ISO 639-1), each once.
    package let codes: [String]

    /// The most ranges of one header that are read.
    private static let rangeLimit = 32

    /// Reads a header; malformed parts are ignored. A range for any language (`*`) adds none: the fallback is there
    /// anyway.
    ///
    /// - Parameter header: The header's value; nil where there is none.
    package init(acceptLanguage header: String?) {
        var ranges: [(code: String, weight: Int)] = []
        for range in (header ?? "").split(separator: ",").prefix(Self.rangeLimit) {
            let parts = range.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
            let tag = Self.trimmed(parts[0])
            let weight = parts.count == 1 ? 1000 : Self.weight(Self.trimmed(parts[1]))
            let code = tag.prefix { $0 != "-" && $0 != "_" }
            guard let weight, weight > 0, code.utf8.count == 2,
                code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) })
            else { continue }
            ranges.append((code.lowercased(), weight))
        }
        // Swift's sort is stable: of equal weights the first named comes first.
        var codes: [String] = []
        for range in ranges.sorted(by: { $0.weight > $1.weight }) where !codes.contains(range.code) {
            codes.append(range.code)
        }
        self.codes = codes
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// The weight of `q=0.8` in thousandths (RFC 9110 section 12.4.2); nil for anything else.
    private static func weight(_ parameter: Substring) -> Int? {
        let bytes = Array(parameter.utf8)
        guard bytes.count >= 3, bytes.count <= 7, bytes[0] | 0x20 == UInt8(ascii: "q"), bytes[1] == UInt8(ascii: "=")
        else { return nil }
        guard bytes[2] == UInt8(ascii: "0") || bytes[2] == UInt8(ascii: "1") else { return nil }
        guard bytes.count == 3 || bytes[3] == UInt8(ascii: ".") else { return nil }
        var weight = Int(bytes[2] - UInt8(ascii: "0")) * 1000
        for (byte, unit) in zip(bytes.dropFirst(4), [100, 10, 1]) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            weight += Int(byte - UInt8(ascii: "0")) * unit
        }
        return weight <= 1000 ? weight : nil
    }
}

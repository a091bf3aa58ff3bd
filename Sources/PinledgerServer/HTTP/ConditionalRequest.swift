import HTTPTypes

/// Conditional requests and content negotiation by RFC 9110, on field values.
enum ConditionalRequest {
    /// Whether `If-None-Match` (section 13.1.2) names one of `tags`, by weak comparison; `*` names any.
    static func noneMatch(_ field: String, names tags: [String]) -> String? {
        let field = field.trimmingCharacters()
        if field == "*" { return tags.first }
        // A comma may stand inside a tag, so the list is split at quotes.
        var rest = Substring(field)
        while let open = rest.firstIndex(of: "\"") {
            let after = rest.index(after: open)
            guard let close = rest[after...].firstIndex(of: "\"") else { return nil }
            let tag = String(rest[open...close])
            if tags.contains(tag) { return tag }
            rest = rest[rest.index(after: close)...]
        }
        return nil
    }

    /// The weight of a content coding for a client (section 12.5.3): 0 for not at all, up to 1000.
    static func weight(of coding: String, in field: String?) -> Int {
        // Without the field any coding is acceptable; every client can read identity.
        guard let field else { return coding == "identity" ? 1000 : 0 }
        var wildcard: Int?
        for item in field.split(separator: ",") {
            let parts = item.split(separator: ";")
            guard let name = parts.first?.trimmingCharacters().lowercased() else { continue }
            var weight = 1000
            for parameter in parts.dropFirst() {
                let pair = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters() }
                if pair.count == 2, pair[0].lowercased() == "q" { weight = Self.quality(pair[1]) }
            }
            if name == coding { return weight }
            if name == "*" { wildcard = weight }
        }
        if coding == "identity" { return wildcard == 0 ? 0 : 1 }
        return wildcard ?? 0
    }

    /// `0.125` as 125; a malformed weight as 0.
    private static func quality(_ text: String) -> Int {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first.flatMap({ Int($0) }), (0...1).contains(whole), parts.count <= 2 else { return 0 }
        let digits = parts.count == 2 ? parts[1] : ""
        guard digits.count <= 3, digits.allSatisfy(\.isNumber) else { return 0 }
        let padded = digits + String(repeating: "0", count: 3 - digits.count)
        return min(1000, whole * 1000 + (Int(padded) ?? 0))
    }
}

/// An index of host patterns, to find the one that covers a name.
///
/// An exact pattern comes before a wildcard, a wildcard before a pattern further up that includes subdomains; of those
/// the longest comes first, and of one name's two the wildcard.
package struct HostIndex: Sendable {
    /// A pattern's index among the given ones, and how it covers the name.
    struct Match: Hashable {
        var place: Int
        var reason: DeviceDecision.Reason
    }

    private var exact: [String: Int] = [:]
    /// Keyed by the name without `*.`.
    private var wildcards: [String: Int] = [:]
    /// Keyed by the name without `*.`, where subdomains are included.
    private var subtrees: [String: Int] = [:]

    init(_ hosts: [Document.Host]) {
        self.init(hosts.map { (pattern: $0.pattern, includesSubdomains: $0.includesSubdomains) })
    }

    /// Where a pattern comes twice the first counts.
    package init(_ hosts: [(pattern: HostPattern, includesSubdomains: Bool)]) {
        for (place, host) in hosts.enumerated() {
            let name = host.pattern.name
            if host.pattern.isWildcard {
                if self.wildcards[name] == nil { self.wildcards[name] = place }
            } else {
                if self.exact[name] == nil { self.exact[name] = place }
            }
            if host.includesSubdomains {
                if let other = self.subtrees[name] {
                    guard host.pattern.isWildcard, !hosts[other].pattern.isWildcard else { continue }
                }
                self.subtrees[name] = place
            }
        }
    }

    /// The index of the pattern that covers a name in lower case, without a trailing dot; nil where none does.
    package func place(of name: String) -> Int? { self.match(name)?.place }

    /// The pattern that covers a canonical name (see ``canonical(_:)``); nil where none does.
    func match(_ name: String) -> Match? {
        if let place = self.exact[name] { return Match(place: place, reason: .hostExact) }
        guard !self.wildcards.isEmpty || !self.subtrees.isEmpty else { return nil }
        var rest = name[...]
        var isFirst = true
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            // No label is empty, so that there is one before each dot.
            rest = rest[rest.utf8.index(after: dot)...]
            let parent = String(rest)
            if isFirst, let place = self.wildcards[parent] { return Match(place: place, reason: .hostWildcard) }
            isFirst = false
            if let place = self.subtrees[parent] { return Match(place: place, reason: .hostSubdomain) }
            if self.subtrees.isEmpty { return nil }
        }
        return nil
    }

    /// A host name in the form of patterns: ASCII in lower case, without a trailing dot. Nil for a text that cannot be
    /// one: empty, longer than 253 characters, not ASCII, with an empty label.
    package static func canonical(_ name: String) -> String? {
        var wasDot = true
        var isPlain = true
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                guard !wasDot else { return nil }
                wasDot = true
                continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): isPlain = false
            case 0x21...0x7E: break
            default: return nil
            }
            wasDot = false
        }
        let count = name.utf8.count
        guard count > 0, count <= (wasDot ? 254 : 253) else { return nil }
        if isPlain, !wasDot { return name }
        let lower = name.lowercased()
        return wasDot ? String(lower.dropLast()) : lower
    }
}

import PinWire

/// The effect on names that more than one pattern covers, or on pins that more than one host has.
enum OverlapLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.pool(check) + Self.overlaps(check)
    }

    /// The SDK for Apple's systems compares with the keys of the whole file.
    private static func pool(_ check: ClientCheck) -> [ClientFinding] {
        guard check.kind == .sslPinning, Set(check.pinned.map { Set($0.pins.map(\.pin)) }).count > 1 else { return [] }
        return [
            check.finding(
                .keysPooled, .differs,
                "On Apple's systems \(check.kind.title) accepts any pin of the file for any host: each of the \(check.pinned.count) hosts can present the keys of the others.",
                remedy: "Put hosts with other keys into a separate app, and so a separate file.")
        ]
    }

    /// How far a kind's entries reach below their names.
    private struct Depth {
        /// Whether a wildcard is an entry of its own, for one label.
        var takesWildcards = false
        /// The labels below a host that includes subdomains.
        var labels = Int.max
        var takesSubdomains = true
        var addsUp = false
        /// Whether a single name can be excepted.
        var excepts = false
    }

    /// Nil for kinds whose entries cover one name, or in which the nearest entry holds whatever it says.
    private static func depth(_ kind: ClientKind) -> Depth? {
        switch kind {
        case .okhttp: Depth(takesWildcards: true, addsUp: true)
        case .okhttp3, .sslPinning: Depth(takesWildcards: true, takesSubdomains: false, addsUp: true)
        case .reactNative: Depth(addsUp: true)
        case .appleATS: Depth(labels: 1)
        case .trustkitIOS: Depth(excepts: true)
        default: nil
        }
    }

    private static func overlaps(_ check: ClientCheck) -> [ClientFinding] {
        guard let depth = Self.depth(check.kind) else { return [] }
        var wildcards: [String: ClientView.Host] = [:]
        var subtrees: [String: [ClientView.Host]] = [:]
        let exact = check.pinned.filter { !$0.pattern.isWildcard }
        let byName = Dictionary(exact.map { ($0.pattern.name, $0) }) { first, _ in first }
        for host in check.pinned {
            let name = host.pattern.name
            if host.pattern.isWildcard, depth.takesWildcards { wildcards[name] = host }
            guard host.includesSubdomains, depth.takesSubdomains else { continue }
            // Without wildcards, one is written together with its exact pattern or not at all.
            if !host.pattern.isWildcard || depth.takesWildcards || byName[name]?.isSame(as: host) == true {
                subtrees[name, default: []].append(host)
            }
        }
        guard !wildcards.isEmpty || !subtrees.isEmpty else { return [] }
        let pinned = Set(check.pinned.map(\.pattern))
        var findings: [ClientFinding] = []
        /// Wider hosts that are reported already.
        var told: Set<HostPattern> = []
        for host in check.view.hosts {
            let wider = Self.wider(than: host.pattern, wildcards, subtrees, labels: depth.labels)
            if pinned.contains(host.pattern) {
                guard depth.addsUp else { continue }
                let own = Set(host.pins.map(\.pin))
                guard let other = wider.first(where: { !$0.pins.allSatisfy { own.contains($0.pin) } }) else { continue }
                findings.append(Self.sum(host, other, check))
            } else if check.kind != .sslPinning, !depth.excepts || host.includesSubdomains || host.pattern.isWildcard {
                // ssl-pinning has the pins of every host that has any, and refuses the others.
                for other in wider where told.insert(other.pattern).inserted {
                    findings.append(Self.exception(host, other, check))
                }
            }
        }
        return findings
    }

    /// The hosts whose entries also cover all names of a pattern, the nearest first.
    private static func wider(
        than pattern: HostPattern, _ wildcards: [String: ClientView.Host], _ subtrees: [String: [ClientView.Host]],
        labels: Int
    ) -> [ClientView.Host] {
        let above = NameLimits.above(pattern.name)
        var wider: [ClientView.Host] = []
        if !pattern.isWildcard, let parent = above.first, let host = wildcards[parent] { wider.append(host) }
        // The names of a wildcard are one label below its own.
        let names = pattern.isWildcard ? [pattern.name] + above : above
        for name in names.prefix(labels) { wider += subtrees[name] ?? [] }
        return wider.filter { $0.pattern != pattern }
    }

    private static func sum(
        _ host: ClientView.Host, _ other: ClientView.Host, _ check: ClientCheck
    ) -> ClientFinding {
        let place =
            switch check.kind {
            case .reactNative, .sslPinning: "On Android \(check.kind.title)"
            default: check.kind.title
            }
        return check.finding(
            .patternsAddUp, .differs, host: host,
            "\(place) combines the pins of all patterns that match a name: \(host.pattern) can also present the keys of \(other.pattern).",
            remedy: "Add separate hosts for the names that \(other.pattern) is meant for, or give both the same pins.")
    }

    private static func exception(
        _ host: ClientView.Host, _ other: ClientView.Host, _ check: ClientCheck
    ) -> ClientFinding {
        check.finding(
            .cannotExcept, .differs, host: other,
            "\(host.pattern) is not pinned here, but \(check.kind.title) cannot except it from \(other.pattern): other names below \(other.pattern.name) are left out with it.",
            remedy: "Add separate hosts for the names that \(other.pattern) is meant for.")
    }
}

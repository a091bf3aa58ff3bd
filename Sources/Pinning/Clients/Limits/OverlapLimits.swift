import PinWire

/// The effect on names that more than one pattern covers, or on pins that more than one host has.
enum OverlapLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        let names = check.profile.names
        // Where the nearest entry holds whatever it says, or each stands for one name, nothing overlaps.
        guard !names.exceptions.contains(.all), names.hasWildcards || names.subtree != nil else { return [] }
        var wildcards: [String: ClientView.Host] = [:]
        var subtrees: [String: [ClientView.Host]] = [:]
        let exact = check.pinned.filter { !$0.pattern.isWildcard }
        let byName = Dictionary(exact.map { ($0.pattern.name, $0) }) { first, _ in first }
        for host in check.pinned {
            let name = host.pattern.name
            if host.pattern.isWildcard, names.hasWildcards { wildcards[name] = host }
            guard host.includesSubdomains, names.subtree != nil else { continue }
            // Where there are no wildcards, one is written together with its exact pattern or not at all.
            if !host.pattern.isWildcard || names.hasWildcards || byName[name]?.isSame(as: host) == true {
                subtrees[name, default: []].append(host)
            }
        }
        guard !wildcards.isEmpty || !subtrees.isEmpty else { return [] }
        let pinned = Set(check.pinned.map(\.pattern))
        var findings: [ClientFinding] = []
        /// Wider hosts that are reported already.
        var told: Set<HostPattern> = []
        for host in check.view.hosts {
            let wider = Self.wider(than: host.pattern, wildcards, subtrees, labels: names.subtree == .all ? .max : 1)
            if pinned.contains(host.pattern) {
                guard names.overlap == .sum else { continue }
                let own = Set(host.pins.map(\.pin))
                guard let other = wider.first(where: { !$0.pins.allSatisfy { own.contains($0.pin) } }) else { continue }
                findings.append(Self.sum(host, other, check))
            } else if check.profile.unpinned != .refused,
                !names.exceptions.contains(.own) || host.includesSubdomains || host.pattern.isWildcard
            {
                // What has the pins of every host that has any, and refuses the others, needs no exceptions.
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
        let place = check.profile.title(on: check.profile.names.overlapsOn)
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
            "\(host.pattern) is not pinned here, but \(check.title) cannot except it from \(other.pattern): other names below \(other.pattern.name) are left out with it.",
            remedy: "Add separate hosts for the names that \(other.pattern) is meant for.")
    }
}

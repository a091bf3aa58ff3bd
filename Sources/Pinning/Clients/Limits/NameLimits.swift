import PinWire

/// Which names a kind can pin: wildcards, subdomains, names below a suffix.
enum NameLimits {
    static func findings(of check: ClientCheck, isPublicSuffix: (String) -> Bool) -> [ClientFinding] {
        let reach = check.pinned.compactMap { host in
            // An exact pattern and a wildcard of one name may become one entry together.
            host.pattern.isWildcard
                ? Self.wildcard(host, check.exactPattern(of: host), check)
                : host.includesSubdomains ? Self.subdomains(host, check) : nil
        }
        return reach + Self.registry(check, isPublicSuffix)
    }

    /// - Parameter exact: The exact pattern of the same name, if it has the same pins and mode.
    private static func wildcard(
        _ host: ClientView.Host, _ exact: ClientView.Host?, _ check: ClientCheck
    ) -> ClientFinding? {
        let names = check.profile.names
        guard names.hasWildcards || exact != nil && names.subtree != nil else { return Self.wildcard(host, check) }
        if names.subtree == .all, let exact {
            let isDeep = host.includesSubdomains || exact.includesSubdomains
            return isDeep || names.hasWildcards ? nil : Self.wildcard(host, check)
        }
        return host.includesSubdomains ? Self.subdomains(host, check) : nil
    }

    private static func wildcard(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding? {
        check.profile.names.wildcard.flatMap { Self.finding($0, .wildcard, host, check) }
    }

    private static func subdomains(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding? {
        check.profile.names.subdomains.flatMap { Self.finding($0, .subdomains, host, check) }
    }

    private static func finding(
        _ found: NameLimit, _ limit: ClientLimit, _ host: ClientView.Host, _ check: ClientCheck
    ) -> ClientFinding? {
        found.detail(host, check.title).map { detail in
            check.finding(
                found.limit ?? limit, found.severity ?? Self.severity(host, check), host: host, detail,
                remedy: found.remedy?(host.pattern.name)
                    ?? "Add a separate host for each name that clients connect to.")
        }
    }

    /// The severity where only known certificates are trusted for the names below one: where none is valid for all of
    /// them, they have others.
    private static func severity(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding.Severity {
        let known = host.pins.flatMap { check.given($0, at: host) }
        return known.contains { $0.dnsNames.contains("*.\(host.pattern.name)") } ? .differs : .breaks
    }

    /// Names at which the client throws when it starts.
    private static func registry(_ check: ClientCheck, _ isPublicSuffix: (String) -> Bool) -> [ClientFinding] {
        switch check.profile.suffix {
        case .none: return []
        case .topLevelDomain:
            return check.pinned.compactMap { host in
                let name = host.pattern.name
                let above = Self.above(name)
                guard above.isEmpty || !([name] + above).contains(where: isPublicSuffix) else { return nil }
                return check.finding(
                    .publicSuffix, .breaks, host: host,
                    "\(name) is not below a top-level domain, and \(check.title) throws at start if it is configured: the app crashes.",
                    remedy: "Serve \(name) under your own domain, or leave it out for these clients.")
            }
        case .publicSuffix(let isCaught):
            return check.pinned.filter { !Self.isBelowSuffix($0.pattern.name, isPublicSuffix) }.map { host in
                let name = host.pattern.name
                let end = isCaught ? "on iOS no host of the app is pinned" : "the app crashes"
                return check.finding(
                    .publicSuffix, isCaught ? .differs : .breaks, host: host,
                    "\(name) is not below a public suffix, and TrustKit throws at start if it is configured: \(end).",
                    remedy: "Serve \(name) under your own domain, or leave it out for these clients.")
            }
        }
    }

    /// Whether a name has a registrable part: it is not a public suffix and some name above it is.
    private static func isBelowSuffix(_ name: String, _ isPublicSuffix: (String) -> Bool) -> Bool {
        !isPublicSuffix(name) && Self.above(name).contains(where: isPublicSuffix)
    }

    /// The names above a name, the nearest first.
    static func above(_ name: String) -> [String] {
        var names: [String] = []
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            names.append(String(rest))
        }
        return names
    }
}

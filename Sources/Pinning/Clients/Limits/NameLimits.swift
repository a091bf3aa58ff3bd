import PinWire

/// The names that a kind can pin: wildcards, subdomains, names that TrustKit accepts.
enum NameLimits {
    static func findings(of check: ClientCheck, isPublicSuffix: (String) -> Bool) -> [ClientFinding] {
        let reach = check.pinned.compactMap { host in
            // An exact pattern and a wildcard of one name may become one entry together.
            host.pattern.isWildcard
                ? Self.wildcard(host, check.twin(of: host), check)
                : host.includesSubdomains ? Self.subdomains(host, check) : nil
        }
        return reach + Self.registry(check, isPublicSuffix)
    }

    private static let remedy = "Add a separate host for each name that clients connect to."

    /// - Parameter twin: The exact pattern of the same name, if it has the same pins and mode.
    private static func wildcard(
        _ host: ClientView.Host, _ twin: ClientView.Host?, _ check: ClientCheck
    ) -> ClientFinding? {
        let (pattern, name, title) = (host.pattern, host.pattern.name, check.kind.title)
        func finding(_ severity: ClientFinding.Severity, _ detail: String) -> ClientFinding {
            check.finding(.wildcard, severity, host: host, detail, remedy: Self.remedy)
        }
        let isDeep = host.includesSubdomains || twin?.includesSubdomains == true
        switch check.kind {
        case .sslPinning, .okhttp3: return host.includesSubdomains ? Self.subdomains(host, check) : nil
        case .okhttp:
            guard host.includesSubdomains, twin == nil else { return nil }
            return check.finding(
                .subdomains, .differs, host: host,
                "\(pattern) includes names at any depth, but OkHttp's **.\(name) would also pin \(name): names two or more labels below \(name) are left out.",
                remedy: "Add the host \(name) with the same pins, or add a separate host for each name.")
        case .appleATS:
            guard twin == nil else {
                return host.includesSubdomains ? Self.subdomains(host, check) : nil
            }
            return finding(
                .differs,
                "\(title) has no wildcards, and NSIncludesSubdomains of \(name) would also pin \(name): \(pattern) is left out and not pinned."
            )
        case .trustkitIOS, .trustkitAndroid, .androidNSC, .reactNative:
            guard twin == nil || !isDeep else { return nil }
            return finding(
                .differs,
                "\(title) has no wildcards, and subdomains of \(name) include \(name) and all names below it: \(pattern) is left out and not pinned."
            )
        case .flutter:
            return finding(
                .differs, "\(title) matches fingerprints by exact names: \(pattern) is left out and not pinned.")
        case .curl:
            return finding(
                .differs, "A curl command is for one name: \(pattern) is left out and not pinned.")
        case .remoteConfig:
            return finding(
                .differs,
                "These clients compare exact names, and never match \(pattern): it is not pinned."
            )
        case .netkit:
            return finding(.differs, "\(title) pins exact names: \(pattern) applies only to names that the app lists.")
        case .dynapins where check.settings.dynapins == .ed25519:
            guard !host.includesSubdomains else { return nil }
            return finding(
                .breaks,
                "Dynapins up to 0.1 applies \(pattern) to names at any depth below \(name): deeper names have no pins here, but it refuses them unless they present these keys."
            )
        case .dynapins:
            return finding(
                .breaks,
                "Dynapins 0.2 cannot use the pins of \(pattern): an app that is configured with it refuses every connection to a name that ends in \(name), unless the app also lists the name."
            )
        case .wultra, .muejam:
            return finding(
                Self.severity(host, check),
                "\(title) compares whole certificates: for \(pattern) it trusts only those known here, and refuses any other of the same key."
            )
        }
    }

    private static func subdomains(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding? {
        let (pattern, name, title) = (host.pattern, host.pattern.name, check.kind.title)
        func finding(_ severity: ClientFinding.Severity, _ detail: String) -> ClientFinding {
            check.finding(.subdomains, severity, host: host, detail, remedy: Self.remedy)
        }
        switch check.kind {
        case .trustkitIOS, .trustkitAndroid, .androidNSC, .okhttp: return nil
        case .reactNative:
            return finding(
                .notice,
                "React Native up to 0.64 has OkHttp 3, which accepts **.\(name) but never matches it: on Android such apps do not pin \(pattern)."
            )
        case .appleATS:
            return check.finding(
                .subdomainsOneLabel, .differs, host: host,
                "NSIncludesSubdomains covers names one label below \(name); deeper names are not pinned.",
                remedy: Self.remedy)
        case .okhttp3:
            return finding(
                .differs,
                "OkHttp 3 accepts **.\(name) but never matches it: names two or more labels below \(name) are left out and not pinned."
            )
        case .sslPinning:
            return finding(
                .differs, "A key of \(title) is for \(pattern): on Android deeper names are not pinned.")
        case .dynapins:
            return finding(
                .differs, "\(title) pins the names that an app lists: others below \(pattern) are not pinned.")
        case .wultra, .muejam:
            return finding(
                Self.severity(host, check),
                "\(title) compares whole certificates: below \(pattern) it trusts only those known here, and refuses any other of the same key."
            )
        case .remoteConfig, .netkit, .curl, .flutter:
            return finding(.differs, "\(title) pins exact names: names below \(pattern) are not pinned.")
        }
    }

    /// The severity where only known certificates are trusted for the names below one: where none is valid for all of
    /// them, they have others.
    private static func severity(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding.Severity {
        let known = host.pins.flatMap { check.given($0, at: host) }
        return known.contains { $0.dnsNames.contains("*.\(host.pattern.name)") } ? .differs : .breaks
    }

    /// Names at which TrustKit throws.
    private static func registry(_ check: ClientCheck, _ isPublicSuffix: (String) -> Bool) -> [ClientFinding] {
        switch check.kind {
        case .trustkitAndroid:
            // Its validator knows only top-level domains: it accepts a public suffix such as `co.uk` as a name.
            return check.pinned.compactMap { host in
                let name = host.pattern.name
                let above = Self.above(name)
                guard above.isEmpty || !([name] + above).contains(where: isPublicSuffix) else { return nil }
                return check.finding(
                    .publicSuffix, .breaks, host: host,
                    "\(name) is not below a top-level domain, and \(check.kind.title) throws at start if it is configured: the app crashes.",
                    remedy: "Serve \(name) under your own domain, or leave it out for these clients.")
            }
        case _ where check.isTrustKit:
            return check.pinned.filter { !Self.isBelowSuffix($0.pattern.name, isPublicSuffix) }.map { host in
                let name = host.pattern.name
                // Its users catch the exception, and the app goes on without pins.
                let isCaught = check.kind == .reactNative
                let end = isCaught ? "on iOS no host of the app is pinned" : "the app crashes"
                return check.finding(
                    .publicSuffix, isCaught ? .differs : .breaks, host: host,
                    "\(name) is not below a public suffix, and TrustKit throws at start if it is configured: \(end).",
                    remedy: "Serve \(name) under your own domain, or leave it out for these clients.")
            }
        default: return []
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

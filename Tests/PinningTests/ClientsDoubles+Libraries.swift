import PinWire
import Pinning

// Libraries and systems that several kinds of clients rest on.

/// What an exported file does with hosts that only report.
enum ReportingHosts { case reports, looksAway }

extension ClientView {
    /// The hosts of an app that was released while the modes that are off now were not.
    func released(_ reporting: ReportingHosts) -> [Host] {
        self.hosts.filter { host in
            guard !host.pins.isEmpty else { return false }
            return host.mode == .enforce || host.mode == .off || host.mode == .reportOnly && reporting == .reports
        }
    }
}

/// TrustKit for iOS as Dynapins uses it: exact names, enforcing.
struct TrustKit {
    private let domains: [String: [Pin]]

    /// Nil where it throws.
    init?(_ domains: [String: [Pin]], _ suffixes: Set<String>) {
        for (name, pins) in domains {
            // Nobody connects to a host whose name is `*.x`.
            let name = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
            guard Self.takes(name, suffixes), pins.count >= 2 else { return nil }
        }
        self.domains = domains
    }

    /// `GetRegistryLength` of its domain registry: nought for a registry, and for a name below none.
    static func takes(_ name: String, _ suffixes: Set<String>) -> Bool {
        guard !suffixes.contains(name) else { return false }
        let labels = name.split(separator: ".")
        return labels.indices.dropFirst().contains { suffixes.contains(labels[$0...].joined(separator: ".")) }
    }

    func accepts(_ connection: Connection) -> Bool {
        self.domains[connection.name].map { $0.contains { connection.pins.contains($0) } } ?? true
    }
}

/// Domains of which the nearest counts, each for one name or for that and all names below it: TrustKit's, and Android's
/// network security configuration.
struct DomainTable {
    struct Domain {
        var pins: [Pin]
        var includesSubdomains: Bool
        var isReporting: Bool
    }

    let domains: [String: Domain]

    init(_ view: ClientView, _ reporting: ReportingHosts) {
        let hosts = view.released(reporting)
        var domains: [String: Domain] = [:]
        for host in hosts where !host.pattern.isWildcard {
            let wildcard = hosts.first { $0.pattern.text == "*.\(host.pattern.name)" && $0.pins == host.pins }
            domains[host.pattern.name] = Domain(
                pins: host.pins.map(\.pin),
                includesSubdomains: host.includesSubdomains || wildcard?.includesSubdomains == true,
                isReporting: host.mode == .reportOnly)
        }
        self.domains = domains
    }

    /// - Parameter end: the date after which pins do not count.
    func deed(_ connection: Connection, ending end: Timestamp?) -> Deed {
        if let end, end <= connection.time { return .connects }
        var name = connection.name
        var domain = self.domains[name]
        while domain == nil, let dot = name.firstIndex(of: ".") {
            name = String(name[name.index(after: dot)...])
            if let above = self.domains[name], above.includesSubdomains { domain = above }
        }
        guard let domain, !domain.pins.contains(where: { connection.pins.contains($0) }) else { return .connects }
        return domain.isReporting ? .reports : .refuses
    }
}

/// OkHttp's `CertificatePinner`: the pins of every pattern that matches count.
struct OkHttp {
    enum Version { case three, four }

    private let patterns: [(pattern: String, pin: Pin)]
    private let isFour: Bool

    init(_ patterns: [(String, Pin)], isFour: Bool) {
        self.patterns = patterns.map { (pattern: $0.0, pin: $0.1) }
        self.isFour = isFour
    }

    /// With the patterns that come closest to an app's hosts.
    init(_ view: ClientView, _ version: Version) {
        let hosts = view.released(.looksAway)
        let patterns = hosts.flatMap { host -> [(String, Pin)] in
            let name = host.pattern.name
            let twin = hosts.contains { $0.pattern.name == name && $0.pattern != host.pattern && $0.pins == host.pins }
            let takesAll = host.includesSubdomains && (!host.pattern.isWildcard || twin)
            return host.pins.map { (takesAll && version == .four ? "**.\(name)" : host.pattern.text, $0.pin) }
        }
        self.init(patterns, isFour: version == .four)
    }

    /// `**.` is known since 4.3; before that it is taken and never matches.
    private func matches(_ pattern: String, _ name: String) -> Bool {
        if pattern.hasPrefix("**.") {
            let base = pattern.dropFirst(3)
            return self.isFour && (name == base || name.hasSuffix(".\(base)"))
        }
        guard pattern.hasPrefix("*.") else { return pattern == name }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name[dot...] == pattern.dropFirst(1)
    }

    func deed(_ connection: Connection) -> Deed {
        let pins = self.patterns.filter { self.matches($0.pattern, connection.name) }.map(\.pin)
        return pins.isEmpty || pins.contains { connection.pins.contains($0) } ? .connects : .refuses
    }
}

/// The store of Wultra's SDKs.
struct WultraStore {
    struct Entry: Hashable {
        var name: String
        var fingerprint: [UInt8]
        var expires: Timestamp
    }

    private(set) var entries: Set<Entry> = []

    /// What a server gives out: entries go by the common names of certificates.
    static func entries(of view: ClientView, days: Int64?) -> [Entry] {
        view.hosts.flatMap { host in
            host.pins.flatMap(\.certificates).compactMap { certificate in
                guard !certificate.isAuthority, let name = certificate.commonName else { return nil }
                let limit = days.map { view.now.adding(seconds: $0 * day) }
                return Entry(
                    name: name, fingerprint: certificate.sha256,
                    expires: limit.map { min($0, certificate.notAfter) } ?? certificate.notAfter)
            }
        }
    }

    /// Adds what is new to what has not expired; if nothing is left, everything stays as it was.
    mutating func update(_ new: [Entry], at now: Timestamp) {
        let merged = self.entries.union(new).filter { now < $0.expires }
        if !merged.isEmpty { self.entries = merged }
    }

    /// The leaf's common name to the letter, and its fingerprint; nothing else is looked at.
    func trusts(_ connection: Connection) -> Bool {
        guard let leaf = connection.chain.first, let name = leaf.commonName else { return false }
        return self.entries.contains {
            $0.name == name && $0.fingerprint == leaf.sha256 && connection.time < $0.expires
        }
    }
}

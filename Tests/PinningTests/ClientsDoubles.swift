import PinWire
import Pinning

/// What an install of each kind does with a connection, by the rules of `clients-and-formats`: after the client's own
/// code, and not after what this project renders.
///
/// Clients that are served fetched their pins at the connection's time. The others were released with what held on
/// ``monday``, before anything was switched off.
struct ClientDouble {
    var kind: ClientKind
    var settings: ClientSettings
    var suffixes: Set<String> = publicSuffixes

    func deed(_ app: ClientApp, _ connection: Connection) throws -> Deed {
        var view = try app.view(at: self.kind.isServed ? connection.time : monday)
        if self.kind == .remoteConfig || self.kind == .wultra, connection.saysVersion {
            view = try app.view(at: connection.time, version: connection.device.appVersion)
        }
        switch self.kind {
        case .dynapins:
            return self.settings.dynapins == .ed25519
                ? Self.firstPin(view, connection) : self.dynapins(view, connection)
        case .wultra: return self.wultra(view, connection)
        case .remoteConfig:
            return self.settings.schema == .simple ? Self.targets(view, connection) : Self.remote(view, connection)
        case .muejam: return Self.muejam(view, connection)
        case .netkit: return Self.netkit(view, connection)
        case .sslPinning: return Self.sslPinning(view, connection)
        case .trustkitIOS: return self.trustKit(view, connection)
        case .trustkitAndroid: return Self.trustKitAndroid(view, connection)
        case .appleATS: return Self.transportSecurity(view, connection)
        case .androidNSC: return DomainTable(view, .looksAway).deed(connection, ending: view.document.pinsValidUntil)
        case .okhttp: return OkHttp(view, .four).deed(connection)
        case .okhttp3: return OkHttp(view, .three).deed(connection)
        case .reactNative: return self.reactNative(view, connection)
        case .flutter: return Self.flutter(view, connection)
        case .curl: return Self.curl(view, connection)
        }
    }

    // MARK: Served

    /// Dynapins up to 0.1, configured with the host's pattern: `pins.first` against the leaf, and `*.x` for any depth.
    private static func firstPin(_ view: ClientView, _ connection: Connection) -> Deed {
        let host =
            view.hosts.first { $0.pattern.text == connection.name }
            ?? view.hosts.first { $0.pattern.isWildcard && connection.name.hasSuffix(".\($0.pattern.name)") }
        guard let host else { return .connects }
        // The service answers no fewer than two.
        guard host.pins.count >= 2 else { return .refuses }
        return host.pins[0].pin == connection.leafPin ? .connects : .refuses
    }

    /// Dynapins 0.2, configured with the host's pattern: hands what it got to TrustKit, which finds no wildcards.
    private func dynapins(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.hosts.first(where: { $0.pattern.text == connection.name }) else { return .connects }
        guard !host.pins.isEmpty else { return .refuses }
        guard let kit = TrustKit([host.pattern.text: host.pins.map(\.pin)], self.suffixes) else { return .crashes }
        return kit.accepts(connection) ? .connects : .refuses
    }

    private func wultra(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.host(for: connection.name) else { return .connects }
        if self.settings.understandsDomains, host.outcome == .off || host.outcome == .reportOnly { return .connects }
        var store = WultraStore()
        store.update(WultraStore.entries(of: view, days: self.settings.entryDays), at: view.now)
        return store.trusts(connection) ? .connects : .refuses
    }

    /// The simple schema: the app's own pins for exact names.
    private static func targets(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.hosts.first(where: { $0.pattern.text == connection.name }) else { return .connects }
        let isListed = view.document.fallback.hosts.contains(host.pattern)
        guard host.outcome == .builtin || host.outcome == .enforce && isListed else { return .connects }
        return connection.leafPin == pin(Connection.builtin) ? .connects : .refuses
    }

    /// The advanced schema: exact names, three places, whole per cent, the leaf alone.
    private static func remote(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.hosts.first(where: { $0.pattern.text == connection.name }) else { return .connects }
        var pins = host.pins
        switch host.outcome {
        case .off, .reportOnly: return .connects
        case .builtin where connection.lot < Self.percent(host, app: view.document.rollout): pins = host.candidate ?? []
        case .builtin: return connection.leafPin == pin(Connection.builtin) ? .connects : .refuses
        case .enforce: break
        }
        // A host without pins is left out, because nobody could read a configuration with it.
        let places = pins.prefix(3).map(\.pin)
        return places.isEmpty || places.contains { $0 == connection.leafPin } ? .connects : .refuses
    }

    /// Of those whose version is let in, if draws are all that the rollouts ask for.
    private static func percent(_ host: ClientView.Host, app: Rollout?) -> Int {
        let rollouts = [app, host.rollout].compactMap { $0 }
        guard host.candidate != nil, host.reason == .seedMissing,
            rollouts.allSatisfy({ $0.method == .percentage && $0.exclusions.isEmpty })
        else { return 0 }
        return rollouts.reduce(100) { $0 * $1.basisPoints / 10_000 }
    }

    /// Fingerprints of one host's certificates, against the leaf.
    private static func muejam(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.host(for: connection.name), let leaf = connection.chain.first else { return .connects }
        let known = host.pins.flatMap(\.certificates).filter { !$0.isAuthority && connection.time < $0.notAfter }
        return known.contains { $0.sha256 == leaf.sha256 } ? .connects : .refuses
    }

    /// Exact names, any certificate of the chain.
    private static func netkit(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.hosts.first(where: { $0.pattern.text == connection.name }) else { return .connects }
        switch host.outcome {
        case .off: return .connects
        case .builtin: return connection.pins.contains(pin(Connection.builtin)) ? .connects : .refuses
        case .enforce, .reportOnly:
            if host.pins.contains(where: { connection.pins.contains($0.pin) }) { return .connects }
            return host.outcome == .reportOnly ? .reports : .refuses
        }
    }

    /// One session for all of the app's hosts: on Apple's systems any key of the file, on Android OkHttp's patterns.
    private static func sslPinning(_ view: ClientView, _ connection: Connection) -> Deed {
        guard view.host(for: connection.name) != nil else { return .connects }
        switch connection.platform {
        case .ios:
            let all = view.hosts.flatMap(\.pins).map(\.pin)
            return all.contains { $0 == connection.leafPin } ? .connects : .refuses
        case .android:
            let patterns = view.hosts.flatMap { host in host.pins.map { (host.pattern.text, $0.pin) } }
            return OkHttp(patterns, isFour: true).deed(connection)
        }
    }

    // MARK: Built in

    private func trustKit(_ view: ClientView, _ connection: Connection) -> Deed {
        let table = DomainTable(view, .reports)
        let isTaken = table.domains.allSatisfy { name, domain in
            TrustKit.takes(name, self.suffixes) && (domain.isReporting || domain.pins.count >= 2)
        }
        guard isTaken else { return .crashes }
        return table.deed(connection, ending: view.document.pinsValidUntil)
    }

    private static func trustKitAndroid(_ view: ClientView, _ connection: Connection) -> Deed {
        let table = DomainTable(view, .reports)
        guard table.domains.values.allSatisfy({ $0.isReporting || $0.pins.count >= 2 }) else { return .crashes }
        return table.deed(connection, ending: view.document.pinsValidUntil)
    }

    /// On iOS TrustKit, whose objection leaves the app without pins; on Android OkHttp.
    private func reactNative(_ view: ClientView, _ connection: Connection) -> Deed {
        let table = DomainTable(view, .looksAway)
        if let end = view.document.pinsValidUntil, end <= connection.time { return .connects }
        switch connection.platform {
        case .ios:
            let isTaken = table.domains.allSatisfy { TrustKit.takes($0.key, self.suffixes) && $0.value.pins.count >= 2 }
            return isTaken ? table.deed(connection, ending: nil) : .connects
        case .android:
            let patterns = table.domains.flatMap { name, domain in
                domain.pins.map { (domain.includesSubdomains ? "**.\(name)" : name, $0) }
            }
            return OkHttp(patterns, isFour: true).deed(connection)
        }
    }

    /// `NSPinnedDomains`: one more label at most.
    private static func transportSecurity(_ view: ClientView, _ connection: Connection) -> Deed {
        let hosts = view.released(.looksAway)
        func entry(_ name: String, isBelow: Bool) -> ClientView.Host? {
            hosts.first { host in
                guard host.pattern.text == name else { return false }
                let wildcard = hosts.first { $0.pattern.text == "*.\(name)" }
                return !isBelow || host.includesSubdomains || wildcard?.pins == host.pins
            }
        }
        let rest = connection.name.split(separator: ".", maxSplits: 1).last.map(String.init) ?? ""
        guard let host = entry(connection.name, isBelow: false) ?? entry(rest, isBelow: true) else { return .connects }
        return host.pins.contains { connection.pins.contains($0.pin) } ? .connects : .refuses
    }

    /// The app asks with the fingerprints of the host that it connects to.
    private static func flutter(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.host(for: connection.name), let leaf = connection.chain.first,
            view.released(.looksAway).contains(where: { $0.pattern == host.pattern })
        else { return .connects }
        let known = host.pins.flatMap(\.certificates).filter { !$0.isAuthority }
        return known.contains { $0.sha256 == leaf.sha256 } ? .connects : .refuses
    }

    /// One command for one name; the leaf alone.
    private static func curl(_ view: ClientView, _ connection: Connection) -> Deed {
        guard let host = view.released(.looksAway).first(where: { $0.pattern.text == connection.name }) else {
            return .connects
        }
        return host.pins.contains { $0.pin == connection.leafPin } ? .connects : .refuses
    }
}

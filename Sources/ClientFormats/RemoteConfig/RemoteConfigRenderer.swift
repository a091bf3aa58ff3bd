import PinWire
import Pinning

/// A value's statement about one host's rollout.
enum RemoteConfigExposure: Hashable, Sendable {
    /// Every device gets the baseline.
    case baseline
    /// Every device gets the candidate.
    case candidate
    /// So many per cent of devices, 1 to 99, get the candidate; the client draws.
    case share(Int)

    var arm: PolicyArm { self == .baseline ? .baseline : .candidate }
}

/// Writes values for one view, in one schema.
struct RemoteConfigRenderer: Sendable {
    let view: ClientView
    let schema: RemoteConfigSchema
    let hash: RemoteConfigHash
    private(set) var hosts: [RemoteConfigHost]
    /// Whether devices that would have to be chosen get the baseline.
    private(set) var isWithholding = false
    /// The hosts that the app has pins for, and the index of the host that covers each in the document.
    private let shipped: [(pattern: HostPattern, place: Int?)]

    /// A version that no app is below: these clients do not pin at all in older apps, which a version gate does not ask
    /// for.
    private static let noMinimum = "0.0.0"

    init(_ view: ClientView, _ settings: ClientSettings) {
        self.view = view
        self.schema = settings.schema
        self.hash = settings.hash
        self.hosts = RemoteConfigHost.all(of: view)
        let places = Dictionary(self.hosts.enumerated().map { ($1.pattern, $0) }) { first, _ in first }
        let evaluator = Evaluator(view.document)
        self.shipped = view.document.fallback.hosts.map { pattern in
            if let place = places[pattern] { return (pattern, place) }
            guard !pattern.isWildcard else { return (pattern, nil) }
            return (pattern, evaluator.decide(pattern.name, for: Device(), at: view.now).pattern.flatMap { places[$0] })
        }
    }

    /// The same once the hosts' kill switches that end by some time are over.
    func after(_ end: Timestamp) -> Self {
        var later = self
        for place in self.hosts.indices {
            if let until = self.hosts[place].switchedOffUntil, until <= end {
                later.hosts[place].switchedOffUntil = nil
            }
        }
        return later
    }

    /// The same without rollouts to some devices.
    var withholdingRollouts: Self {
        var rest = self
        rest.isWithholding = true
        return rest
    }

    /// Pinning is off: a text that both schemas' clients read so, whichever of the two they decode.
    var killed: OrderedJSON {
        switch self.schema {
        case .simple: ["enabled": false, "target_hosts": [], "min_app_version": "1.0.0"]
        case .advanced:
            [
                "enabled": false, "rollout_percentage": 0, "min_app_version": "1.0.0", "target_hosts": [], "hosts": [:],
                "rollout_strategy": Self.strategy(.deviceID),
                "fallback": ["use_builtin_pins": false, "builtin_pin_hosts": []], "monitoring": self.monitoring,
            ]
        }
    }

    /// The value in which each host's rollout has reached its element of `exposures`, in the hosts' order.
    func value(_ exposures: [RemoteConfigExposure]) -> OrderedJSON {
        switch self.schema {
        case .simple:
            [
                "enabled": true, "target_hosts": .array(self.builtin(exposures).map { .string($0.text) }),
                "min_app_version": .string(Self.noMinimum),
            ]
        case .advanced: self.advanced(exposures)
        }
    }

    private func advanced(_ exposures: [RemoteConfigExposure]) -> OrderedJSON {
        var members: [OrderedJSON.Member] = []
        var seed: Rollout.Seed?
        for (host, exposure) in zip(self.hosts, exposures) {
            if case .share = exposure, seed == nil {
                seed = host.rollout?.seed.first ?? self.view.document.rollout?.seed.first
            }
            if let entry = self.entry(host, exposure) {
                members.append(OrderedJSON.Member(host.pattern.text, entry))
            }
        }
        let builtin = self.builtin(exposures)
        return [
            // All devices: these clients do not pin at all outside.
            "enabled": true, "rollout_percentage": 100, "min_app_version": .string(Self.noMinimum),
            "hosts": .object(members), "rollout_strategy": Self.strategy(seed ?? .deviceID),
            "fallback": [
                "use_builtin_pins": .bool(!builtin.isEmpty || self.view.document.fallback.usesBuiltinPins),
                "builtin_pin_hosts": .array(builtin.map { .string($0.text) }),
            ],
            "monitoring": self.monitoring,
        ]
    }

    /// A host's entry; nil where its absence from the value says that no remote pins hold.
    private func entry(_ host: RemoteConfigHost, _ exposure: RemoteConfigExposure) -> OrderedJSON? {
        guard let policy = host.policy(exposure.arm) else { return nil }
        let unknown = policy.pins.filter { self.hash.text(of: $0) == nil }
        // Without a served key every connection would be refused.
        let known =
            unknown.contains { $0.isServed || $0.role == .primary } ? [] : policy.pins.filter { !unknown.contains($0) }
        guard let pins = RemoteConfigSlots(known)?.json(self.hash) else { return nil }
        // A host that only reports lets every connection through: disabling it keeps that, and enforcing its pins would
        // not. What is lost are reports, which these clients do not send.
        let isEnabled = policy.mode == .enforce && !host.isSwitchedOff
        var percent: Int64 = isEnabled ? 100 : 0
        if case .share(let share) = exposure, isEnabled { percent = Int64(share) }
        // Strict clients in Swift read the second spelling, all others the first.
        return [
            "enabled": .bool(isEnabled), "pins": pins, "rollout_percentage": .integer(percent),
            "rolloutPercentage": .integer(percent),
        ]
    }

    /// The hosts for which the app's own pins hold wherever remote ones do not, in order. The clients use those for
    /// every host that is disabled, unknown or outside its rollout: a host whose pins are to be ignored must not be
    /// among them.
    private func builtin(_ exposures: [RemoteConfigExposure]) -> [HostPattern] {
        /// Nil where built-in pins hold only if the app is known to have some.
        func holds(_ place: Int) -> Bool? {
            let host = self.hosts[place]
            if host.isSwitchedOff { return false }
            if case .share = exposures[place] { return host.baseline == nil }
            switch host.policy(exposures[place].arm)?.mode {
            case nil: return true
            case .enforce: return nil
            case .reportOnly, .off: return false
            }
        }
        var patterns = Set(self.hosts.indices.filter { holds($0) == true }.map { self.hosts[$0].pattern })
        for (pattern, place) in self.shipped {
            guard let place else {
                if self.view.document.fallback.usesBuiltinPins { patterns.insert(pattern) }
                continue
            }
            // The simple schema enforces only the app's own pins, even when a document is available.
            if holds(place) ?? (self.view.document.fallback.usesBuiltinPins || self.schema == .simple) {
                patterns.insert(pattern)
            }
        }
        return patterns.sorted()
    }

    /// `sticky` is always true: without it the clients draw again whenever the app starts.
    private static func strategy(_ seed: Rollout.Seed) -> OrderedJSON {
        ["method": "percentage", "seed": .string(seed.rawValue), "sticky": true]
    }

    private var monitoring: OrderedJSON {
        let monitoring = self.view.document.monitoring
        return [
            "enabled": .bool(monitoring.isEnabled),
            "failure_threshold": .hundredths(Int64(monitoring.failureThreshold)),
            "auto_disable": .bool(monitoring.autoDisables),
        ]
    }
}

package import PinWire

/// What an app is to be: the parts of its state that its owner keeps in a file.
///
/// A part that a spec does not mention is left as it is, unless the plan prunes (``AppSpec/plan(for:_:prunes:)``). What a person
/// or the server does by itself is no part of any spec: kill switches, rotations, plans of rollouts, revoked pins.
package struct AppSpec: Hashable, Sendable {
    package var displayName: String?
    /// What sets the app's own settings: version gate, rollout, fallback, monitoring, the time until which its pins are valid.
    package var settings: [AppCommand]
    package var isArchived: Bool?
    /// All guard rails that only warn for the app; nil for no word about them.
    package var loweredRails: Set<GuardRail>?
    /// All kinds of clients; nil for no word about them.
    package var clients: [ClientKind: ClientSettings]?
    /// All hosts, in order; nil for no word about them.
    package var hosts: [HostSpec]?

    package init(
        displayName: String? = nil, settings: [AppCommand] = [], isArchived: Bool? = nil,
        loweredRails: Set<GuardRail>? = nil, clients: [ClientKind: ClientSettings]? = nil, hosts: [HostSpec]? = nil
    ) {
        self.displayName = displayName
        self.settings = settings
        self.isArchived = isArchived
        self.loweredRails = loweredRails
        self.clients = clients
        self.hosts = hosts
    }
}

/// What a host of an app is to be.
package struct HostSpec: Hashable, Sendable {
    package enum Baseline: Hashable, Sendable {
        case builtin
        case policy(PolicySpec)
    }

    package enum Candidate: Hashable, Sendable {
        /// The spec does not mention any.
        case unmentioned
        /// There is to be none.
        case none
        case policy(PolicySpec)
    }

    package var pattern: HostPattern
    package var includesSubdomains: Bool?
    package var baseline: Baseline
    package var candidate: Candidate
    /// What sets the host's rollout, and the services to probe.
    package var settings: [AppCommand]

    package init(
        pattern: HostPattern, includesSubdomains: Bool?, baseline: Baseline, candidate: Candidate = .unmentioned,
        settings: [AppCommand] = []
    ) {
        self.pattern = pattern
        self.includesSubdomains = includesSubdomains
        self.baseline = baseline
        self.candidate = candidate
        self.settings = settings
    }
}

/// What one policy of a host is to be.
package struct PolicySpec: Hashable, Sendable {
    package var mode: PinMode
    /// All pins in use; nil for no word about them.
    package var pins: [AppCommand.NewPin]?

    package init(mode: PinMode, pins: [AppCommand.NewPin]?) {
        self.mode = mode
        self.pins = pins
    }
}

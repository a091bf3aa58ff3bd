package import PinWire

/// What a host asks of clients: a mode, and the pins that go with it.
package struct Policy: Hashable, Sendable {
    package var mode: PinMode
    /// Every pin this policy ever had, by digest; only active ones are published.
    package var pins: SortedMap<Pin, PinRecord>

    package init(mode: PinMode, pins: SortedMap<Pin, PinRecord> = [:]) {
        self.mode = mode
        self.pins = pins
    }

    /// The published pins.
    package var activePins: [(pin: Pin, role: PinRole)] {
        self.pins.filter { $0.value.state == .active }.map { ($0.key, $0.value.role) }
    }

    /// Whether an active pin stands in reserve.
    package var hasActiveReserve: Bool { self.pins.values.contains { $0.state == .active && $0.role.isReserve } }
}

/// Where a pin stands in its life.
package enum PinState: String, CaseIterable, Sendable, Hashable {
    /// Recorded and not published.
    case staged
    /// Published.
    case active
    /// No longer published.
    case retired
    /// Compromised; never to be published again.
    case revoked

    /// Whether the pin can still come to be published without being added anew.
    package var isInUse: Bool { self == .staged || self == .active }
}

/// What is known of one pin of one policy.
package struct PinRecord: Hashable, Sendable {
    package var role: PinRole
    package var state: PinState
    /// What people should know of it, such as where the key is kept.
    package var note: String?
    /// When it came into its state.
    package var since: Timestamp

    package init(role: PinRole, state: PinState, note: String?, since: Timestamp) {
        self.role = role
        self.state = state
        self.note = note
        self.since = since
    }
}

/// Which of a host's two policies is meant.
package enum PolicySlot: String, CaseIterable, Sendable, Hashable {
    /// What devices outside the rollout get.
    case baseline
    /// What devices inside the rollout get.
    case candidate
}

/// What devices outside a rollout get.
package enum Baseline: Hashable, Sendable {
    /// The pins shipped in the app.
    case builtin
    case policy(Policy)
}

package import PinWire

/// A host's requirements of clients: a mode, and the pins that go with it.
package struct Policy: Hashable, Sendable {
    package var mode: PinMode
    /// Every pin this policy ever had, by digest; only active ones are published.
    package var pins: SortedMap<Pin, PinRecord>
    /// The pins that were published when it stopped to enforce, in order; none where it enforces, or never did.
    package var lastEnforced: [Pin] = []

    package init(mode: PinMode, pins: SortedMap<Pin, PinRecord> = [:]) {
        self.mode = mode
        self.pins = pins
    }

    /// The published pins.
    package var activePins: [(pin: Pin, role: PinRole)] {
        self.pins.filter { $0.value.state == .active }.map { ($0.key, $0.value.role) }
    }

    /// Sets another mode.
    mutating func set(_ mode: PinMode) {
        if self.mode == .enforce, mode != .enforce { self.lastEnforced = self.activePins.map(\.pin) }
        if mode == .enforce { self.lastEnforced = [] }
        self.mode = mode
    }

    /// The published pins that another policy does not publish, in order.
    func lost(to other: Policy?) -> [Pin] {
        let remaining = Set(other?.activePins.map(\.pin) ?? [])
        return self.activePins.map(\.pin).filter { !remaining.contains($0) }
    }

    /// Notes that devices of another policy get this one from now on: to them, its pins are published only now, except
    /// those that they had.
    mutating func takeOver(_ other: Policy, at time: Timestamp, by version: Int64) {
        for (pin, record) in self.pins where record.state == .active {
            let known = other.pins[pin].flatMap { $0.state == .active ? $0 : nil }
            self.pins[pin]?.since = max(record.since, known?.since ?? time)
            self.pins[pin]?.publishedBy = max(record.publishedBy, known?.publishedBy ?? version)
        }
    }

    /// Whether an active pin is in reserve.
    package var hasActiveReserve: Bool { self.pins.values.contains { $0.state == .active && $0.role.isReserve } }
}

/// The state of a pin's life.
package enum PinState: String, CaseIterable, Sendable, Hashable {
    /// Recorded and not published.
    case staged
    /// Published.
    case active
    /// No longer published.
    case retired
    /// Compromised; never to be published again.
    case revoked

    /// Whether the pin can still be published without being added again.
    package var isInUse: Bool { self == .staged || self == .active }
}

/// The facts of one pin of one policy.
package struct PinRecord: Hashable, Sendable {
    package var role: PinRole
    package var state: PinState
    /// A note for people, such as where the key is kept.
    package var note: String?
    /// When it reached its state; for an active one, since when all the policy's devices are to get it.
    package var since: Timestamp
    /// The app's version since which it is published to all of them, or was last; 0 where it never was.
    package var publishedBy: Int64

    package init(role: PinRole, state: PinState, note: String?, since: Timestamp, publishedBy: Int64 = 0) {
        self.role = role
        self.state = state
        self.note = note
        self.since = since
        self.publishedBy = publishedBy
    }
}

/// One of a host's two policies, which are the two that a device can get.
package typealias PolicySlot = PolicyArm

/// The policy of devices outside a rollout.
package enum Baseline: Hashable, Sendable {
    /// The pins shipped in the app.
    case builtin
    case policy(Policy)
}

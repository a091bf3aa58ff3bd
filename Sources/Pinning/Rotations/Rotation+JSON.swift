package import PinWire

extension Rotation.Goals {
    package var json: JSON {
        [
            "adoption_basis_points": .integer(Int64(self.adoption)),
            "minimum_wait_seconds": .integer(self.minimumWait),
            "sufficient_wait_seconds": .integer(self.sufficientWait),
            "settling_seconds": .integer(self.settling),
        ]
    }

    /// Reads the given members, and takes the rest from `defaults`.
    package init(_ field: JSONField?, defaults: Rotation.Goals) throws(JSONDefect) {
        self = defaults
        guard let field else { return }
        let year: ClosedRange<Int64> = 0...31_536_000
        self = try field.object { (m) throws(JSONDefect) in
            var goals = defaults
            if let share = m.optional("adoption_basis_points") { goals.adoption = Int(try share.integer(1...10_000)) }
            if let wait = m.optional("minimum_wait_seconds") { goals.minimumWait = try wait.integer(year) }
            if let wait = m.optional("sufficient_wait_seconds") { goals.sufficientWait = try wait.integer(year) }
            if let time = m.optional("settling_seconds") { goals.settling = try time.integer(year) }
            return goals
        }
    }
}

extension Rotation {
    /// The settings at its start: the data of the event.
    var startMembers: [String: JSON] {
        [
            "rotation": .string(self.id),
            "kind": .string(self.kind.rawValue),
            "hosts": .array(self.hosts.map { .string($0.text) }),
            "next": .string(self.next.description),
            "next_is_new": .bool(self.isNextNew),
            "old": .array(self.old.map { .string($0.description) }),
            "goals": self.goals.json,
            "started_at": .string(self.startedAt.rfc3339),
        ]
    }

    /// Reads ``json``.
    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var rotation = try Rotation(start: &m)
            rotation.phase = try m.required("phase").oneOf(Phase.self)
            rotation.phaseSince = try m.required("phase_since").timestamp()
            rotation.abortedIn = try m.optional("aborted_in")?.oneOf(Phase.self)
            return rotation
        }
    }

    /// Reads ``startMembers``: a rotation in its first phase.
    init(start m: inout JSONMembers) throws(JSONDefect) {
        var hosts: [HostPattern] = []
        for host in try m.required("hosts").elements(atMost: Rotation.hostLimit) {
            hosts.append(try host.parse(HostPattern.init))
        }
        var old: [Pin] = []
        for pin in try m.required("old").elements(atMost: Rotation.hostLimit * App.pinLimit) {
            old.append(try pin.parse(Pin.init(text:)))
        }
        self.init(
            id: try m.required("rotation").string(), kind: try m.required("kind").oneOf(Kind.self), hosts: hosts,
            next: try m.required("next").parse(Pin.init(text:)), isNextNew: try m.required("next_is_new").bool(),
            old: old, goals: try Goals(try m.required("goals"), defaults: Goals()),
            startedAt: try m.required("started_at").timestamp()
        )
    }

    /// The rotation as it stands.
    package var json: JSON {
        var members = self.startMembers
        members["phase"] = .string(self.phase.rawValue)
        members["phase_since"] = .string(self.phaseSince.rfc3339)
        members["aborted_in"] = self.abortedIn.map { .string($0.rawValue) }
        return .object(members)
    }
}

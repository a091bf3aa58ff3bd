package import PinWire

// The events of a rotation's commands. The guard rails judge whether it is time for them.

extension App {
    /// The rotation of that name.
    package func rotation(_ id: String) -> Rotation? { self.rotations.first { $0.id == id } }

    /// The rotation that is under way for a host; at most one is.
    package func openRotation(of pattern: HostPattern) -> Rotation? {
        self.rotations.first { !$0.phase.isOver && $0.hosts.contains(pattern) }
    }

    /// The most rotations of one app at one time.
    static let openRotationLimit = 100

    /// The first phase: the next key becomes an active backup of every host, in every policy that has pins.
    func start(_ new: AppCommand.NewRotation, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard self.rotation(new.id) == nil else { throw .rotationExists(new.id) }
        guard self.rotations.count(where: { !$0.phase.isOver }) < Self.openRotationLimit else {
            throw .tooManyRotations(limit: Self.openRotationLimit)
        }
        var old: Set<Pin> = []
        var isNew = true
        var pins: [AppEvent] = []
        for pattern in new.hosts {
            guard let host = self.hosts[pattern] else { throw .hostUnknown(pattern) }
            guard let baseline = host[.baseline] else { throw .baselineIsBuiltin(pattern) }
            if let other = self.openRotation(of: pattern) { throw .rotationUnderWay(pattern, other.id) }
            let replaced = new.compromised.map { [$0] } ?? baseline.activePins.filter { $0.role == .primary }.map(\.pin)
            let leaving = replaced.filter { baseline.pins[$0]?.state == .active }
            if leaving.contains(new.next.pin) { try context.refuse(CommandRails.sameKey(new.next.pin)) }
            guard !leaving.isEmpty else { throw .rotationWithoutOldKey(pattern) }
            old.formUnion(leaving)
            for slot in PolicySlot.allCases {
                guard let policy = host[slot] else { continue }
                switch policy.pins[new.next.pin]?.state {
                case .active?: isNew = false
                case .staged?:
                    isNew = false
                    pins.append(.pinActivated(pattern, slot, new.next.pin))
                case .retired?, .revoked?, nil:
                    var next = new.next
                    next.isActive = true
                    // The facts about the key are recorded once, below.
                    next.evidence = nil
                    pins += try self.additions([next], to: policy, pattern, slot, in: context)
                }
            }
        }
        let rotation = Rotation(
            id: new.id, kind: new.kind, hosts: new.hosts.sorted(), next: new.next.pin, isNextNew: isNew,
            old: old.sorted(), goals: new.goals, startedAt: context.now
        )
        let description = new.next.evidence.flatMap(self.description).map { [$0] } ?? []
        return [.rotationStarted(rotation)] + pins + description
    }

    /// The end of a phase, and the beginning of the next one.
    func advance(
        _ id: String, from expected: Rotation.Phase?, in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        let rotation = try self.open(id)
        if let expected, expected != rotation.phase { throw .rotationPhase(id, rotation.phase) }
        guard let phase = rotation.phase.next(in: rotation.kind) else { throw .rotationPhase(id, rotation.phase) }
        var events: [AppEvent] = [.rotationAdvanced(id, phase)]
        guard phase != .done else { return events }
        for (pattern, slot, policy) in self.policies(of: rotation) {
            // The next key may have been removed meanwhile.
            guard let next = policy.pins[rotation.next], next.state == .active else {
                throw .rotationWithoutNextKey(pattern, id)
            }
            let old = rotation.old.filter { policy.pins[$0]?.state == .active }
            if phase == .settle || phase == .cleanUp, next.role != .primary {
                events.append(.pinRoleSet(pattern, slot, rotation.next, .primary))
            }
            switch phase {
            case .settle:
                events += old.filter { policy.pins[$0]?.role == .primary }.map {
                    .pinRoleSet(pattern, slot, $0, .backup)
                }
            case .cleanUp where rotation.kind == .emergency:
                try context.requireReason("it revokes a compromised key's pin")
                events += old.map { .pinRevoked(pattern, slot, $0) }
            case .cleanUp: events += old.map { .pinRetired(pattern, slot, $0) }
            case .deliver, .switch, .done, .aborted: break
            }
        }
        return events
    }

    /// Its end before its time. Published pins stay, except a next key that came with the rotation and is not in
    /// service.
    func abort(_ id: String, keepsNext: Bool) throws(Refusal) -> [AppEvent] {
        let rotation = try self.open(id)
        var events: [AppEvent] = [.rotationAborted(id)]
        guard !keepsNext, rotation.isNextNew, rotation.phase == .deliver || rotation.phase == .switch else {
            return events
        }
        for (pattern, slot, policy) in self.policies(of: rotation)
        where policy.pins[rotation.next]?.state == .active {
            events.append(.pinRetired(pattern, slot, rotation.next))
        }
        return events
    }

    private func open(_ id: String) throws(Refusal) -> Rotation {
        guard let rotation = self.rotation(id) else { throw .rotationUnknown(id) }
        guard !rotation.phase.isOver else { throw .rotationPhase(id, rotation.phase) }
        return rotation
    }

    /// Every policy with pins of the rotation's hosts. A host that was removed meanwhile is left out.
    package func policies(of rotation: Rotation) -> [(pattern: HostPattern, slot: PolicySlot, policy: Policy)] {
        rotation.hosts.flatMap { pattern in
            PolicySlot.allCases.compactMap { slot in
                self.hosts[pattern]?[slot].map { (pattern, slot, $0) }
            }
        }
    }
}

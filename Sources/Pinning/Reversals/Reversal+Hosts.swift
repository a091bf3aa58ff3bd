import PinWire

extension Reversal {
    /// Puts one host back.
    mutating func addHost(
        _ pattern: HostPattern, _ before: Host?, _ after: Host?, _ present: Host?
    ) throws(Refusal) {
        switch (before, after) {
        case (nil, nil): return
        case (nil, let after?):
            self.put(.host(pattern), nil, HostContent(after), present.map(HostContent.init)) { _ in
                .removeHost(pattern)
            }
        case (let before?, nil):
            guard self.isToPut(.host(pattern), HostContent(before), nil, present.map(HostContent.init)) else { return }
            self.addBack(before, as: pattern)
        case (let before?, let after?):
            try self.addParts(of: pattern, before, after, present)
        }
    }

    /// Adds a host that was removed, with the pins that were in use.
    private mutating func addBack(_ host: Host, as pattern: HostPattern) {
        let baseline = host[.baseline]
        self.commands.append(
            .addHost(
                pattern, includesSubdomains: host.includesSubdomains, mode: baseline?.mode,
                pins: baseline.map { self.pinsInUse(of: $0, pattern, .baseline) } ?? []))
        if let candidate = host.candidate { self.start(candidate, of: pattern, host) }
        if let endpoints = host.endpoints { self.commands.append(.setEndpoints(pattern, endpoints)) }
        if let killSwitch = host.killSwitch {
            if killSwitch.isInForce(at: self.now) {
                self.commands.append(.engageKillSwitch(pattern, expiresAt: killSwitch.expiresAt))
            } else {
                self.keep(.killSwitch(pattern), .expired)
            }
        }
    }

    private mutating func start(_ candidate: Policy, of pattern: HostPattern, _ host: Host) {
        self.commands.append(
            .startCandidate(
                pattern, mode: candidate.mode, copiesBaseline: false,
                pins: self.pinsInUse(of: candidate, pattern, .candidate)))
        if let rollout = host.rollout { self.commands.append(.setHostRollout(pattern, rollout)) }
        if host.rolledBackAt != nil {
            self.commands.append(.rollout(pattern, .rollBack(.requested, detail: nil)))
        }
        if host.plan?.isUnderWay == true { self.keep(.plan(pattern), .planEnded) }
    }

    /// The pins that can be published, as a policy with the same content begins. One that was revoked since, or before in another
    /// policy, stays out.
    private mutating func pinsInUse(
        of policy: Policy, _ pattern: HostPattern, _ slot: PolicySlot
    ) -> [AppCommand.NewPin] {
        var pins: [AppCommand.NewPin] = []
        for (pin, record) in policy.pins.sorted(by: { $0.key < $1.key }) where record.state.isInUse {
            guard !self.revoked.contains(pin) else {
                self.keep(.pin(pattern, slot, pin), .revoked)
                continue
            }
            pins.append(
                AppCommand.NewPin(pin: pin, role: record.role, isActive: record.state == .active, note: record.note))
        }
        return pins
    }

    private mutating func addParts(
        of pattern: HostPattern, _ before: Host, _ after: Host, _ present: Host?
    ) throws(Refusal) {
        if before[.baseline] == nil, after[.baseline] != nil { throw .notRevertible(.builtinBaseline(pattern)) }
        guard let present else {
            if HostContent(before) != HostContent(after) { self.conflicts.append(.host(pattern)) }
            return
        }
        self.put(
            .subdomains(pattern), before.includesSubdomains, after.includesSubdomains, present.includesSubdomains
        ) { .setSubdomains(pattern, includesSubdomains: $0) }
        self.put(.endpoints(pattern), before.endpoints, after.endpoints, present.endpoints) {
            .setEndpoints(pattern, $0)
        }
        self.addPolicy(.baseline, of: pattern, before, after, present)
        self.addCandidate(of: pattern, before, after, present)
        self.putKillSwitch(
            .killSwitch(pattern), before.killSwitch, after.killSwitch, present.killSwitch,
            { .engageKillSwitch(pattern, expiresAt: $0) }, .releaseKillSwitch(pattern))
    }

    /// A candidate with its rollout: both begin and end together.
    private mutating func addCandidate(of pattern: HostPattern, _ before: Host, _ after: Host, _ present: Host) {
        if before.candidate != nil, after.candidate != nil {
            guard present.candidate != nil else {
                if HostContent(before).candidate != HostContent(after).candidate {
                    self.conflicts.append(.candidate(pattern))
                }
                return
            }
            self.addPolicy(.candidate, of: pattern, before, after, present)
            return self.putRollout(
                pattern, Exposure(before.rollout, before.rolledBackAt), Exposure(after.rollout, after.rolledBackAt),
                Exposure(present.rollout, present.rolledBackAt)
            ) { .setHostRollout(pattern, $0) }
        }
        let contents = [before, after, present].map { HostContent($0).candidate }
        guard self.isToPut(.candidate(pattern), contents[0], contents[1], contents[2]) else { return }
        if let candidate = before.candidate {
            self.start(candidate, of: pattern, before)
        } else {
            self.commands.append(.dropCandidate(pattern))
        }
    }

    private mutating func addPolicy(
        _ slot: PolicySlot, of pattern: HostPattern, _ before: Host, _ after: Host, _ present: Host
    ) {
        guard let before = before[slot], let after = after[slot] else { return }
        guard let present = present[slot] else {
            // The host was removed meanwhile and added again with its built-in pins.
            if PolicyContent(before) != PolicyContent(after) { self.conflicts.append(.host(pattern)) }
            return
        }
        self.put(.mode(pattern, slot), before.mode, after.mode, present.mode) { .setMode(pattern, slot, $0) }
        let pins = Set(before.pins.keys).union(after.pins.keys)
        for pin in pins.sorted() {
            self.addPin(pin, slot, of: pattern, before.pins[pin], after.pins[pin], present.pins[pin])
        }
    }

    private mutating func addPin(
        _ pin: Pin, _ slot: PolicySlot, of pattern: HostPattern, _ before: PinRecord?, _ after: PinRecord?,
        _ present: PinRecord?
    ) {
        let (was, became) = (PinStanding(before), PinStanding(after))
        guard was != became else { return }
        if became == .revoked { return self.keep(.pin(pattern, slot, pin), .revoked) }
        guard self.isToPut(.pin(pattern, slot, pin), was, became, PinStanding(present)) else { return }
        if case .inUse(_, let isActive) = became, case .inUse(let role, isActive) = was {
            self.commands.append(.setPinRole(pattern, slot, pin, role))
            return
        }
        if case .inUse = became { self.commands.append(.retirePin(pattern, slot, pin)) }
        if case .inUse(let role, let isActive) = was {
            let new = AppCommand.NewPin(pin: pin, role: role, isActive: isActive, note: before?.note)
            self.commands.append(.addPin(pattern, slot, new))
        }
    }
}

/// Where a pin stands in a policy, whenever it got there.
private enum PinStanding: Hashable {
    /// Unknown or retired.
    case absent
    case inUse(PinRole, isActive: Bool)
    case revoked

    init(_ record: PinRecord?) {
        switch record?.state {
        case nil, .retired?: self = .absent
        case .revoked?: self = .revoked
        case .staged?: self = .inUse(record?.role ?? .backup, isActive: false)
        case .active?: self = .inUse(record?.role ?? .backup, isActive: true)
        }
    }
}

/// What operators set in a policy.
private struct PolicyContent: Hashable {
    let mode: PinMode
    let pins: [Pin: PinStanding]

    init(_ policy: Policy) {
        self.mode = policy.mode
        var pins: [Pin: PinStanding] = [:]
        for (pin, record) in policy.pins where record.state != .retired { pins[pin] = PinStanding(record) }
        self.pins = pins
    }
}

/// What operators set at a host.
private struct HostContent: Hashable {
    struct Candidate: Hashable {
        let policy: PolicyContent
        let exposure: Exposure
        /// A plan under way would end with the candidate.
        let plan: RolloutPlan?
    }

    let includesSubdomains: Bool
    /// Nil for built-in pins.
    let baseline: PolicyContent?
    let candidate: Candidate?
    let endpoints: [Endpoint]?
    let killSwitchEnd: Timestamp?

    init(_ host: Host) {
        self.includesSubdomains = host.includesSubdomains
        self.baseline = host[.baseline].map(PolicyContent.init)
        self.candidate = host.candidate.map { candidate in
            Candidate(
                policy: PolicyContent(candidate), exposure: Exposure(host.rollout, host.rolledBackAt),
                plan: host.plan.flatMap { $0.isUnderWay ? $0 : nil })
        }
        self.endpoints = host.endpoints
        self.killSwitchEnd = host.killSwitch?.expiresAt
    }
}

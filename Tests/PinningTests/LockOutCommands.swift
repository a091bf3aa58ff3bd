import PinWire
import Pinning
import SeededRandom

/// Draws what an operator may think of: mostly about keys and hosts that are there, and now and then nonsense.
struct LockOutCommands {
    static let hosts = [api, host("shop.example.com"), host("pay.example.com")]

    /// The numbers of the keys that were made for each host. New ones follow.
    private var newest = Self.hosts.map { _ in 3 }
    private var rotations = 0

    /// The key of a number: each host has its own.
    static func key(_ place: Int, _ number: Int) -> Pin { pin(place * 100_000 + number) }

    /// An uploaded key, to be published at once by default.
    static func shown(_ key: Pin, _ role: PinRole, isActive: Bool = true) -> AppCommand.NewPin {
        let facts = KeyFacts(
            pin: key, algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: key.bytes + key.bytes,
            rawKeySHA256: sha256(key.bytes))
        return AppCommand.NewPin(pin: key, role: role, isActive: isActive, evidence: .publicKey(facts))
    }

    /// One to three commands, to be decided as one change.
    mutating func next(_ app: App?, _ world: inout LockOutWorld) -> [AppCommand] {
        let count = world.generator.pick([1, 1, 1, 1, 2, 3])
        return (0..<count).map { _ in self.one(app, &world) }
    }

    private mutating func one(_ app: App?, _ world: inout LockOutWorld) -> AppCommand {
        let place = world.generator.pick(Array(Self.hosts.indices))
        let pattern = Self.hosts[place]
        guard let host = app?.hosts[pattern] else { return self.addition(place, &world) }
        let slot: PolicySlot = host.candidate != nil && world.generator.once(in: 2) ? .candidate : .baseline
        let known = host[slot]?.pins.filter { $0.value.state.isInUse }.map(\.key) ?? []
        let key =
            known.isEmpty || world.generator.once(in: 8) ? self.anyKey(place, &world) : world.generator.pick(known)
        let open = app?.rotations.filter { !$0.phase.isOver } ?? []
        switch Int.random(in: 0..<100, using: &world.generator) {
        case 0..<14:
            return .addPin(
                pattern, slot,
                Self.shown(
                    self.anyKey(place, &world), world.generator.pick([.backup, .backup, .primary, .emergency]),
                    isActive: !world.generator.once(in: 4)))
        case 14..<18: return .activatePin(pattern, slot, key)
        case 18..<24: return .setPinRole(pattern, slot, key, world.generator.pick(PinRole.allCases))
        case 24..<34: return .retirePin(pattern, slot, key)
        case 34..<36: return .revokePin(pattern, slot, key)
        case 36..<43: return .setMode(pattern, slot, world.generator.pick([.enforce, .enforce, .reportOnly, .off]))
        case 43: return .removeHost(pattern)
        case 44..<50:
            let copies = world.generator.pick([true, true, false, nil] as [Bool?])
            let pins = (0..<world.generator.pick([0, 1, 2])).map { _ in
                Self.shown(self.anyKey(place, &world), world.generator.pick([.primary, .backup]))
            }
            return .startCandidate(
                pattern, mode: world.generator.pick([.enforce, .enforce, .reportOnly, .off]), copiesBaseline: copies,
                pins: pins)
        case 50..<54: return .promoteCandidate(pattern)
        case 54..<57: return .dropCandidate(pattern)
        case 57..<60:
            return .setHostRollout(pattern, Rollout(basisPoints: Int.random(in: 0...10_000, using: &world.generator)))
        case 60..<63:
            let services = world.services.filter { $0.host == pattern }.map(\.endpoint)
            return .setEndpoints(pattern, world.generator.pick([nil, services, [services[0]]]))
        case 63..<73: return self.rotation(place, &world)
        case 73..<92:
            return .advanceRotation(open.isEmpty ? "r1" : world.generator.pick(open).id, from: nil)
        case 92..<94:
            return .abortRotation(
                open.isEmpty ? "r1" : world.generator.pick(open).id, keepsNext: world.generator.once(in: 2))
        case 94..<96:
            return .engageKillSwitch(
                world.generator.once(in: 4) ? nil : pattern, expiresAt: world.now.adding(seconds: 7200))
        case 96..<98: return .releaseKillSwitch(world.generator.once(in: 4) ? nil : pattern)
        default: return .setSubdomains(pattern, includesSubdomains: world.generator.once(in: 2))
        }
    }

    /// A host as set up by an operator who examined its servers, or did not.
    private mutating func addition(_ place: Int, _ world: inout LockOutWorld) -> AppCommand {
        let served = world.services.filter { $0.host == Self.hosts[place] && $0.isNamed }.flatMap(\.addresses).map(
            \.key)
        var keys = Set(world.generator.once(in: 4) ? [] : served)
        for _ in 0..<2 { keys.insert(self.anyKey(place, &world)) }
        let pins = keys.sorted().map { Self.shown($0, served.contains($0) ? .primary : .backup) }
        let mode = world.generator.pick([.enforce, .enforce, .reportOnly, .off, nil] as [PinMode?])
        return .addHost(
            Self.hosts[place], includesSubdomains: false, mode: mode, pins: mode == nil ? [] : pins)
    }

    private mutating func rotation(_ place: Int, _ world: inout LockOutWorld) -> AppCommand {
        self.rotations += 1
        var hosts = [Self.hosts[place]]
        if world.generator.once(in: 6) { hosts = Array(Set(hosts + [world.generator.pick(Self.hosts)])).sorted() }
        let goals = Rotation.Goals(
            adoption: world.generator.pick([9900, 10_000]), minimumWait: world.generator.pick([0, 3600, 20_000]),
            sufficientWait: world.generator.pick([0, 3600, 90_000, 200_000]),
            settling: world.generator.pick([86_400, 172_800]))
        return .startRotation(
            AppCommand.NewRotation(
                id: "r\(self.rotations)", kind: world.generator.once(in: 8) ? .emergency : .planned, hosts: hosts,
                next: Self.shown(self.anyKey(place, &world), .backup), goals: goals))
    }

    /// One of the keys that were made for a host last, or a new one.
    private mutating func anyKey(_ place: Int, _ world: inout LockOutWorld) -> Pin {
        if world.generator.once(in: 6) { self.newest[place] += 1 }
        return Self.key(place, self.newest[place] - Int.random(in: 0..<4, using: &world.generator))
    }
}

import PinWire
import Pinning
import SeededRandom

/// A world of servers, probes, lagging clients and one ledger, in which an operator tries everything, and somebody looks
/// after each step whether a client is locked out.
///
/// What the guard rails promise, and what is checked, is this.
///
/// - **A.** No command, forced or not, makes the newest document refuse a key that an address presents, that it was seen
///   presenting within a day, and that the document accepted so far or did not have to.
/// - **B.** Every client that trusts the document it holds, and every one that holds the newest, can connect to every
///   address that names lead to, unless an event says that somebody insisted, and on the very danger that came true
///   (``Insistence``). Neither an event of another host, key or time nor one of another danger is an excuse.
///
/// It is promised to clients that keep rules R1 to R10 and stop trusting a document after its lifetime, as long as
/// whoever runs the servers is sensible. What the rails cannot know, and the model's servers therefore keep to:
///
/// - A key is changed to the next one of a rotation that is in its phase `switch` or a later one, or else to one that is
///   published and that `App.delivery` calls delivered; never to one that the newest document does not publish.
/// - The first is announced by the rotation, and may stay unseen until probes come by. Any other change is probed by hand
///   at once, and so is every machine of a host whose rotation ends, a key that nobody saw before it is changed, and a
///   machine on which a key is tried for the second time.
/// - What was deployed within a day may go back to the key before, without asking a ledger: deployments that fail are
///   rolled back by whatever deployed them. That is why G11 is needed beside G07. Nobody goes back to a key that was
///   called compromised, or that some client refused already when it was changed.
/// - A machine that no name leads to may come back with the key that it had, if a probe has seen it within a week. What
///   was gone for longer is built anew, like every service that the ledger begins to name.
/// - Probes may fail for weeks. Nothing is promised of an address that they never saw: here they have seen each once.
/// - A rotation's goals are its operator's choice, but not below 99 % of the clients and a day of settling.
/// - To lower a guard rail is to insist on it for good, and nobody does here. To start an emergency rotation is to insist
///   too: its event says that the servers change before the clients have heard of it.
struct LockOutModel {
    let seed: UInt64
    let rails: Set<GuardRail>
    var world: LockOutWorld
    var commands = LockOutCommands()
    var state = LedgerState()
    private var promises: [Int64: Promise] = [:]
    private var insistences: [Insistence] = []
    private var step = 0
    private var last: [(step: Int, at: Timestamp, version: Int64, events: [AppEvent])] = []

    var counts: [String: Int] { self.world.counts }

    private static let app = StreamID.app(shop)

    /// A world in which each host has a key in service and two in reserve, and all clients know.
    init(seed: UInt64, without rail: GuardRail? = nil) throws(Violation) {
        self.seed = seed
        self.rails = Set(GuardRail.allCases.filter { $0 != rail })
        self.world = LockOutWorld(generator: SeededGenerator(seed: seed))
        for (place, pattern) in LockOutCommands.hosts.enumerated() {
            for (port, machines) in [(443, 3), (8443, 1)] {
                let key = LockOutCommands.key(place, 0)
                self.world.services.append(
                    LockOutWorld.Service(
                        host: pattern, endpoint: endpoints("\(pattern):\(port)")[0],
                        addresses: (0..<machines).map { .init(name: "192.0.2.\($0)", key: key) },
                        isNamed: port == 443))
            }
        }
        for place in self.world.services.indices where self.world.services[place].isNamed {
            for vantage in LockOutWorld.vantages { self.world.services[place].probe(from: vantage, at: noon) }
        }
        let hosts = LockOutCommands.hosts.enumerated().map { place, pattern in
            let pins = (0..<3).map {
                LockOutCommands.shown(LockOutCommands.key(place, $0), $0 == 0 ? .primary : .backup)
            }
            return AppCommand.addHost(pattern, includesSubdomains: false, mode: .enforce, pins: pins)
        }
        try self.decide([.create(displayName: "Shop")] + hosts, isForced: false)
        self.world.clients = (0..<12).map { index in
            .init(version: self.version, freshUntil: noon, laziness: 1 + index * index)
        }
    }

    private var version: Int64 { self.state.documentVersion(of: shop) ?? 0 }

    /// Plays on until so many changes were tried, of one to three commands each.
    mutating func play(changes: Int) throws(Violation) {
        for _ in 0..<changes {
            self.step += 1
            // Now and then several commands meet the same world.
            if !self.world.generator.once(in: 4) {
                self.world.pass()
                self.serve()
                try self.check()
            }
            let commands = self.commands.next(self.state.apps[shop], &self.world)
            let isForced = self.world.generator.once(in: 4)
            try self.decide(commands, isForced: isForced)
            try self.check()
        }
    }

    // MARK: The ledger

    private mutating func decide(_ commands: [AppCommand], isForced: Bool) throws(Violation) {
        self.world.now = self.world.now.adding(seconds: 1)
        let facts = self.world.facts()
        let context = DecisionContext(
            now: self.world.now, reason: self.world.generator.once(in: 12) ? nil : reason("because"),
            isForced: isForced, facts: facts, rails: self.rails, isPublicSuffix: { _ in false })
        let events: [AppEvent]
        do {
            events = try self.state.decide(.app(shop, commands), in: context).events.compactMap { event in
                guard case .app(let event) = event else { return nil }
                return event
            }
        } catch {
            self.world.count("refused")
            if case .guarded = error { self.world.count("guarded") }
            return
        }
        let (before, was) = (self.state.apps[shop], self.promises[self.version])
        for event in events { _ = self.state.apply(.app(event), of: Self.app, at: context.now) }
        guard let document = self.state.document(of: shop), !events.isEmpty else { return }
        let promise = Promise(document)
        self.promises[promise.version] = promise
        self.world.published.append((context.now, promise.version))
        self.note(commands, events)
        try self.compare(was, promise)
        self.remember(events, before, was, promise)
        for (pattern, host) in self.state.apps[shop]?.hosts ?? [:] {
            self.world.name(pattern, host.probed(of: pattern))
            // When a rotation is over, nothing announces its key any more: it is time for a look.
            guard before?.openRotation(of: pattern) != nil, self.state.apps[shop]?.openRotation(of: pattern) == nil
            else { continue }
            self.world.look(at: pattern)
        }
    }

    private mutating func note(_ commands: [AppCommand], _ events: [AppEvent]) {
        for command in commands {
            // The case's name. To write all of it out takes longer than to decide it.
            self.world.count(Mirror(reflecting: command).children.first?.label ?? "\(command)")
        }
        self.world.count("accepted")
        for event in events {
            if case .rotationAdvanced(_, let phase) = event { self.world.count("\(phase)") }
            if case .guardRailsOverridden(let findings) = event {
                self.world.count("forced")
                for code in Set(findings.map(\.code)) { self.world.count(code) }
            }
        }
        self.last.append((self.step, self.world.now, self.version, events))
        if self.last.count > 20 { self.last.removeFirst() }
    }

    /// Keeps the event's overridden findings, and forgets those that no longer matter.
    private mutating func remember(_ events: [AppEvent], _ before: App?, _ was: Promise?, _ promise: Promise) {
        for index in self.insistences.indices where self.insistences[index].versions.upperBound == .max {
            let insistence = self.insistences[index]
            let arms = promise.enforced[insistence.host]?.values
            guard arms?.allSatisfy({ $0.contains(insistence.key) }) ?? true else { continue }
            let first = insistence.versions.lowerBound
            self.insistences[index].versions = first..<max(first, promise.version)
        }
        var turning: [Rotation] = []
        func insist(_ hosts: [HostPattern], _ keys: some Sequence<Pin>, _ danger: Insistence.Danger) {
            for host in hosts {
                self.insistences += keys.map { key in
                    // What was published before lacks a key that is new, and what comes until all have it.
                    let isPublished = promise.enforced[host]?.values.allSatisfy { $0.contains(key) } ?? true
                    let until = danger == .notDelivered && isPublished ? promise.version : .max
                    return Insistence(
                        host: host, key: key, danger: danger, at: self.world.now,
                        versions: (danger == .notDelivered ? 0 : promise.version)..<until)
                }
            }
        }
        for event in events {
            switch event {
            case .rotationStarted(let rotation) where rotation.kind == .emergency:
                insist(rotation.hosts, [rotation.next], .notDelivered)
            case .rotationAdvanced(let id, _): turning += [before?.rotation(id)].compactMap(\.self)
            case .guardRailsOverridden(let findings):
                for finding in findings {
                    guard let host = finding.host else { continue }
                    // The first host and key of a rotation stand for all.
                    let rotation = turning.first { $0.hosts.contains(host) }
                    let removed = Set(was?.enforced[host]?.values.flatMap(\.self) ?? [])
                    switch finding.code {
                    case "G07", "G09":
                        if let key = finding.pin {
                            insist([host], [key], .presented)
                        } else {
                            let there = self.world.services.filter { $0.host == host }.flatMap(\.addresses)
                            insist(
                                [host], removed.union(there.map(\.key)).union(there.compactMap(\.previous)), .unseen)
                        }
                    case "G43": insist(rotation?.hosts ?? [host], rotation?.old ?? removed.sorted(), .presented)
                    case "G10": insist(rotation?.hosts ?? [host], [finding.pin].compactMap(\.self), .notDelivered)
                    case "G11":
                        insist([host], [finding.pin].compactMap(\.self), .goesBack)
                        insist(rotation?.hosts ?? [], rotation?.old ?? [], .goesBack)
                    default: break
                    }
                }
            default: break
            }
        }
        let oldest = self.world.clients.map(\.version).min() ?? 0
        self.insistences.removeAll { $0.versions.upperBound <= oldest }
        self.promises = self.promises.filter { $0.key >= oldest }
    }

    // MARK: The servers

    /// The operator changes the servers' keys, one machine after the other.
    private mutating func serve() {
        guard let app = self.state.apps[shop] else { return }
        let held = self.held
        for place in self.world.services.indices where self.world.services[place].isNamed {
            let pattern = self.world.services[place].host
            guard let host = app.hosts[pattern] else { continue }
            let policies = PolicySlot.allCases.compactMap { host[$0] }
            let rotation = app.openRotation(of: pattern)
            let next = rotation.flatMap { rotation -> Pin? in
                let isPublished = policies.allSatisfy { $0.pins[rotation.next]?.state == .active }
                return rotation.phase != .deliver && isPublished ? rotation.next : nil
            }
            for index in self.world.services[place].reachable {
                let address = self.world.services[place].addresses[index]
                // Nobody wants to go back to where clients are locked out.
                let canGoBack = held.allSatisfy { promise in
                    promise.enforced[pattern]?.values.allSatisfy { $0.contains(address.key) } ?? true
                }
                if let key = address.previous, self.world.now < address.since.adding(seconds: day),
                    self.world.generator.once(in: 12)
                {
                    self.world.change(place, index, to: key, .wentBack, canGoBack: false)
                } else if let next, next != address.key, self.world.generator.once(in: 4) {
                    self.world.change(
                        place, index, to: next, .switched, canGoBack: canGoBack && rotation?.kind == .planned)
                } else if rotation == nil, self.world.generator.once(in: 40) {
                    let facts = self.world.facts()
                    let keys = policies.flatMap { $0.activePins.map(\.pin) }.filter { key in
                        key != address.key
                            && app.delivery(
                                of: key, hosts: [pattern], goals: Rotation.Goals(for: facts),
                                versionOffset: self.state.fleet.version, facts)?.isEnough(at: self.world.now) == true
                    }
                    guard !keys.isEmpty else { continue }
                    self.world.change(
                        place, index, to: self.world.generator.pick(keys), .delivered, canGoBack: canGoBack)
                }
            }
        }
    }

    // MARK: The promises

    /// The documents that clients trust, and the newest.
    private var held: [Promise] {
        let trusted = self.world.clients.filter { self.world.now < $0.freshUntil }.map(\.version)
        return Set(trusted + [self.version]).sorted().compactMap { self.promises[$0] }
    }

    /// Promise A, of the document that has just become the newest.
    private func compare(_ was: Promise?, _ promise: Promise) throws(Violation) {
        let fresh = self.world.now.adding(seconds: -day)
        for service in self.world.services where service.isNamed {
            let host = self.state.apps[shop]?.hosts[service.host]
            guard host?.probed(of: service.host).contains(service.endpoint) == true else { continue }
            for address in service.reachable.map({ service.addresses[$0] }) where service.hasSeen(address, after: fresh)
            {
                for (slot, pins) in promise.enforced[service.host] ?? [:] where !pins.contains(address.key) {
                    let before = was?.enforced[service.host]
                    guard let before = before?[slot] ?? (slot == .candidate ? before?[.baseline] : nil),
                        !before.contains(address.key)
                    else { throw self.violation("A", service, address, promise.version) }
                }
            }
        }
    }

    /// Promise B.
    private mutating func check() throws(Violation) {
        let held = self.held
        if held.count > 1 { self.world.count("lag") }
        for promise in held {
            for service in self.world.services where service.isNamed {
                guard let arms = promise.enforced[service.host],
                    promise.offUntil[service.host].map({ $0 <= self.world.now }) ?? true
                else { continue }
                for address in service.reachable.map({ service.addresses[$0] })
                where !arms.values.allSatisfy({ $0.contains(address.key) }) {
                    guard
                        self.insistences.contains(where: { $0.explains(address, of: service.host, in: promise.version) }
                        )
                    else { throw self.violation("B", service, address, promise.version) }
                    self.world.count("explained")
                }
            }
        }
    }

    private func violation(
        _ promise: String, _ service: LockOutWorld.Service, _ address: LockOutWorld.Address, _ version: Int64
    ) -> Violation {
        Violation(
            seed: self.seed, step: self.step,
            what:
                "promise \(promise): document \(version) refuses \(service.endpoint) at \(address.name), which presents \(address.key) since \(address.since) (\(address.arrival)); it is \(self.world.now)",
            last: self.last.map { "\($0.step) \($0.at) version \($0.version): \($0.events)" })
    }
}

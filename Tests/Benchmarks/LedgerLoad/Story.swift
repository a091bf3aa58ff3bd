import PinWire
import Pinning
import SeededRandom

/// What happens to a fleet of apps, event by event: apps are made one after the other, and then changed at random as
/// operators do (renewed keys, rollouts, kill switches, renames).
///
/// The events are those that `decide` would make, in that order; the generator knows enough of the state for that.
struct Story {
    struct Line {
        var app: AppID
        var event: AppEvent
        var origin: Origin
    }

    private struct HostState {
        var pattern: HostPattern
        /// Pins in use; the first is the primary one.
        var pins: [Pin]
        var pinsEver: Int
        var hasCandidate = false
    }

    private struct AppState {
        var id: AppID
        var hosts: [HostState]
        var edits = 0
    }

    private let options: LoadOptions
    /// The ledger's length when the story begins; in the apps' names, so that a continued ledger gets new ones.
    private let generation: Int64
    private let expiry: Timestamp
    private var random: SeededGenerator
    private var apps: [AppState] = []
    /// What was begun and is still to be told, last first.
    private var pending: [Line] = []

    init(options: LoadOptions, from position: Int64) {
        self.options = options
        self.generation = position
        self.expiry = options.start.adding(seconds: 400 * 86_400)
        self.random = SeededGenerator(seed: options.seed)
        self.apps.reserveCapacity(options.apps)
    }

    var appCount: Int { self.apps.count }

    mutating func next() -> Line {
        while true {
            if let line = self.pending.popLast() { return line }
            let lines = self.apps.count < self.options.apps ? self.newApp() : self.edit()
            self.pending = lines.reversed()
        }
    }

    private mutating func pin() -> Pin {
        var bytes: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: self.random.next()) { bytes += $0 } }
        guard let pin = Pin(bytes: bytes) else { preconditionFailure("four words are 32 bytes") }
        return pin
    }

    private mutating func origin(reason: String? = nil) -> Origin {
        let operators = ["ci-deploy", "alice", "bob", "release-train"]
        let name = operators[Int.random(in: 0..<operators.count, using: &self.random)]
        let request = "\(Hex.encode((0..<8).map { _ in UInt8.random(in: 0...255, using: &self.random) }))"
        return Origin(
            actor: Actor(kind: .token, id: "tok_\(name)", name: name),
            reason: reason.flatMap { try? Reason($0) },
            requestID: request
        )
    }

    private mutating func newApp() -> [Line] {
        let number = self.apps.count
        guard let id = try? AppID("com.example.load\(self.generation).a\(number)") else {
            preconditionFailure("a plain name")
        }
        let origin = self.origin()
        var events: [AppEvent] = [.appCreated(displayName: "Load app \(number)")]
        var app = AppState(id: id, hosts: [])
        for host in 0..<self.options.hosts {
            guard let pattern = try? HostPattern("h\(host).a\(number).load.example.com") else {
                preconditionFailure("a plain host name")
            }
            let pins = (0..<self.options.pins).map { _ in self.pin() }
            events.append(.hostAdded(pattern, includesSubdomains: false, mode: .enforce))
            for (place, pin) in pins.enumerated() {
                events.append(.pinStaged(pattern, .baseline, pin, Self.role(place), note: nil))
            }
            events += pins.map { .pinActivated(pattern, .baseline, $0) }
            app.hosts.append(HostState(pattern: pattern, pins: pins, pinsEver: pins.count))
        }
        self.apps.append(app)
        return events.map { Line(app: id, event: $0, origin: origin) }
    }

    private static func role(_ place: Int) -> PinRole {
        switch place {
        case 0: .primary
        case 1: .backup
        default: .emergency
        }
    }

    private mutating func edit() -> [Line] {
        let index = Int.random(in: 0..<self.apps.count, using: &self.random)
        let place = Int.random(in: 0..<self.options.hosts, using: &self.random)
        let dice = Int.random(in: 0..<100, using: &self.random)
        self.apps[index].edits += 1
        let edits = self.apps[index].edits
        let host = self.apps[index].hosts[place]
        var events: [AppEvent]
        var reason: String?
        switch dice {
        case ..<30:
            // A renewed key: the backup takes over, a new backup comes, the old key's pin goes.
            guard host.pinsEver < App.pinLimit / 2, host.pins.count >= 2 else { return [] }
            let new = self.pin()
            let last = host.pins.count - 1
            events = [
                .pinStaged(host.pattern, .baseline, new, Self.role(last), note: "key ceremony \(edits)"),
                .pinActivated(host.pattern, .baseline, new),
                .pinRoleSet(host.pattern, .baseline, host.pins[1], .primary),
                .pinRetired(host.pattern, .baseline, host.pins[0]),
            ]
            self.apps[index].hosts[place].pins = Array(host.pins.dropFirst()) + [new]
            self.apps[index].hosts[place].pinsEver += 1
            reason = "certificate renewal"
        case ..<45: events = [.appRenamed(displayName: "Load app \(index), edition \(edits)")]
        case ..<60:
            let share = Int.random(in: 0...100, using: &self.random) * 100
            events = [.appRolloutSet(Rollout(basisPoints: share, salt: "s\(edits)"))]
        case ..<70:
            if host.hasCandidate {
                events = [.candidateDropped(host.pattern)]
            } else {
                let share = Int.random(in: 0...100, using: &self.random) * 100
                events = [.candidateStarted(host.pattern, mode: .reportOnly)]
                for (place, pin) in host.pins.enumerated() {
                    events.append(.pinStaged(host.pattern, .candidate, pin, Self.role(place), note: nil))
                }
                events += host.pins.map { .pinActivated(host.pattern, .candidate, $0) }
                events.append(.hostRolloutSet(host.pattern, Rollout(basisPoints: share)))
            }
            self.apps[index].hosts[place].hasCandidate.toggle()
        case ..<78: events = [.hostSubdomainsSet(host.pattern, includesSubdomains: edits.isMultiple(of: 2))]
        case ..<84: events = [.monitoringSet(Monitoring(isEnabled: true, failureThreshold: 100 + edits % 900))]
        case ..<88:
            guard let minimum = try? AppVersion("\(edits).0.\(dice)") else { preconditionFailure("a plain version") }
            events = [.versionGateSet(VersionGate(minimum: minimum))]
        case ..<90: events = [.fallbackSet(Fallback(usesBuiltinPins: true, hosts: [host.pattern]))]
        case ..<96:
            // Released at once: a server that starts on the ledger has no expired switch to release.
            reason = "incident \(edits): wrong certificate deployed at the edge"
            events = [.killSwitchEngaged(nil, expiresAt: self.expiry), .killSwitchReleased(nil)]
        default:
            reason = "incident \(edits): one host is wrong"
            events = [
                .killSwitchEngaged(host.pattern, expiresAt: self.expiry), .killSwitchReleased(host.pattern),
            ]
        }
        let origin = self.origin(reason: reason)
        let id = self.apps[index].id
        return events.map { Line(app: id, event: $0, origin: origin) }
    }
}

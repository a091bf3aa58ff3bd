import PinWire
import Pinning

// Test data is known to be well-formed; where it is not, the test cannot go on.

func host(_ text: String) -> HostPattern {
    do { return try HostPattern(text) } catch { fatalError("\(text) \(error)") }
}

let shop: AppID = { do { return try AppID("com.example.shop") } catch { fatalError("\(error)") } }()
let api = host("api.example.com")
let noon = Timestamp(seconds: 1_769_860_800)

/// The pin of an imagined key.
func pin(_ number: Int) -> Pin {
    guard let pin = Pin(bytes: sha256(Array("key \(number)".utf8))) else { fatalError("a digest has 32 bytes") }
    return pin
}

/// An app with one host, what probes saw of it, and what was reported: everything that a verdict is made from.
///
/// As it stands, it is an honest mistake: the candidate reaches a twentieth of the devices and lacks the key that servers
/// present (1), which the baseline has, and every floor of a reaction is met, just so.
struct Scene: Sendable {
    var baseline: Policy? = Scene.policy(.enforce, [1, 2])
    var candidate: Policy? = Scene.policy(.enforce, [3, 4])
    var rollout: Rollout? = Rollout(basisPoints: 500)
    var appRollout: Rollout?
    var hostKillSwitch: KillSwitch?
    var fleetKillSwitch: KillSwitch?
    /// When an operator resumed although reports had held the host's plan.
    var reviewedAt: Timestamp?
    var monitoring = Monitoring(isEnabled: true, autoDisables: true, reaction: .act)
    /// The places that look, each with the key that it saw and how many seconds ago.
    var sightings: [(vantage: String, key: Int, ago: Int64)] = [("graz", 1, 60), ("wien", 1, 60)]
    var arm: PolicySlot? = .candidate
    var version: Int64 = 10
    var isAuthenticated = true
    /// Whether the app has a key that reports are signed with.
    var signs = false
    /// Installs and failing ones, minute by minute from an hour before noon.
    var minutes: [(after: Int64, installs: Int, failing: Int)] = [(0, 15, 15), (1, 15, 15)]
    var networks: [Int] = [11, 10, 9]
    var releases: [(String, Int, Int)] = []
    var reported: [OutcomeCell] = []
    var fleet: Int64? = 1000
    /// How many installs each counted one stands for.
    var oneIn = 1
    var reactionsTaken: [Reaction.Taken] = []
    var now = noon

    static func policy(_ mode: PinMode, _ keys: [Int], by version: Int64 = 5) -> Policy {
        var policy = Policy(mode: mode)
        for key in keys {
            policy.pins[pin(key)] = PinRecord(
                role: key.isMultiple(of: 2) ? .backup : .primary, state: .active, note: nil, since: noon,
                publishedBy: version)
        }
        return policy
    }

    /// The scene with something changed.
    func with(_ change: (inout Scene) -> Void) -> Scene {
        var scene = self
        change(&scene)
        return scene
    }

    var app: App {
        var app = App(id: shop, displayName: "Shop", createdAt: noon)
        var host = Host(includesSubdomains: false, baseline: self.baseline.map { .policy($0) } ?? .builtin)
        host.candidate = self.candidate
        host.rollout = self.rollout
        host.killSwitch = self.hostKillSwitch
        if let time = self.reviewedAt {
            var plan = RolloutPlan(.init(steps: [.init(10_000)]), setAt: noon)
            plan.reviewedAt = time
            host.plan = plan
        }
        app.hosts[api] = host
        app.rollout = self.appRollout
        app.monitoring = self.monitoring
        app.version = 10
        if self.signs {
            app.watch.telemetryKeys = [TelemetryKey(id: "tlk_0123456789abcdef", note: nil, createdAt: noon)]
        }
        return app
    }

    var fleetState: Fleet {
        var fleet = Fleet()
        fleet.killSwitch = self.fleetKillSwitch
        return fleet
    }

    var facts: ExternalFacts {
        let chains = self.sightings.map { sighting in
            let seen = self.now.adding(seconds: -sighting.ago)
            return ObservedChain(
                pins: [pin(sighting.key), pin(99)], address: "192.0.2.1", vantage: sighting.vantage, firstSeen: seen,
                lastSeen: seen, isCurrent: true)
        }
        let fleet = self.fleet
        return ExternalFacts(
            endpoint: { _ in chains.isEmpty ? nil : EndpointFacts(chains: chains) },
            adoption: { _, _ in fleet.map { AdoptionShare(basis: .installs, low: 10_000, high: 10_000, sample: $0) } }
        )
    }

    var cell: OutcomeCell {
        let start = noon.adding(seconds: -3600)
        return OutcomeCell(
            host: api, arm: self.arm, version: self.version, isAuthenticated: self.isAuthenticated,
            minutes: self.minutes.map {
                OutcomeMinute(
                    minute: start.adding(seconds: $0.after * 60), installs: $0.installs, failing: $0.failing,
                    oneIn: self.oneIn)
            },
            networks: self.networks.enumerated().map { NetworkShare(network: "n\($0)", failing: $1) },
            networkCount: self.networks.count,
            releases: self.releases.map { ReleaseShare(release: .init(text: $0), installs: $1, failing: $2) },
            installs: self.minutes.reduce(0) { $0 + $1.installs },
            failing: self.minutes.reduce(0) { $0 + $1.failing }
        )
    }

    /// All verdicts, and the one on ``cell``.
    var verdicts: [ReactionVerdict] {
        Reaction.verdicts(
            on: TelemetryFacts(measuredAt: self.now, cells: [self.cell] + self.reported), of: self.app,
            fleet: self.fleetState,
            facts: self.facts, reactionsTaken: self.reactionsTaken, at: self.now)
    }

    var verdict: ReactionVerdict? {
        self.verdicts.first { $0.evidence.arm == self.arm && $0.evidence.version == self.version }
    }

    /// The baseline, with its own reports: a twentieth of the devices' share aside, nothing fails.
    func withBaselineReports(installs: Int, failing: Int) -> Scene {
        self.with { scene in
            let cell = Scene().with {
                $0.arm = .baseline
                $0.version = scene.version
                $0.minutes = [(0, installs, failing)]
            }.cell
            scene.reported.append(cell)
        }
    }

    /// The steady state: no candidate, and servers present a key (7) that is not pinned.
    static let steady = Scene().with {
        $0.candidate = nil
        $0.rollout = nil
        $0.arm = .baseline
        $0.sightings = [("graz", 7, 60), ("wien", 7, 60)]
    }
}

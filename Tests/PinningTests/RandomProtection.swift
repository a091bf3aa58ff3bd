import PinWire
import Pinning
import SeededRandom

/// Draws apps, commands that bear on protection, devices and names, all of few parts, so that they meet one another.
struct RandomProtection {
    var generator: SeededGenerator

    init(seed: UInt64) { self.generator = SeededGenerator(seed: seed) }

    private static let hosts = [
        "example.com", "*.example.com", "api.example.com", "*.api.example.com", "a.api.example.com", "other.example",
    ].map { PinningTests.host($0) }
    static let names = [
        "example.com", "api.example.com", "x.example.com", "x.y.example.com", "a.api.example.com", "x.api.example.com",
        "x.y.api.example.com", "x.a.api.example.com", "other.example", "x.other.example",
    ]
    static let devices: [Device] = [
        Device(), Device(ids: [.deviceID: "d0"], appVersion: "1.0", country: "DE"),
        Device(ids: [.deviceID: "d1"], appVersion: "2.0", build: 7, country: "US"),
        Device(ids: [.deviceID: "d2"], appVersion: "3.0", build: 9),
        Device(ids: [.deviceID: "d3", .installID: "i3"], country: "DE"),
        Device(ids: [.installID: "i4"], appVersion: "2.5", build: 20),
        Device(ids: [.deviceID: "d5"], appVersion: "not a version", country: "FR"),
        Device(ids: [.deviceID: "d6"], appVersion: "1.9", build: 1, country: "US"),
    ]

    private mutating func host() -> HostPattern { self.generator.pick(Self.hosts) }
    private mutating func flag() -> Bool { Bool.random(using: &self.generator) }
    private mutating func maybe<T>(_ value: T) -> T? { self.flag() ? value : nil }
    private mutating func mode() -> PinMode { self.generator.pick(PinMode.allCases) }
    private mutating func place() -> HostPattern? { self.generator.once(in: 3) ? nil : self.host() }

    private mutating func rollout() -> Rollout {
        var rollout = Rollout(
            basisPoints: self.generator.pick([0, 100, 2_500, 5_000, 10_000]), isSticky: !self.generator.once(in: 4))
        rollout.salt = self.maybe("s")
        rollout.seed = self.generator.pick([[.deviceID], [.installID, .deviceID]])
        switch Int.random(in: 0..<8, using: &self.generator) {
        case 0: rollout.method = .whitelist
        case 1:
            rollout.method = .geography
            rollout.countries = self.generator.pick([["DE"], ["DE", "US"]])
        default: break
        }
        if rollout.salt != nil {
            if self.generator.once(in: 3) { rollout.whitelist = [Rollout.hashedID("d1", salt: "s")] }
            if self.generator.once(in: 5) { rollout.exclusions = [Rollout.hashedID("d0", salt: "s")] }
        }
        return rollout
    }

    private mutating func gate() -> VersionGate {
        VersionGate(
            minimum: self.maybe(version(self.generator.pick(["1.5", "2.0"]))),
            maximum: self.generator.once(in: 3) ? version("2.5") : nil,
            excluded: self.generator.once(in: 3) ? [version("2.0")] : [],
            minimumBuild: self.generator.once(in: 3) ? 8 : nil)
    }

    private mutating func plan() -> RolloutPlan.Terms {
        RolloutPlan.Terms(
            steps: [.init(5_000, .init(seconds: 60)), .init(10_000, .init(seconds: 60))],
            ending: self.generator.pick(RolloutPlan.Ending.allCases))
    }

    /// The pins of a policy: enough for every rail that refuses by itself.
    private static let pins = [new(1), new(2, .backup)]

    mutating func addition() -> AppCommand {
        .addHost(
            self.host(), includesSubdomains: self.flag(), mode: self.maybe(self.mode()) ?? .enforce, pins: Self.pins)
    }

    /// A host with a candidate that is as strong.
    mutating func trial() -> [AppCommand] {
        let (host, mode) = (self.host(), self.mode())
        return [
            .addHost(host, includesSubdomains: self.flag(), mode: mode, pins: Self.pins),
            .startCandidate(host, mode: mode, copiesBaseline: true, pins: []),
        ]
    }

    mutating func command() -> AppCommand {
        switch Int.random(in: 0..<24, using: &self.generator) {
        case 0, 1:
            .addHost(
                self.host(), includesSubdomains: self.flag(), mode: self.generator.once(in: 3) ? nil : self.mode(),
                pins: [])
        case 2: self.addition()
        case 3, 4: .setSubdomains(self.host(), includesSubdomains: self.flag())
        case 5: .removeHost(self.host())
        case 6...9: .setMode(self.host(), self.generator.pick(PolicySlot.allCases), self.mode())
        case 10...12: .startCandidate(self.host(), mode: self.mode(), copiesBaseline: self.flag(), pins: [])
        case 13: .promoteCandidate(self.host())
        case 14: .dropCandidate(self.host())
        case 15...17: .setHostRollout(self.host(), self.maybe(self.rollout()))
        case 18: .setRollout(self.maybe(self.rollout()))
        case 19: .setVersionGate(self.maybe(self.gate()))
        case 20: .rollout(self.place(), .rollBack(.requested, detail: nil))
        case 21: .setFallback(Fallback(usesBuiltinPins: self.flag(), hosts: self.flag() ? [Self.hosts[4]] : []))
        default: .rollout(self.place(), self.planned())
        }
    }

    /// A plan for a host's candidate from no device on, and then perhaps a stronger baseline.
    mutating func planned(for host: HostPattern) -> [AppCommand] {
        let start: [AppCommand] = [
            .setHostRollout(host, Rollout(basisPoints: 0)), .rollout(host, .setPlan(self.plan())),
        ]
        return start + (self.flag() ? [.setMode(host, .baseline, .enforce)] : [])
    }

    private mutating func planned() -> RolloutCommand {
        switch Int.random(in: 0..<6, using: &self.generator) {
        case 0: .resume
        case 1: .jump(step: 2)
        case 2: .pause(.requested, detail: nil)
        default: .setPlan(self.plan())
        }
    }
}

import PinWire
import SeededRandom

/// Any document that can be written: every member there or not, every case of each, whole seconds.
func randomDocument(_ generator: inout SeededGenerator) throws -> Document {
    func chance(_ generator: inout SeededGenerator) -> Bool { Bool.random(using: &generator) }
    func moment(_ generator: inout SeededGenerator) -> Timestamp {
        Timestamp(seconds: Int64.random(in: 0...253_402_300_799, using: &generator))
    }
    func version(_ generator: inout SeededGenerator, _ major: Int) throws -> AppVersion {
        let texts = ["\(major)", "\(major).0\(major)", "\(major).1.2.3", "\(major).0-rc.1+b", "\(major)-0"]
        return try AppVersion(texts.randomElement(using: &generator) ?? "1")
    }
    func gate(_ generator: inout SeededGenerator) throws -> VersionGate {
        var gate = VersionGate(minimumBuild: Int64.random(in: 0...JSON.largestInteger, using: &generator))
        if chance(&generator) { gate.minimum = try version(&generator, 1) }
        if chance(&generator) { gate.maximum = try version(&generator, 3) }
        if chance(&generator) { gate.excluded = [try version(&generator, 2), try version(&generator, 2)] }
        if chance(&generator), gate.minimum != nil { gate.minimumBuild = nil }
        return gate
    }
    func rollout(_ generator: inout SeededGenerator) -> Rollout {
        let bucketing = Rollout.Bucketing.allCases.randomElement(using: &generator) ?? .pinroll
        let share = Int.random(in: 0...100, using: &generator)
        var rollout = Rollout(basisPoints: share * 100, bucketing: bucketing)
        if bucketing == .pinroll { rollout.basisPoints = Int.random(in: 0...10_000, using: &generator) }
        rollout.method = Rollout.Method.allCases.randomElement(using: &generator) ?? .percentage
        let count = Int.random(in: 1...3, using: &generator)
        rollout.seed = Array(Rollout.Seed.allCases.shuffled(using: &generator).prefix(count))
        rollout.isSticky = chance(&generator)
        if chance(&generator) {
            rollout.salt = ["host:a", "a \"b\" \\ ~", String(repeating: "s", count: 128)].randomElement(
                using: &generator)
        }
        if chance(&generator) || rollout.method == .geography {
            rollout.countries = ["DE", "AT", "FR"].shuffled(using: &generator)
        }
        if chance(&generator) { rollout.whitelist = ["a", "b"].map { Rollout.hashedID($0, salt: "s") } }
        if chance(&generator) { rollout.exclusions = [Rollout.hashedID("c", salt: "s")] }
        return rollout
    }
    func policy(_ generator: inout SeededGenerator) throws -> Document.Policy {
        .init(
            mode: PinMode.allCases.randomElement(using: &generator) ?? .off,
            pins: try (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                .init(
                    pin: try pin(UInt8.random(in: 0...255, using: &generator)),
                    role: PinRole.allCases.randomElement(using: &generator) ?? .backup)
            })
    }
    let names = try ["a.example.com", "*.example.com", "example.com", "xn--bcher-kva.example"].map { try host($0) }
    let killSwitches = try (0..<Int.random(in: 0...4, using: &generator)).map { _ -> Document.KillSwitch in
        let (engaged, expires) = (moment(&generator), moment(&generator))
        let scope = ["everything", "app", "host", "app_versions"].randomElement(using: &generator) ?? "app"
        return .init(
            scope: scope, host: scope == "host" ? names.randomElement(using: &generator) : nil,
            versions: scope == "app_versions" ? try gate(&generator) : nil, engagedAt: engaged, expiresAt: expires)
    }
    let isEvaluated = chance(&generator)
    let hosts = try names.shuffled(using: &generator).prefix(Int.random(in: 0...4, using: &generator)).map {
        pattern -> Document.Host in
        var host = Document.Host(
            pattern: pattern, includesSubdomains: chance(&generator), baseline: nil, candidate: nil, rollout: nil)
        if chance(&generator) { host.baseline = try policy(&generator) }
        if chance(&generator) { host.candidate = try policy(&generator) }
        if chance(&generator) { host.rollout = rollout(&generator) }
        if isEvaluated { host.arm = PolicyArm.allCases.randomElement(using: &generator) }
        return host
    }
    return Document(
        issuer: ["pinledger", "pins.example.com", "\"\\/ ~"].randomElement(using: &generator) ?? "",
        app: try AppID("com.example.app"), version: Int64.random(in: 0...JSON.largestInteger, using: &generator),
        pinsValidUntil: chance(&generator) ? moment(&generator) : nil, killSwitches: killSwitches,
        rollout: chance(&generator) ? rollout(&generator) : nil,
        versionGate: chance(&generator) ? try gate(&generator) : nil, hosts: hosts,
        fallback: Fallback(usesBuiltinPins: chance(&generator), hosts: chance(&generator) ? names.sorted() : []),
        monitoring: Monitoring(
            isEnabled: chance(&generator), failureThreshold: Int.random(in: 1...9999, using: &generator),
            autoDisables: chance(&generator)),
        archivedAt: chance(&generator) ? moment(&generator) : nil, evaluatedFrom: isEvaluated ? sha256([1]) : nil)
}

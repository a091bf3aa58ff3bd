import PinWire
import SeededRandom

/// Random documents with questions of which many come to each rule: times near the switches' and the document's own, ids that lists
/// name, hosts below and beside patterns.
struct RandomDecisions {
    static let now: Int64 = 1_790_000_000
    private var generator: SeededGenerator

    init(seed: UInt64) { self.generator = SeededGenerator(seed: seed) }

    private static let names = [
        "api.example.com", "*.example.com", "example.com", "a.b.example.com", "*.b.example.com", "com",
        "xn--bcher-kva.example",
        "*.example.org", "example.org", "cdn.example.net",
    ]
    private static let asked =
        names.map { $0.replacing("*", with: "some") } + [
            "API.Example.COM", "api.example.com.", "x.y.z.example.com", "q.b.example.com", "old.example.com",
            "new.old.example.com",
            "other.test", "localhost", "", ".", "a..example.com", ".example.com", "exämple.com", "api.example.com..",
            String(repeating: "a.", count: 126) + "com", String(repeating: "a.", count: 125) + "com", "192.0.2.7",
            "a b.example.com",
        ]
    private static let ids = [
        "device-1", "device-2", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "", " ",
        "\t\u{2003}",
        "Unknown", "ANONYMOUS", "unknown ", "00000000-0000-0000-0000-000000000000", "unKnown", "\u{a0}", "\u{200b}",
        "nul\u{0}", "ümläut", " \u{301}", "用户", "\u{1f469}\u{200d}\u{1f680}", "x",
    ]
    private static let salts = [
        "app:com.example.shop", "host:api.example.com", "spring", "a \"quoted\" \\ salt", "Grüße", "\u{1f511}",
        String(repeating: "s", count: 128),
    ]
    private static let versions = [
        "1.0", "1.5", "1.5.0", "1.5.0.1", "1.5-rc.1", "1.5-rc.2", "1.5-rc.10", "1.5-1", "1.5-alpha", "1.10", "2",
        "2.0.0+build.7",
        "2.4.1", "999999999.999999999.999999999.999999999", "1.5-01", "1.5-1.2", "1.5-99999999999999999999", "1.5--",
    ]
    private static let stated =
        versions + [
            "v2", "", " 1.5", "1.5 ", "1..5", "1.5.0.0.0", "1.5-", "1.5+", "1.5-a..b", "１.5", "1234567890", "1.5-é",
        ]

    mutating func next(questions count: Int) throws -> JSON {
        let document = try self.document()
        let issued = Self.now - self.generator.pick([0, 10, 3600, 86_399])
        let payload = document.payload(
            issuedAt: Timestamp(seconds: issued), expiresAt: Timestamp(seconds: issued + 86_400))
        let questions = (0..<count).map { _ in self.question(of: document, issued) }
        return [
            "kind": "decide", "name": "random", "payload": try JSON(parsing: payload), "questions": .array(questions),
        ]
    }

    private mutating func question(of document: Document, _ issued: Int64) -> JSON {
        var times: [Int64] = [
            Self.now, issued, issued - 200, issued + 86_399, issued + 86_400, issued + 200_000,
        ]
        for one in document.killSwitches {
            times += [
                one.engagedAt.seconds - 1, one.engagedAt.seconds, one.expiresAt.seconds - 1, one.expiresAt.seconds,
            ]
        }
        if let end = document.pinsValidUntil?.seconds { times += [end - 1, end] }
        var device: [String: JSON] = [:]
        for seed in Rollout.Seed.allCases where self.generator.isHit(0.6) {
            let id =
                self.generator.isHit(0.6) ? self.generator.pick(Self.ids) : "install-\(self.generator.next() % 100_000)"
            device[seed.rawValue] = .string(id)
        }
        if self.generator.isHit(0.85) { device["app_version"] = .string(self.generator.pick(Self.stated)) }
        if self.generator.isHit(0.7) {
            device["build"] = .integer(self.generator.pick([0, 1, 41, 42, 43, 9_007_199_254_740_991]))
        }
        if self.generator.isHit(0.7) {
            device["country"] = .string(
                self.generator.pick(["DE", "de", "FR", "XX", "zz", "D", "DEU", "", "Dé", "A1"]))
        }
        var question: [String: JSON] = [
            "host": .string(self.host(of: document)), "now": .integer(self.generator.pick(times)),
            "device": .object(device),
        ]
        if self.generator.isHit(0.5) {
            let pins = (0..<self.generator.pick([1, 2, 3])).map { _ in self.pin() }
            question["chain"] = .array(pins.map { .string($0.description) })
        }
        return .object(question)
    }

    /// A name that a pattern of the document covers, or any other.
    private mutating func host(of document: Document) -> String {
        guard !document.hosts.isEmpty, self.generator.isHit(0.7) else { return self.generator.pick(Self.asked) }
        let host = self.generator.pick(document.hosts)
        let name = host.pattern.isWildcard ? "some.\(host.pattern.name)" : host.pattern.name
        return host.includesSubdomains && self.generator.isHit(0.3) ? "further.below.\(host.pattern.name)" : name
    }

    // MARK: Documents

    private mutating func pin() -> Pin {
        guard let pin = Pin(bytes: sha256([UInt8(self.generator.next() % 12)])) else {
            preconditionFailure("32 bytes make a pin")
        }
        return pin
    }

    private mutating func policy() -> Document.Policy {
        Document.Policy(
            mode: self.generator.pick([.enforce, .enforce, .reportOnly, .off]),
            pins: (0..<self.generator.pick([1, 2, 4])).map { _ in
                Document.RolePin(pin: self.pin(), role: self.generator.pick(PinRole.allCases))
            })
    }

    private mutating func gate() throws -> VersionGate {
        var gate = VersionGate()
        let bounds = try [self.generator.pick(Self.versions), self.generator.pick(Self.versions)].map {
            try AppVersion($0)
        }.sorted()
        if self.generator.isHit(0.5) { gate.minimum = bounds[0] }
        if self.generator.isHit(0.3) { gate.maximum = bounds[1] }
        if self.generator.isHit(0.3) { gate.excluded = [try AppVersion(self.generator.pick(Self.versions))] }
        if self.generator.isHit(0.3) || gate.isOpen { gate.minimumBuild = self.generator.pick([0, 42]) }
        return gate
    }

    private mutating func rollout() -> Rollout {
        var rollout = Rollout(basisPoints: self.generator.pick([0, 100, 2500, 5000, 9900, 10_000]))
        if self.generator.isHit(0.2) {
            rollout.bucketing = .unleash
        } else if self.generator.isHit(0.3) {
            rollout.basisPoints = 1234
        }
        rollout.method = self.generator.pick([.percentage, .percentage, .percentage, .whitelist, .geography])
        rollout.seed = Array(
            Rollout.Seed.allCases.shuffled(using: &self.generator).prefix(self.generator.pick([1, 2, 3])))
        rollout.isSticky = self.generator.isHit(0.5)
        rollout.salt = self.generator.isHit(0.9) ? self.generator.pick(Self.salts) : nil
        if rollout.method == .geography || self.generator.isHit(0.1) { rollout.countries = ["DE", "AT"] }
        func listed(_ generator: inout SeededGenerator) -> [String] {
            (0..<generator.pick([1, 4, 8])).map { _ in
                Rollout.hashedID(generator.pick(Self.ids), salt: rollout.salt ?? "")
            }
        }
        if self.generator.isHit(0.4) { rollout.whitelist = listed(&self.generator) }
        if self.generator.isHit(0.3) { rollout.exclusions = listed(&self.generator) }
        return rollout
    }

    private mutating func killSwitch(_ names: [String]) throws -> Document.KillSwitch {
        let begin = Self.now + self.generator.pick([-7200, -100, 0, 100])
        let scope = self.generator.pick(["everything", "app", "host", "host", "host", "app_versions", "app_versions"])
        return Document.KillSwitch(
            scope: scope, host: scope == "host" ? try HostPattern(self.generator.pick(names)) : nil,
            versions: scope == "app_versions" ? try self.gate() : nil, engagedAt: Timestamp(seconds: begin),
            expiresAt: Timestamp(seconds: begin + self.generator.pick([50, 3600, 100_000])))
    }

    mutating func document() throws -> Document {
        let names = Array(Self.names.shuffled(using: &self.generator).prefix(self.generator.pick([0, 1, 3, 4, 5, 8])))
        let hosts = try names.map { name -> Document.Host in
            let candidate = self.generator.isHit(0.7) ? self.policy() : nil
            return Document.Host(
                pattern: try HostPattern(name), includesSubdomains: self.generator.isHit(0.4),
                baseline: self.generator.isHit(0.85) ? self.policy() : nil, candidate: candidate,
                rollout: self.generator.isHit(0.7) ? self.rollout() : nil)
        }
        let builtin = try ["old.example.com", "*.old.example.com", "*.example.org"].map { try HostPattern($0) }
        let switched = names + ["old.example.com", "*.old.example.com"]
        let count = self.generator.isHit(0.4) ? self.generator.pick([1, 2, 3]) : 0
        let end =
            self.generator.isHit(0.3) ? Timestamp(seconds: Self.now + self.generator.pick([-10, 0, 10, 100_000])) : nil
        return Document(
            issuer: "pinledger", app: try AppID("com.example.shop"), version: Int64(self.generator.next() % 1000),
            pinsValidUntil: end, killSwitches: try (0..<count).map { _ in try self.killSwitch(switched) },
            rollout: self.generator.isHit(0.4) ? self.rollout() : nil,
            versionGate: self.generator.isHit(0.4) ? try self.gate() : nil,
            hosts: hosts,
            fallback: Fallback(
                usesBuiltinPins: self.generator.isHit(0.6), hosts: self.generator.isHit(0.5) ? builtin.sorted() : []),
            monitoring: Monitoring(isEnabled: self.generator.isHit(0.5)))
    }
}

import PinWire
import Testing

@Suite struct `An evaluation` {
    private let now = Timestamp(seconds: 1_800_000_000)

    private func document(
        _ hosts: [(String, Bool)], fallback: Fallback = Fallback(), killSwitches: [Document.KillSwitch] = []
    ) throws -> Document {
        Document(
            issuer: "pinledger", app: try AppID("app"), version: 1, pinsValidUntil: nil, killSwitches: killSwitches,
            rollout: nil, versionGate: nil,
            hosts: try hosts.map { text, below in
                .init(
                    pattern: try host(text), includesSubdomains: below,
                    baseline: .init(mode: .enforce, pins: [.init(pin: try pin(1), role: .primary)]), candidate: nil,
                    rollout: nil)
            },
            fallback: fallback, monitoring: Monitoring())
    }

    @Test(
        arguments: [
            ("example.com", "example.com", "host_exact"), ("EXAMPLE.com", "example.com", "host_exact"),
            ("example.com.", "example.com", "host_exact"), ("api.example.com", "api.example.com", "host_exact"),
            ("www.example.com", "*.example.com", "host_wildcard"),
            ("a.www.example.com", "*.example.com", "host_subdomain"),
            ("v1.api.example.com", "*.api.example.com", "host_wildcard"),
            ("a.v1.api.example.com", "*.example.com", "host_subdomain"),
            ("x.deep.example.com", "deep.example.com", "host_subdomain"),
            ("y.x.Deep.Example.Com.", "deep.example.com", "host_subdomain"),
            ("example.net", "*.example.net", nil), ("a.example.net", "*.example.net", "host_wildcard"),
            ("a.b.example.net", nil, nil), ("anexample.com", nil, nil), ("com", nil, nil), ("", nil, nil),
            (".", nil, nil),
            ("..", nil, nil), (".example.com", nil, nil), ("example..com", nil, nil), ("example.com..", nil, nil),
            ("*.example.com", "*.example.com", "host_wildcard"), ("exämple.com", nil, nil), ("example.com ", nil, nil),
            ("example.com\0", nil, nil), ("example.com:443", nil, nil), ("\u{212A}.example.com", nil, nil),
            ("192.0.2.1", nil, nil),
        ] as [(String, String?, String?)])
    func `an evaluation finds the pattern that covers a name`(name: String, pattern: String?, how: String?) throws {
        let evaluator = Evaluator(
            try self.document([
                ("example.com", true), ("*.example.com", true), ("api.example.com", false),
                ("*.api.example.com", false),
                ("deep.example.com", true), ("*.example.net", false),
            ]))
        let decision = evaluator.explain(name, for: Device(), at: self.now)
        guard let pattern, let how else {
            #expect(decision.outcome == .off && decision.reason == .hostUnknown && decision.pattern == nil)
            #expect(decision.trace.map(\.reason) == [.hostUnknown])
            return
        }
        #expect(decision.pattern?.text == pattern)
        #expect(decision.trace.first?.reason.rawValue == how)
        #expect(decision.outcome == .enforce && decision.arm == .baseline)
    }

    @Test func `an evaluation accepts names of any length`() throws {
        let evaluator = Evaluator(try self.document([("example.com", true)]))
        for count in [253, 254, 100_000] {
            let name = String(repeating: "a.", count: (count - 11) / 2) + "example.com"
            let expected: DeviceDecision.Outcome = name.utf8.count <= 253 ? .enforce : .off
            #expect(evaluator.decide(name, for: Device(), at: self.now).outcome == expected)
        }
    }

    @Test(arguments: [true, false])
    func `an evaluation gives built-in pins to a name that the app ships pins for and the document does not know`(
        isUsed: Bool
    ) throws {
        let until = self.now.adding(seconds: 60)
        let hosts = [try host("old.example.com"), try host("*.old.example.com")]
        let evaluator = Evaluator(
            try self.document(
                [("api.example.com", false)], fallback: Fallback(usesBuiltinPins: isUsed, hosts: hosts),
                killSwitches: [
                    .init(scope: "host", host: try host("b.old.example.com"), engagedAt: self.now, expiresAt: until)
                ]))
        for (name, isKnown) in [
            ("old.example.com", true), ("a.OLD.example.com.", true), ("a.a.old.example.com", false),
            ("new.example.com", false),
        ] {
            let decision = evaluator.decide(name, for: Device(), at: self.now)
            #expect(decision.outcome == (isUsed && isKnown ? .builtin : .off), "\(name)")
            #expect(decision.reason == (isUsed && isKnown ? .hostBuiltin : .hostUnknown), "\(name)")
        }
        let off = evaluator.decide("b.old.example.com", for: Device(), at: self.now)
        #expect(off.outcome == .off && off.reason == (isUsed ? .killSwitchEngaged : .hostUnknown))
    }

    @Test func `an evaluation obeys a kill switch that lies ahead by the device's slow clock`() throws {
        let document = try self.document(
            [("api.example.com", false)],
            killSwitches: [
                .init(scope: "app", host: nil, engagedAt: self.now, expiresAt: self.now.adding(seconds: 600))
            ])
        let issued = IssuedDocument(document, issuedAt: self.now, expiresAt: self.now.adding(seconds: 60))
        let slow = self.now.adding(seconds: -3600)
        #expect(Evaluator(issued).decide("api.example.com", for: Device(), at: slow).reason == .killSwitchEngaged)
        #expect(Evaluator(document).decide("api.example.com", for: Device(), at: slow).outcome == .enforce)
        #expect(
            Evaluator(document).explain("api.example.com", for: Device(), at: slow).trace[1].reason == .killSwitchAhead)
    }

    @Test(
        arguments: [
            nil, "", " ", "\t\n", "unknown", "UNKNOWN", "Anonymous", "00000000-0000-0000-0000-000000000000", "a\0b",
        ] as [String?])
    func `an evaluation lets in no device without an id`(id: String?) throws {
        for bucketing in Rollout.Bucketing.allCases {
            var rollout = Rollout(basisPoints: 10_000, seed: [.userID, .deviceID], bucketing: bucketing)
            rollout.whitelist = id.map { [Rollout.hashedID($0, salt: "")] } ?? []
            let evaluator = Evaluator(try oneHost(rollout))
            let device = Device(ids: id.map { [.userID: $0] } ?? [:])
            let decision = evaluator.decide("api.example.com", for: device, at: self.now)
            #expect(decision.reason == .seedMissing && decision.arm == .baseline && decision.outcome == .enforce)
            // The next id of the rollout's list is then the one to draw from.
            let other = Device(ids: [.userID: id ?? "", .deviceID: "device-1"])
            let explained = evaluator.explain("api.example.com", for: other, at: self.now)
            #expect(explained.reason == .rolloutIn && explained.trace.compactMap(\.draw).map(\.seed) == [.deviceID])
        }
    }

    @Test(
        arguments: [
            ("DE", "DE"), ("de", "DE"), ("dE", "DE"), ("D", nil), ("DEU", nil), ("", nil), ("T1", nil), ("XX", nil),
            ("zz", nil),
            ("é", nil), ("D\u{0}", nil), ("ß", nil),
        ] as [(String, String?)])
    func `an evaluation takes only two letters for a country`(text: String, code: String?) {
        #expect(Device(country: text).country == code)
    }

    @Test func `an evaluation's trace has the order of the rules, with everything but the id`() throws {
        var document = try oneHost(Rollout(basisPoints: 5000, seed: [.installID], salt: "s"))
        document.rollout = Rollout(basisPoints: 10_000, seed: [.userID, .installID], salt: "t")
        document.versionGate = VersionGate(minimum: try AppVersion("1.0"))
        document.killSwitches = [
            .init(
                scope: "app_versions", host: nil, versions: VersionGate(minimum: try AppVersion("3")),
                engagedAt: Timestamp(seconds: 0), expiresAt: self.now.adding(seconds: 60))
        ]
        let issued = IssuedDocument(document, issuedAt: self.now, expiresAt: self.now)
        let id = "somebody's id"
        let device = Device(ids: [.installID: id], appVersion: "2.0")
        let decision = Evaluator(issued).explain("api.example.com", for: device, at: self.now)
        let reasons: [DeviceDecision.Reason] = [
            .hostExact, .killSwitchOtherVersions, .documentStale, .candidateThere, .versionGateIn, .rolloutIn,
        ]
        #expect(Array(decision.trace.map(\.reason).prefix(6)) == reasons)
        #expect(decision.trace.map(\.rule) == DeviceDecision.Rule.allCases)
        let bucket = Rollout.Bucketing.pinroll.bucket(of: id, seed: .installID, salt: "s")
        #expect(
            decision.trace[6].draw
                == .init(bucket: bucket, basisPoints: 5000, salt: "s", seed: .installID, bucketing: .pinroll))
        #expect(decision.trace[1].killSwitch == document.killSwitches[0])
        #expect(decision.trace[7].arm == decision.arm)
        #expect(!decision.json.canonicalText.contains("somebody"))
        #expect(!"\(decision)".contains("somebody"))
    }

    @Test func `an evaluation of a document decided for a device says which policy it is`() throws {
        var document = try self.document([("api.example.com", false)])
        document.hosts[0].arm = .candidate
        let decision = Evaluator(document).explain("api.example.com", for: Device(), at: self.now)
        #expect(decision.outcome == .enforce && decision.arm == .candidate && decision.reason == .serverDecided)
        #expect(decision.trace.last?.arm == .candidate)
    }
}

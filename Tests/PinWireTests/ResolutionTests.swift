import PinWire
import SeededRandom
import Testing

@Suite struct `A document that was decided for a device` {
    private static let devices = [
        Device(), Device(ids: [.deviceID: "device-1"], appVersion: "2.0", build: 5, country: "DE"),
        Device(ids: [.userID: "a", .installID: "b"], appVersion: "1.0-rc.1", country: "FR"),
        Device(ids: [.deviceID: "unknown", .installID: "c"], appVersion: "x", build: .max, country: "AT"),
        Device(ids: [.deviceID: "device-2", .userID: "c"], appVersion: "3.1.2.3", build: 0),
    ]

    @Test func `a document decided for a device decides as the whole document does, whatever holds and at any time`()
        throws
    {
        var generator = SeededGenerator(seed: 31)
        var arms: Set<PolicyArm> = []
        for _ in 0..<TestDepth.rounds(400) {
            var document = try randomDocument(&generator)
            document.evaluatedFrom = nil
            for place in document.hosts.indices { document.hosts[place].arm = nil }
            // Most of the times that are drawn lie thousands of years ahead.
            for place in document.killSwitches.indices where Bool.random(using: &generator) {
                document.killSwitches[place].engagedAt = Timestamp(seconds: 10)
            }
            let whole = Evaluator(
                IssuedDocument(document, issuedAt: Timestamp(seconds: 5), expiresAt: Timestamp(seconds: 90)))
            for device in Self.devices {
                let resolution = whole.resolution(for: device)
                let resolved = whole.document(for: resolution)
                #expect(resolved.evaluatedFrom == document.contentDigest)
                #expect(resolved.rollout == nil && resolved.versionGate == nil)
                #expect(resolved.hosts.allSatisfy { $0.candidate == nil && $0.rollout == nil && $0.arm != nil })
                // It is a document like any other, and can be read back.
                let issued = IssuedDocument(
                    resolved, issuedAt: Timestamp(seconds: 5), expiresAt: Timestamp(seconds: 90))
                let payload = resolved.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt)
                #expect(try IssuedDocument(payload: payload) == issued)
                let single = Evaluator(issued)
                for now in [Timestamp(seconds: 20), Timestamp(seconds: 200_000_000_000)] {
                    for name in [
                        "a.example.com", "b.example.com", "x.a.example.com", "xn--bcher-kva.example", "y.test",
                    ] {
                        let (one, other) = (
                            whole.decide(name, for: device, at: now), single.decide(name, for: device, at: now)
                        )
                        #expect(one.outcome == other.outcome && one.pins == other.pins && one.arm == other.arm)
                        #expect(one.pattern == other.pattern)
                        if let arm = one.arm { arms.insert(arm) }
                    }
                }
            }
        }
        #expect(arms.count == 2)
    }

    @Test func `a document decided for a device is the same for devices that get the same, and differs for others`()
        throws
    {
        let evaluator = Evaluator(try oneHost(Rollout(basisPoints: 5000, salt: "s")))
        var documents: [Evaluator.Resolution: Document] = [:]
        for number in 0..<100 {
            let resolution = evaluator.resolution(for: Device(ids: [.deviceID: "device-\(number)"]))
            documents[resolution] = evaluator.document(for: resolution)
        }
        #expect(documents.count == 2)
        #expect(Set(documents.values.map { $0.hosts[0].arm }) == [.baseline, .candidate])
        #expect(Set(documents.values.map(\.contentDigest)).count == 2)
    }

    @Test func `a document decided for a device drops only version kill switches that its version is known to escape`()
        throws
    {
        var document = try oneHost(Rollout(basisPoints: 0))
        let end = Timestamp(seconds: 100)
        document.killSwitches = [
            .init(
                scope: "app_versions", host: nil,
                versions: VersionGate(minimum: try AppVersion("3.1"), maximum: try AppVersion("3.2")),
                engagedAt: Timestamp(seconds: 0), expiresAt: end),
            .init(
                scope: "host", host: try host("other.example.com"), engagedAt: Timestamp(seconds: 0), expiresAt: end),
        ]
        let evaluator = Evaluator(document)
        for (version, count) in [("3.1.5", 2), ("3.3", 1), (nil, 2), ("x", 2)] as [(String?, Int)] {
            let resolution = evaluator.resolution(for: Device(appVersion: version))
            #expect(evaluator.document(for: resolution).killSwitches.count == count, "\(version ?? "none")")
        }
    }

    @Test func `a document decided for a device depends on the country only where a rollout uses it`() throws {
        let evaluator = Evaluator(try oneHost(Rollout(basisPoints: 1)))
        #expect(!evaluator.dependsOnCountry && evaluator.candidateCount == 1)
        var document = try oneHost(Rollout(basisPoints: 1, method: .geography, countries: ["DE"]))
        #expect(Evaluator(document).dependsOnCountry)
        document.rollout = document.hosts[0].rollout
        document.hosts[0].rollout = nil
        #expect(Evaluator(document).dependsOnCountry)
        document.hosts[0].candidate = nil
        #expect(!Evaluator(document).dependsOnCountry && Evaluator(document).candidateCount == 0)
    }
}

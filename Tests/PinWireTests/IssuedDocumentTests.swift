import PinWire
import SeededRandom
import Testing

@Suite struct `A document's payload` {
    @Test(arguments: ["full", "empty", "evaluated"])
    func `a document's payload in the golden files is read back`(name: String) throws {
        let payload = try testFile("Golden/document-\(name).json")
        let issued = try IssuedDocument(payload: payload)
        #expect(issued.document.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt) == payload)
        #expect(issued.issuedAt.seconds == 1_769_860_800 && issued.expiresAt.seconds == 1_769_947_200)
        #expect(try Document(payload: payload) == issued.document)
        let digest = try #require(JSON(parsing: payload)["content_sha256"]?.stringValue)
        #expect(Hex.encode(issued.contentDigest) == digest)
    }

    @Test func `a document's payload gives back the document that it was made from, whichever that is`() throws {
        var generator = SeededGenerator(seed: 7)
        for round in 0..<TestDepth.rounds(400) {
            let document = try randomDocument(&generator)
            let issued = IssuedDocument(
                document, issuedAt: Timestamp(seconds: Int64(round)),
                expiresAt: Timestamp(seconds: 253_402_300_799 - Int64(round)))
            let payload = document.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt)
            #expect(try IssuedDocument(payload: payload) == issued, "\(round)")
        }
    }

    /// Decisions by the signed value and by the value that was read are the same at any time.
    @Test func `a document's payload gives back instants in whole seconds, though they were recorded in microseconds`()
        throws
    {
        var generator = SeededGenerator(seed: 7)
        var document = try randomDocument(&generator)
        let end = Timestamp(microseconds: 1_769_860_800_750_000)
        document.pinsValidUntil = end
        document.killSwitches = [
            .init(scope: "app", host: nil, engagedAt: Timestamp(microseconds: 1_769_860_000_250_000), expiresAt: end)
        ]
        let start = Timestamp(seconds: 1_769_860_000)
        let payload = document.payload(issuedAt: start, expiresAt: start.adding(seconds: 86_400))
        let read = try IssuedDocument(payload: payload)
        #expect(read.document == document)
        for offset in stride(from: Int64(0), through: 1_000_000, by: 125_000) {
            let now = Timestamp(microseconds: 1_769_860_800_000_000 + offset)
            let (here, there) = (Evaluator(document), Evaluator(read))
            #expect(
                here.decide("api.example.com", for: Device(), at: now)
                    == there.decide("api.example.com", for: Device(), at: now), "\(offset)")
        }
    }

    @Test func `a document's payload is printable ASCII whatever the salt, and gives the salt back`() throws {
        var generator = SeededGenerator(seed: 7)
        var document = try randomDocument(&generator)
        document.rollout = Rollout(basisPoints: 2500, salt: "日本")
        let start = Timestamp(seconds: 1_769_860_000)
        let payload = document.payload(issuedAt: start, expiresAt: start.adding(seconds: 60))
        #expect(payload.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(String(decoding: payload, as: UTF8.self).contains(#""salt_utf8":"e697a5e69cac""#))
        #expect(try IssuedDocument(payload: payload).document == document)
    }

    /// Payloads that differ from a good one in one thing each.
    @Test func `a document's payload that differs in anything is refused`() throws {
        let good = String(decoding: try testFile("Golden/document-full.json"), as: UTF8.self)
        let changes = [
            ("\"aud\":\"com.example.app\"", "\"aud\":\"com.example..app\""), ("pinroll/v1", "pinroll/v2"),
            ("\"version\":42", "\"version\":43"), ("\"version\":42", "\"version\":-1"),
            ("\"version\":42", "\"version\":42.0"),
            ("\"version\":42,", ""), ("\"version\":42", "\"version\":\"42\""), ("\"version\":42", "\"version\":null"),
            ("\"version\":42", "\"version\":42,\"version\":42"), ("\"version\":42", "\"surprise\":1,\"version\":42"),
            ("\"iat\":1769860800", "\"iat\":9007199254740991"), ("\"iat\":1769860800", "\"iat\":-1"),
            ("2990cbc8", "2990cbc9"), ("2990cbc8", "2990CBC8"), ("enforce", "enforced"), ("sha256", "sha512"),
            ("\"primary\"", "\"secondary\""), ("kYSr0rsx", "kYSr0r=x"), ("A=\"}", "A\"}"), ("*.example.com", "*.*.com"),
            ("*.example.com", "old.example.com"), ("\"scope\":\"host\"", "\"scope\":\"app\""),
            ("\"scope\":\"everything\"", "\"scope\":\"host\""),
            ("\"scope\":\"everything\"", "\"scope\":\"app_versions\""),
            ("\"scope\":\"everything\"", "\"scope\":\"galaxy\""), ("\"basis_points\":100", "\"basis_points\":10001"),
            ("[\"AT\",\"DE\"]", "[]"), ("[\"AT\",\"DE\"]", "[\"DE\",\"at\"]"),
            ("\"device_id\"]", "\"device_id\",\"mac\"]"),
            ("{\"aud\"", " {\"aud\""), ("{\"aud\"", "[{\"aud\""), ("\"source\":\"builtin\"", "\"source\":\"sky\""),
            ("\"source\":\"builtin\"", "\"mode\":\"off\",\"source\":\"builtin\""), ("pins.example.com", "pins\\u00e9"),
            ("pins.example.com", "pins\\u002eexample.com"), ("1e8c2849", "1e8c284"), ("\"1.6.1\"", "\"v1.6.1\""),
        ]
        for (from, to) in changes {
            try #require(good.contains(from), "\(from)")
            let payload = Array(good.replacing(from, with: to, maxReplacements: 1).utf8)
            #expect(throws: IssuedDocument.Malformed.self, "\(to)") { try IssuedDocument(payload: payload) }
            #expect(throws: IssuedDocument.Malformed.self, "\(to)") { try IssuedDocument(parsing: payload) }
        }
        #expect(throws: IssuedDocument.Malformed.self) { try IssuedDocument(payload: Array((good + " ").utf8)) }
    }

    @Test
    func `a document's payload with one byte changed, cut off or doubled never gives another document, nor crashes`()
        throws
    {
        let good = try testFile("Golden/document-full.json")
        let document = try Document(payload: good)
        var generator = SeededGenerator(seed: 11)
        var accepted = 0
        for _ in 0..<TestDepth.rounds(3000) {
            var payload = good
            let place = Int.random(in: payload.indices, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: payload[place] = payload[place] &+ UInt8.random(in: 1...255, using: &generator)
            case 1: payload.removeSubrange(place...)
            case 2: payload.remove(at: place)
            default: payload.insert(payload[place], at: place)
            }
            let read = try? IssuedDocument(payload: payload)
            #expect(read == (try? IssuedDocument(parsing: payload)))
            guard let read else { continue }
            // Only a digit of `iat` or `exp`, which the digest does not cover, the signature does.
            accepted += 1
            #expect(read.document == document)
        }
        #expect(accepted < 60)
    }

    /// Hosts in the forms that most have, and in those that are read as JSON values.
    @Test(arguments: UInt64(0)..<8)
    func `hosts that are read in place are those that are read as values`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var document = try oneHost(Rollout(basisPoints: 1))
        let policies: [Document.Policy?] = [
            nil, Document.Policy(mode: .off, pins: []),
            Document.Policy(
                mode: .reportOnly,
                pins: try (0..<3).map {
                    Document.RolePin(pin: try #require(Pin(bytes: sha256([UInt8($0)]))), role: PinRole.allCases[$0])
                }),
        ]
        let rollouts: [Rollout?] = [
            nil, Rollout(basisPoints: 0),
            Rollout(basisPoints: 10_000, seed: [.userID, .installID], isSticky: false, salt: "a b"),
            Rollout(basisPoints: 7, salt: "é"), Rollout(basisPoints: 7, salt: "a\"b"),
            Rollout(basisPoints: 7, method: .geography, countries: ["AT"]),
            Rollout(basisPoints: 100, bucketing: .unleash),
            Rollout(basisPoints: 7, method: .whitelist, whitelist: [Rollout.hashedID("a", salt: "")]),
        ]
        document.hosts = try [
            "api.example.com", "*.example.com", "xn--bcher-kva.example", "a.b0x", "n.abc", "x.example.com",
        ].map {
            Document.Host(
                pattern: try HostPattern($0), includesSubdomains: generator.once(in: 2),
                baseline: generator.pick(policies),
                candidate: generator.pick(policies), rollout: generator.pick(rollouts),
                arm: generator.once(in: 6) ? .candidate : nil)
        }
        let good = document.payload(issuedAt: Timestamp(seconds: 5), expiresAt: Timestamp(seconds: 6))
        #expect(try IssuedDocument(payload: good) == IssuedDocument(parsing: good))
        #expect(try IssuedDocument(payload: good).document == document)
        for _ in 0..<TestDepth.rounds(1500) {
            var payload = good
            let place = Int.random(in: payload.indices, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: payload[place] = generator.pick(Array(#"{}[],:"0a1A="#.utf8))
            case 1: payload.remove(at: place)
            case 2: payload.insert(payload[place], at: place)
            default: payload.swapAt(place, Int.random(in: payload.indices, using: &generator))
            }
            #expect((try? IssuedDocument(payload: payload)) == (try? IssuedDocument(parsing: payload)))
        }
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "\u{FEFF}{}", String(repeating: "[", count: 100_000),
        String(repeating: "{\"a\":", count: 100_000), "{\"hosts\":[" + String(repeating: "0,", count: 600_000) + "0]}",
        String(repeating: " ", count: 3 << 20),
    ])
    func `a text that is not a document's payload is refused`(text: String) {
        #expect(throws: IssuedDocument.Malformed.self) { try IssuedDocument(payload: Array(text.utf8)) }
    }

    @Test func `a document's payload may have 1000 hosts and no more`() throws {
        var document = try oneHost(Rollout(basisPoints: 1))
        let one = document.hosts[0]
        for count in [1000, 1001] {
            document.hosts = try (0..<count).map { number in
                var another = one
                another.pattern = try host("h\(number).example.com")
                return another
            }
            let payload = document.payload(issuedAt: Timestamp(seconds: 1), expiresAt: Timestamp(seconds: 2))
            #expect((try? IssuedDocument(payload: payload))?.document == (count == 1000 ? document : nil))
        }
    }
}

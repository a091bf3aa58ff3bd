import Foundation
import PinWire
import Testing

@Suite struct `A document` {
    /// One of everything that a document can hold.
    private func document() throws -> Document {
        let hash = Rollout.hashedID("alice", salt: "com.example.app")
        return Document(
            issuer: "pins.example.com",
            app: try AppID("com.example.app"),
            version: 42,
            pinsValidUntil: Timestamp(seconds: 1_800_000_000),
            killSwitches: [
                .init(
                    scope: "host", host: try host("old.example.com"), engagedAt: Timestamp(seconds: 1_769_860_000),
                    expiresAt: Timestamp(microseconds: 1_769_946_400_999_999)
                ),
                .init(
                    scope: "everything", host: nil, engagedAt: Timestamp(seconds: 1_769_860_001),
                    expiresAt: Timestamp(seconds: 1_769_860_002)
                ),
            ],
            rollout: Rollout(basisPoints: 2500, seed: [.userID, .deviceID], salt: "spring"),
            versionGate: VersionGate(
                minimum: try AppVersion("1.5"), excluded: [try AppVersion("1.6.1")], minimumBuild: 150),
            hosts: [
                .init(
                    pattern: try host("*.example.com"), includesSubdomains: true,
                    baseline: .init(
                        mode: .enforce,
                        pins: [
                            .init(pin: try pin(1), role: .primary), .init(pin: try pin(2), role: .backup),
                            .init(pin: try pin(3), role: .emergency),
                        ]
                    ),
                    candidate: .init(mode: .reportOnly, pins: [.init(pin: try pin(4), role: .primary)]),
                    rollout: Rollout(
                        basisPoints: 100, method: .geography, isSticky: false, countries: ["AT", "DE"],
                        whitelist: [hash]
                    )
                ),
                .init(
                    pattern: try host("old.example.com"), includesSubdomains: false, baseline: nil, candidate: nil,
                    rollout: nil
                ),
            ],
            fallback: Fallback(hosts: [try host("old.example.com")]),
            monitoring: Monitoring(isEnabled: true, failureThreshold: 250, autoDisables: false)
        )
    }

    private let issued = Timestamp(microseconds: 1_769_860_800_123_456)

    @Test(arguments: ["full", "empty", "evaluated"])
    func `a document has the bytes of its golden file`(name: String) throws {
        var document = try self.document()
        if name == "empty" {
            document = Document(
                issuer: "pinledger", app: document.app, version: 1, pinsValidUntil: nil, killSwitches: [], rollout: nil,
                versionGate: nil, hosts: [], fallback: Fallback(), monitoring: Monitoring()
            )
        }
        if name == "evaluated" {
            document.killSwitches[1].scope = "app_versions"
            document.killSwitches[1].versions = VersionGate(maximum: try AppVersion("1.5"))
            let evaluator = Evaluator(document)
            document = evaluator.document(
                for: evaluator.resolution(
                    for: Device(ids: [.userID: "alice", .deviceID: "bob"], appVersion: "1.5", build: 150)))
        }
        let payload = document.payload(issuedAt: self.issued, expiresAt: self.issued.adding(seconds: 86_400))
        let path = "Golden/document-\(name).json"
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: path)
        // Written once and then left as it is, or it would prove nothing.
        if ProcessInfo.processInfo.environment["PINLEDGER_WRITE_GOLDEN"] == "1",
            !FileManager.default.fileExists(atPath: file.path())
        {
            try Data(payload).write(to: file)
        }
        #expect(payload == (try testFile(path)))
        #expect(try JSON(parsing: payload).canonicalBytes == payload)
    }

    @Test func `a document keeps the digest of its content when it is signed again`() throws {
        let document = try self.document()
        let first = try JSON(
            parsing: document.payload(issuedAt: self.issued, expiresAt: self.issued.adding(seconds: 60)))
        let later = self.issued.adding(seconds: 3600)
        let second = try JSON(parsing: document.payload(issuedAt: later, expiresAt: later.adding(seconds: 7200)))
        #expect(first["content_sha256"] == second["content_sha256"])
        #expect(first["content_sha256"] == .string(Hex.encode(document.contentDigest)))
        #expect(first["iat"] == 1_769_860_800 && first["exp"] == 1_769_860_860)
        #expect(second["iat"] == 1_769_864_400 && second["exp"] == 1_769_871_600)
        var members = try #require(first.objectValue)
        for name in ["iat", "exp", "content_sha256"] { members[name] = nil }
        #expect(sha256(JSON.object(members).canonicalBytes) == document.contentDigest)
        #expect(JSON.object(members) == document.content)
    }

    @Test func `a document has another digest when anything but its freshness differs`() throws {
        let original = try self.document()
        let changes: [(inout Document) throws -> Void] = [
            { $0.issuer = "other" }, { $0.app = try AppID("other") }, { $0.version += 1 }, { $0.pinsValidUntil = nil },
            { $0.killSwitches.removeLast() }, { $0.rollout = nil }, { $0.versionGate = nil }, { $0.hosts.removeLast() },
            { $0.hosts[0].includesSubdomains = false }, { $0.hosts[0].baseline?.mode = .off },
            { $0.hosts[0].baseline?.pins.swapAt(0, 1) }, { $0.hosts[0].candidate = nil }, { $0.hosts[0].rollout = nil },
            { $0.fallback.usesBuiltinPins = false }, { $0.monitoring.failureThreshold = 251 },
            { $0.archivedAt = self.issued }, { $0.evaluatedFrom = sha256([1]) }, { $0.hosts[0].arm = .candidate },
            { $0.hosts[0].arm = .baseline },
        ]
        var digests: Set = [original.contentDigest]
        for change in changes {
            var document = original
            try change(&document)
            digests.insert(document.contentDigest)
        }
        #expect(digests.count == changes.count + 1)
    }

    @Test func `a document is printable ASCII and whole numbers only`() throws {
        let payload = try self.document().payload(issuedAt: self.issued, expiresAt: self.issued)
        #expect(String(decoding: payload, as: UTF8.self).isPrintableASCII)
        var numbers = 0
        func check(_ value: JSON) {
            switch value {
            case .number, .null: Issue.record("\(value) in a document")
            case .integer(let number):
                numbers += 1
                #expect(number >= 0 && number <= JSON.largestInteger)
            case .array(let elements): elements.forEach(check)
            case .object(let members): members.values.forEach(check)
            case .bool, .string: break
            }
        }
        check(try JSON(parsing: payload))
        #expect(numbers == 12)
    }

    @Test(arguments: [("", true), (" ~", true), ("a\u{7F}", false), ("\n", false), ("é", false), ("a\u{301}", false)])
    func `a document may hold only printable ASCII`(text: String, isPrintable: Bool) {
        #expect(text.isPrintableASCII == isPrintable)
    }
}

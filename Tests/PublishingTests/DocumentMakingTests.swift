import Fixtures
import PinWire
import Pinning
import Publishing
import Testing

/// From state to document: pure.
@Suite struct DocumentMakingTests {
    /// A state after these events of one app, a second apart.
    private static func state(_ app: AppID, _ events: [AppEvent]) throws -> LedgerState {
        var state = LedgerState()
        for (second, event) in events.enumerated() {
            let time = Timestamp(seconds: 1_800_000_000 + Int64(second))
            let isTaken = state.apply(.app(event), of: .app(app), at: time)
            try #require(isTaken)
        }
        return state
    }

    private static func pin(_ number: UInt8) throws -> Pin {
        try #require(Pin(bytes: [number] + (1..<32).map { UInt8($0 * 7) }))
    }

    @Test func `a document with every setting has exactly these bytes`() throws {
        let app = try AppID("com.example.app")
        let (api, wild) = (try HostPattern("api.example.com"), try HostPattern("*.cdn.example.com"))
        let (a, b, c, d) = (try Self.pin(1), try Self.pin(2), try Self.pin(3), try Self.pin(4))
        let expiry = Timestamp(seconds: 1_800_086_400)
        var state = try Self.state(
            app,
            [
                .appCreated(displayName: "Not for clients"),
                .hostAdded(wild, includesSubdomains: false, mode: nil),
                .hostAdded(api, includesSubdomains: true, mode: .enforce),
                .pinStaged(api, .baseline, b, .backup, note: "not for clients"), .pinActivated(api, .baseline, b),
                .pinStaged(api, .baseline, c, .emergency, note: nil), .pinActivated(api, .baseline, c),
                .pinStaged(api, .baseline, a, .primary, note: nil), .pinActivated(api, .baseline, a),
                .pinStaged(api, .baseline, d, .primary, note: nil),
                .candidateStarted(api, mode: .reportOnly),
                .pinStaged(api, .candidate, d, .primary, note: nil), .pinActivated(api, .candidate, d),
                .hostRolloutSet(api, Rollout(basisPoints: 250)),
                .appRolloutSet(Rollout(basisPoints: 5000, isSticky: false)),
                .pinsValidUntilSet(Timestamp(seconds: 1_900_000_000)),
                .killSwitchEngaged(api, expiresAt: expiry),
                .killSwitchEngaged(nil, expiresAt: expiry),
            ]
        )
        let now = Timestamp(seconds: 1_800_000_100)
        let isTaken = state.apply(.fleet(.killSwitchEngaged(expiresAt: expiry)), of: .fleet, at: now)
        #expect(isTaken)
        let document = try #require(state.document(of: app))
        #expect(document.version == 19)
        #expect(document.content.canonicalText == Self.golden)
    }

    private static let golden = """
        {"aud":"com.example.app","bucketing":"pinroll/v1","fallback":{"builtin_pin_hosts":[],"use_builtin_pins":t\
        rue},"hosts":[{"baseline":{"source":"builtin"},"host":"*.cdn.example.com","include_subdomains":false},{"b\
        aseline":{"mode":"enforce","pins":[{"alg":"sha256","role":"primary","spki":"AQcOFRwjKjE4P0ZNVFtiaXB3foWMk\
        5qhqK+2vcTL0tk="},{"alg":"sha256","role":"backup","spki":"AgcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK+2vcTL0tk="},\
        {"alg":"sha256","role":"emergency","spki":"AwcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK+2vcTL0tk="}],"source":"docu\
        ment"},"candidate":{"mode":"report_only","pins":[{"alg":"sha256","role":"primary","spki":"BAcOFRwjKjE4P0Z\
        NVFtiaXB3foWMk5qhqK+2vcTL0tk="}],"source":"document"},"host":"api.example.com","include_subdomains":true,\
        "rollout":{"basis_points":250,"method":"percentage","salt":"host:api.example.com","seed":["device_id"],"s\
        ticky":true}}],"iss":"pinledger","kill_switches":[{"engaged_at":1800000100,"expires_at":1800086400,"scope\
        ":"everything"},{"engaged_at":1800000017,"expires_at":1800086400,"scope":"app"},{"engaged_at":1800000016,\
        "expires_at":1800086400,"host":"api.example.com","scope":"host"}],"monitoring":{"auto_disable":false,"ena\
        bled":false,"failure_threshold_bp":500},"pins_valid_until":1900000000,"rollout":{"basis_points":5000,"met\
        hod":"percentage","salt":"app:com.example.app#15","seed":["device_id"],"sticky":false},"version":19}
        """

    @Test func `an app without anything has an empty document`() throws {
        let app = try AppID("empty")
        let state = try Self.state(app, [.appCreated(displayName: "E")])
        let document = try #require(state.document(of: app))
        #expect(document.version == 1)
        #expect(document.hosts.isEmpty && document.killSwitches.isEmpty && document.rollout == nil)
        #expect(state.document(of: try AppID("other")) == nil)
        #expect(state.documentVersion(of: try AppID("other")) == nil)
    }

    @Test func `the version grows with every event of the app's and of the fleet's, and with no other`() throws {
        let (app, other) = (try AppID("a"), try AppID("b"))
        let events: [(Event, StreamID, grows: Bool)] = [
            (.app(.appRenamed(displayName: "x")), .app(app), true),
            (.app(.appCreated(displayName: "B")), .app(other), false),
            (.fleet(.issuerSet("i")), .fleet, true),
            (.keys(.signingKeyCreated(kid: "k", publicKey: sha256([1]))), .keys, false),
            (.access(.tokenRevoked(id: "t")), .access, false),
            (.app(.appRenamed(displayName: "y")), .app(other), false),
            (.fleet(.killSwitchEngaged(expiresAt: .wall)), .fleet, true),
            (.fleet(.killSwitchReleased), .fleet, true),
        ]
        var state = try Self.state(app, [.appCreated(displayName: "A")])
        for (event, stream, grows) in events {
            let before = try #require(state.documentVersion(of: app))
            let content = state.document(of: app)?.contentDigest
            let isTaken = state.apply(event, of: stream, at: .wall)
            #expect(isTaken)
            let after = try #require(state.documentVersion(of: app))
            #expect(after == before + (grows ? 1 : 0), "\(event)")
            #expect((state.document(of: app)?.contentDigest == content) == !grows, "\(event)")
        }
    }

    @Test func `salts are explicit: given, of the app or host, or of the edit`() throws {
        let app = try AppID("a")
        let host = try HostPattern("api.example.com")
        func salts(_ rollout: Rollout, edits: Int) throws -> [String?] {
            let edit = [AppEvent](repeating: .appRolloutSet(rollout), count: edits)
            let edits = [AppEvent](repeating: .hostRolloutSet(host, rollout), count: edits)
            let state = try Self.state(
                app,
                [
                    .appCreated(displayName: "A"), .hostAdded(host, includesSubdomains: false, mode: .off),
                    .candidateStarted(host, mode: .off),
                ] + edit + edits
            )
            let document = try #require(state.document(of: app))
            return [document.rollout?.salt, document.hosts.first?.rollout?.salt]
        }
        let sticky = Rollout(basisPoints: 1)
        let fresh = Rollout(basisPoints: 1, isSticky: false)
        let given = Rollout(basisPoints: 1, isSticky: false, salt: "given")
        let stable = try salts(sticky, edits: 1)
        #expect(stable == ["app:a", "host:api.example.com"])
        #expect(try salts(sticky, edits: 3) == stable)
        #expect(try salts(fresh, edits: 1) == ["app:a#4", "host:api.example.com#5"])
        #expect(try salts(fresh, edits: 2) == ["app:a#5", "host:api.example.com#7"])
        #expect(try salts(given, edits: 2) == ["given", "given"])
    }
}

import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing

/// A ledger that was recorded to while a clock was ahead, after the clock was put right.
@Suite(.database, .timeLimit(.minutes(60)))
struct ClockAheadTests {
    private static let day: Int64 = 86_400

    @Test(arguments: [3, 100] as [Int64])
    func `changes are decided with the present, and recorded with the ledger's last time`(days: Int64) async throws {
        let database = try TestDatabase.current
        let clock = ManualClock()
        try await TestNode.run(on: database, .with { $0.clock = { clock.now } }) { node in
            let app = try Sample.app()
            let token = Actor(kind: .token, id: "tok_1", name: "Ada")
            func issue(_ id: String, _ byte: UInt8) async throws {
                let terms = AccessToken.Terms(kind: .general, grants: [.everywhere(.admin)], principal: nil)
                let end = clock.now.adding(seconds: 90 * Self.day)
                let new = NewToken(id: id, name: id, digest: sha256([byte]), expiresAt: end, terms: terms)
                _ = try await node.writer.execute(try Sample.request(.access(.issueToken(new))))
            }
            try await issue("tok_1", 1)
            _ = try await node.writer.execute(try Sample.create(app, hosts: 1))
            clock.advance(seconds: days * Self.day)
            let ahead = try await node.writer.execute(try Sample.rename(app, "ahead"))
            clock.advance(seconds: -days * Self.day)

            // By a token that has long ended at the ledger's time.
            let end = clock.now.adding(seconds: 3600)
            let kill = try await node.writer.execute(
                try Sample.request(
                    .app(app, [.engageKillSwitch(nil, expiresAt: end)]), actor: token, reason: "an incident"))
            let entry = try #require(kill.entries.first)
            #expect(entry.time == ahead.entries.first?.time)
            #expect(entry.decidedAt == clock.now && ahead.entries.allSatisfy { $0.decidedAt == nil })
            let state = node.ledger.view.state
            #expect(state.apps[app]?.killSwitch == KillSwitch(engagedAt: clock.now, expiresAt: end))
            let switches = try #require(state.document(of: app)?.killSwitches)
            #expect(switches.map(\.engagedAt) == [clock.now.wholeSeconds])
            try await issue("tok_2", 2)

            // Whoever reads the ledger comes to the same.
            let view = try await Ledgers.check(database)
            #expect(view.state.apps == node.ledger.view.state.apps)
            #expect(view.state.access == node.ledger.view.state.access)
            let full = try await node.fullFold()
            #expect(full.head == node.ledger.view.head && full.state.apps == node.ledger.view.state.apps)
            let past = try await LedgerReader(pool: node.pool).past(of: app, at: node.ledger.position)
            #expect(past.state.apps[app] == state.apps[app])

            // Once the real time has come there, entries have no second time.
            clock.advance(seconds: days * Self.day + 1)
            let later = try await node.writer.execute(try Sample.rename(app, "later"))
            #expect(later.entries.first?.time == clock.now && later.entries.first?.decidedAt == nil)
        }
    }

    @Test func `a node whose clock lags a little decides no earlier than the last event`() {
        let now = Timestamp.wall
        for (ahead, present) in [(-5, 0), (0, 0), (5, 5), (6, 0), (259_200, 0)] as [(Int64, Int64)] {
            var head = Head()
            head.lastTime = now.adding(seconds: ahead)
            #expect(head.present(by: now) == now.adding(seconds: present), "\(ahead)")
        }
    }

    @Test func `an audit finds events from the future`() async throws {
        let database = try TestDatabase.current
        let clock = ManualClock()
        let before = clock.now
        try await TestNode.run(on: database, .with { $0.clock = { clock.now } }) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            clock.advance(seconds: 3 * Self.day)
            for name in ["a", "b"] { _ = try await node.writer.execute(try Sample.rename(app, name)) }
            // The clock is put right, and is wrong once more.
            clock.advance(seconds: -3 * Self.day)
            for name in ["c", "d"] { _ = try await node.writer.execute(try Sample.rename(app, name)) }
            clock.advance(seconds: 4 * Self.day)
            _ = try await node.writer.execute(try Sample.rename(app, "e"))
            clock.advance(seconds: -4 * Self.day)
            _ = try await node.writer.execute(try Sample.rename(app, "f"))
            clock.advance(seconds: 4 * Self.day)
        }
        let connection = try await database.connect()
        func findings(at time: Timestamp) async throws -> [LedgerFinding] {
            var expectations = LedgerAuditor.Expectations()
            expectations.time = time
            return try await LedgerAuditor(expectations: expectations).run(on: connection) { _ in }.0.findings.kept
        }
        let found = try await findings(at: before)
        #expect(found.map(\.code) == [.timeAhead, .timeAhead])
        // What was decided with the right clock in between, and behind, has their times alone.
        #expect(found.map(\.position) == [1, 5] && found.map(\.lastPosition) == [2, nil])
        #expect(try await findings(at: clock.now).isEmpty)
        await connection.close()
    }
}

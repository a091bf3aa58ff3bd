import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing

/// Apps as they were.
@Suite(.database, .timeLimit(.minutes(60)))
struct PastTests {
    @Test func `an app at any position is the result of the ledger's first events`() async throws {
        let clock = ManualClock()
        try await TestNode.run(on: try TestDatabase.current, .with { $0.clock = { clock.now } }) { node in
            let apps = [try Sample.app(), try Sample.app()]
            for app in apps { _ = try await node.writer.execute(try Sample.create(app, hosts: 2)) }
            for number in 0..<12 {
                clock.advance(seconds: 10)
                _ = try await node.writer.execute(
                    try Sample.request(.app(apps[number % 2], [.rename("n\(number)")])))
                _ = try await node.writer.execute(try Sample.request(.fleet(.setIssuer("issuer-\(number)"))))
            }
            let reader = LedgerReader(pool: node.pool)
            let entries = try await reader.entries(at: 0..<1000, limit: 1000).map(\.entry)
            var state = LedgerState()
            for position in 0...entries.count {
                let app = apps[position % 2]
                let past = try await reader.past(of: app, at: Int64(position))
                #expect(past.state.apps[app] == state.apps[app])
                #expect(past.state.fleet == state.fleet)
                #expect(past.state.document(of: app) == state.document(of: app))
                #expect(past.time == (position == 0 ? nil : entries[position - 1].time))
                guard position < entries.count else { break }
                let entry = entries[position]
                let isApplied = state.apply(entry.event, of: entry.stream, at: entry.effectiveAt)
                #expect(isApplied)
            }
        }
    }

    @Test func `a stream that is longer than a page is folded to its end`() async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 1))
            for start in stride(from: 0, to: 1200, by: 100) {
                let names = (start..<(start + 100)).map { AppCommand.rename("n\($0)") }
                _ = try await node.writer.execute(try Sample.request(.app(app, names)))
            }
            let past = try await LedgerReader(pool: node.pool).past(of: app, at: node.ledger.position)
            #expect(past.state.apps[app] == node.ledger.view.state.apps[app])
            #expect(past.state.apps[app]?.displayName == "n1199")
        }
    }

    @Test func `a position past the ledger's end is refused`() async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 1))
            let beyond = node.ledger.position + 1
            await #expect(throws: LedgerFault.self) {
                try await LedgerReader(pool: node.pool).past(of: app, at: beyond)
            }
        }
    }
}

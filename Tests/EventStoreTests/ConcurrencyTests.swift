import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// Many writers at once: positions without gaps, nothing lost, nothing twice.
@Suite(.database, .timeLimit(.minutes(60)))
struct ConcurrencyTests {
    @Test(arguments: [1, 3]) func `sixteen clients on some nodes leave a dense ledger that all nodes agree on`(
        nodes count: Int
    ) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(count, on: database) { nodes in
            let apps = try (0..<8).map { _ in try Sample.app() }
            for app in apps { _ = try await nodes[0].insist(try Sample.create(app, key: "create-\(app)", hosts: 2)) }
            let perClient = 25
            let names = try await withThrowingTaskGroup(of: [String].self) { group in
                for client in 0..<16 {
                    group.addTask {
                        let node = nodes[client % count]
                        // Another node's apps are known here a moment after their creation.
                        #expect(await eventually { node.ledger.view.state.apps.count == apps.count })
                        var names: [String] = []
                        for number in 0..<perClient {
                            let name = "client \(client) number \(number)"
                            let recorded = try await node.insist(
                                try Sample.rename(apps[(client + number) % apps.count], name, key: name)
                            )
                            #expect(recorded.entries.count == 1)
                            // What was written is seen at once on the node that wrote it.
                            #expect(node.ledger.position >= recorded.position)
                            names.append(name)
                        }
                        return names
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(names.count == 16 * perClient)
            let end = try await Ledgers.check(database)
            #expect(await eventually { nodes.allSatisfy { $0.ledger.position == end.head.position } })
            let recorded = try await Ledgers.renames(database)
            #expect(recorded.sorted() == names.sorted())
            let full = try await nodes[0].fullFold()
            for node in nodes {
                let view = node.ledger.view
                #expect(node.ledger.fault == nil)
                #expect(view.head == full.head)
                #expect(view.state.json == full.state.json)
            }
        }
    }

    @Test func `exactly one of a hundred edits that expect one version is taken`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            let app = try Sample.app()
            let version = try await nodes[0].writer.execute(try Sample.create(app)).streamVersion
            #expect(await eventually { nodes[1].ledger.position == 1 })
            let results = try await withThrowingTaskGroup(of: Result<Recorded, WriteFailure>.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        await nodes[number % 2].attempt(try Sample.rename(app, "n\(number)", expecting: version))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let won = results.compactMap { try? $0.get() }
            #expect(won.count == 1)
            #expect(won.first?.streamVersion == version + 1)
            let lost = results.filter { result in
                if case .failure(.stale(.app(app), expected: version, actual: version + 1, epoch: 0)) = result {
                    true
                } else {
                    false
                }
            }
            #expect(lost.count == 99)
            #expect(try await Ledgers.check(database).head.position == 2)
        }
    }

    @Test func `commands whose neighbours are refused are recorded all the same`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let good = try (0..<40).map { _ in try Sample.app() }
            let unknown = try Sample.app()
            let outcomes = try await withThrowingTaskGroup(of: (Int, Result<Recorded, WriteFailure>).self) { group in
                for number in 0..<120 {
                    group.addTask {
                        let request =
                            switch number % 3 {
                            case 0: try Sample.create(good[number / 3])
                            case 1: try Sample.rename(unknown, "never")
                            default: try Sample.rename(unknown, "never", expecting: 7)
                            }
                        return (number, await node.attempt(request))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (number, result) in outcomes {
                switch (number % 3, result) {
                case (0, .success(let recorded)): #expect(recorded.entries.count == 1)
                case (1, .failure(.refused(.appUnknown(unknown)))): break
                case (2, .failure(.stale(.app(unknown), expected: 7, actual: 0, epoch: 0))): break
                default: Issue.record("\(number): \(result)")
                }
            }
            #expect(try await Ledgers.check(database).head.position == 40)
        }
    }

    @Test func `a refusal is judged on the ledger's present end, not on this node's last view`() async throws {
        let database = try TestDatabase.current
        // The second node does not follow: it knows nothing but what it finds when it writes.
        try await TestNode.run(2, on: database, .with { $0.follows = false }) { nodes in
            let app = try Sample.app()
            _ = try await nodes[0].writer.execute(try Sample.create(app))
            await #expect(throws: WriteFailure.refused(.appUnknown(app))) {
                try await nodes[1].writer.rehearse(try Sample.rename(app, "x"))
            }
            let renamed = try await nodes[1].writer.execute(try Sample.rename(app, "x", expecting: 1))
            #expect(renamed.streamVersion == 2)
            #expect(nodes[1].ledger.position == 2)
            // The first now believes that the version is 1.
            await #expect(throws: WriteFailure.stale(.app(app), expected: 1, actual: 2, epoch: 0)) {
                try await nodes[0].writer.execute(try Sample.rename(app, "y", expecting: 1))
            }
            await #expect(throws: WriteFailure.refused(.appExists(app))) {
                try await nodes[0].writer.execute(try Sample.create(app))
            }
        }
    }

    @Test func `a rehearsal shows the entries and records nothing`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            let rehearsed = try await node.writer.rehearse(try Sample.create(app, key: "k", hosts: 1)).recorded
            #expect(rehearsed.entries.first?.event == .app(.appCreated(displayName: "App \(app)")))
            #expect(rehearsed.entries.map(\.position) == Array(0..<rehearsed.position))
            #expect(node.ledger.position == 0)
            #expect(try await database.query("SELECT next_position FROM pinledger.head").only.int64(0) == 0)
            #expect(try await database.query("SELECT FROM pinledger.command").isEmpty)
            await #expect(throws: WriteFailure.refused(.appUnknown(app))) {
                try await node.writer.rehearse(try Sample.rename(app, "x"))
            }
            let recorded = try await node.writer.execute(try Sample.create(app, key: "k", hosts: 1))
            #expect(!recorded.isReplay)
        }
    }

    @Test func `times never fall, even where a node's clock does`() async throws {
        let database = try TestDatabase.current
        let clock = ManualClock(Timestamp(rfc3339: "2026-05-05T12:00:00Z") ?? .wall)
        try await TestNode.run(on: database, .with { $0.clock = { clock.now } }) { node in
            let app = try Sample.app()
            let first = try await node.writer.execute(try Sample.create(app))
            clock.advance(seconds: -3600)
            let second = try await node.writer.execute(try Sample.rename(app, "x"))
            #expect(second.entries.first?.time == first.entries.first?.time)
            clock.advance(seconds: 3601)
            let third = try await node.writer.execute(try Sample.rename(app, "y"))
            #expect(third.entries.first?.time == clock.now)
        }
    }
}

import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing

/// Commands with an idempotency key.
@Suite(.database, .timeLimit(.minutes(60)))
struct IdempotencyTests {
    private static func attempts(
        _ count: Int, on nodes: [TestNode], _ request: CommandRequest
    ) async -> [Result<Recorded, WriteFailure>] {
        await withTaskGroup(of: Result<Recorded, WriteFailure>.self) { group in
            for number in 0..<count { group.addTask { await nodes[number % nodes.count].attempt(request) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `a repeated request with its key gets the first result again, also on another node`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            let app = try Sample.app()
            let request = try Sample.create(app, key: "k", hosts: 2)
            let first = try await nodes[0].writer.execute(request)
            #expect(!first.isReplay)
            _ = try await nodes[0].writer.execute(try Sample.rename(app, "later"))
            for node in nodes {
                // It would be refused now, since the app exists: what was recorded is the answer all the same.
                let again = try await node.writer.execute(request)
                #expect(again.isReplay)
                #expect(again.entries == first.entries)
                #expect(again.position == first.position)
                #expect(again.streamVersion == first.streamVersion)
            }
            #expect(try await Ledgers.check(database).head.position == first.position + 1)
        }
    }

    @Test func `a key belongs to the person or service account, whichever of their tokens comes with it`() async throws
    {
        func actor(_ token: String, _ principal: String?) -> Actor {
            Actor(kind: .local, id: token, name: "CI", principalID: principal)
        }
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            func create(_ app: AppID, by actor: Actor) throws -> CommandRequest {
                try Sample.request(.app(app, [.create(displayName: "CI")]), key: "k", actor: actor)
            }
            let (app, other, third) = (try Sample.app(), try Sample.app(), try Sample.app())
            let first = try await nodes[0].writer.execute(try create(app, by: actor("tok_1", "prn_1")))
            // After another sign-in, or the renewal of the token.
            let again = try await nodes[1].writer.execute(try create(app, by: actor("tok_2", "prn_1")))
            #expect(again.isReplay && again.position == first.position)
            // Nobody learns what others' keys are, and tokens that are nobody's own have their own.
            for (app, actor) in [(other, actor("tok_3", "prn_2")), (third, actor("tok_1", nil))] {
                #expect(try await !nodes[0].writer.execute(try create(app, by: actor)).isReplay)
            }
            await #expect(throws: WriteFailure.keyReused) {
                try await nodes[0].writer.execute(try create(other, by: actor("tok_2", "prn_1")))
            }
        }
        _ = try await Ledgers.check(database)
    }

    @Test func `the same key for another request is refused, even if that request would be refused anyway`()
        async throws
    {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, key: "k"))
            for request in [try Sample.rename(app, "x", key: "k"), try Sample.create(app, key: "k", hosts: 1)] {
                await #expect(throws: WriteFailure.keyReused) { try await node.writer.execute(request) }
            }
            #expect(node.ledger.position == 1)
        }
    }

    @Test(arguments: ["create", "rename", "nothing"])
    func `fifty requests at once with one key are recorded once, and so are fifty more`(kind: String) async throws {
        let database = try TestDatabase.current
        try await TestNode.run(2, on: database) { nodes in
            let app = try Sample.app()
            var before: Int64 = 0
            if kind != "create" {
                before = try await nodes[0].writer.execute(try Sample.create(app)).position
                #expect(await eventually { nodes[1].ledger.position == before })
            }
            let request =
                switch kind {
                case "create": try Sample.create(app, key: "k")
                case "rename": try Sample.rename(app, "x", key: "k")
                default: try Sample.rename(app, "App \(app)", key: "k")
                }
            let events = kind == "nothing" ? 0 : 1
            let results = await Self.attempts(50, on: nodes, request)
            for result in results { #expect(throws: Never.self) { try result.get() } }
            let recorded = results.compactMap { try? $0.get() }
            #expect(recorded.count { !$0.isReplay } <= 1)
            #expect(Set(recorded.map(\.position)) == [before + Int64(events)])
            #expect(recorded.allSatisfy { $0.entries.count == events })
            // The node's fold has moved on: a command that found nothing recorded then would find something now.
            _ = try await nodes[0].writer.execute(try Sample.rename(app, "in between"))
            let again = await Self.attempts(50, on: nodes, request)
            for result in again { #expect(throws: Never.self) { try result.get() } }
            let replayed = again.compactMap { try? $0.get() }
            #expect(replayed.count == 50)
            #expect(replayed.allSatisfy { $0.isReplay && $0.entries.count == events })
            #expect(Set(replayed.map(\.position)) == [before + Int64(events)])
            #expect(try await Ledgers.check(database).head.position == before + Int64(events) + 1)
        }
    }

    @Test func `another actor's key is another key`() async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let actors = [
                Actor(kind: .local, id: "a", name: "A"), Actor(kind: .local, id: "b", name: "B"),
                Actor(kind: .system, id: "a", name: "A"),
            ]
            for (number, actor) in actors.enumerated() {
                let request = try Sample.request(.app(app, [.rename("n\(number)")]), key: "k", actor: actor)
                let recorded = try await node.writer.execute(request)
                #expect(!recorded.isReplay)
                #expect(recorded.position == Int64(number + 2))
            }
        }
    }

    @Test func `a command that changes nothing uses up its key, and needs none`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let same = "App \(app)"
            let plain = try await node.writer.execute(try Sample.rename(app, same))
            #expect(plain.entries.isEmpty && !plain.isReplay && plain.position == 1 && plain.streamVersion == 1)
            let keyed = try await node.writer.execute(try Sample.rename(app, same, key: "k"))
            #expect(keyed.entries.isEmpty && !keyed.isReplay && keyed.position == 1)
            let again = try await node.writer.execute(try Sample.rename(app, same, key: "k"))
            #expect(again.entries.isEmpty && again.isReplay && again.position == 1)
            await #expect(throws: WriteFailure.keyReused) {
                try await node.writer.execute(try Sample.rename(app, "other", key: "k"))
            }
            #expect(try await Ledgers.check(database).head.position == 1)
        }
    }

    @Test func `a refused command leaves its key free`() async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            let request = try Sample.rename(app, "x", key: "k")
            await #expect(throws: WriteFailure.refused(.appUnknown(app))) { try await node.writer.execute(request) }
            _ = try await node.writer.execute(try Sample.create(app))
            #expect(try await node.writer.execute(request).isReplay == false)
        }
    }

    @Test func `a replay ignores the version that the first one expected`() async throws {
        try await TestNode.run(on: try TestDatabase.current) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            let request = try Sample.rename(app, "x", key: "k", expecting: 1)
            let first = try await node.writer.execute(request)
            let again = try await node.writer.execute(request)
            #expect(again.isReplay && again.entries == first.entries)
        }
    }

    @Test func `idempotency keys are forgotten after their time, and never within a day`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, key: "old"))
            _ = try await node.writer.execute(try Sample.rename(app, "x", key: "new"))
            let connection = try await database.connect()
            try await connection.query(
                "UPDATE pinledger.command SET recorded_at = now() - interval '40 days' WHERE key = 'old'"
            )
            let client = try await database.connect(as: .app)
            #expect(
                try await client.query("SELECT pinledger.forget_commands(now() + interval '1 year')").only.int64(0) == 1
            )
            #expect(try await connection.query("SELECT key FROM pinledger.command").only.text(0) == "new")
        }
    }
}

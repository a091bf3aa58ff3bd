import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

/// What nodes with a key do about events that no holder of the key has recorded, and about those of each other.
@Suite(.database, .timeLimit(.minutes(60)))
struct BatchKeyTests {
    /// Keys with the same id belong to the same nodes, or to an attacker who knows the id and not the secret.
    private static func key(_ id: UInt8, _ secret: String = "secret") -> BatchKey {
        BatchKey(id: [UInt8](repeating: id, count: 8)) { MerkleTree.leafHash(Array(secret.utf8) + $0).bytes }
    }

    private static func node(
        _ key: BatchKey?, beside others: [BatchKey] = [], from view: LedgerView = LedgerView()
    ) -> TestNode.Setup {
        .with { setup in
            setup.keys = key.map { BatchKeys($0, beside: others) }
            setup.view = view
            setup.follows = false
        }
    }

    private static func start(
        _ database: TestDatabase, _ key: BatchKey?, trusting isTrusting: Bool = false
    ) async throws -> LedgerView {
        try await TestNode.run(on: database, Self.node(key)) { node in
            try await node.follower.catchUp(trusting: isTrusting)
            if isTrusting { #expect(try await LedgerReader(pool: node.pool).authenticateEnd(of: node.ledger)) }
            return node.ledger.view
        }
    }

    private static func fault(_ body: () async throws -> Void) async throws -> LedgerFault? {
        do { try await body() } catch let fault as LedgerFault { return fault }
        return nil
    }

    /// Why a node does not record the app's new name.
    private static func refusal(of name: String, _ app: AppID, _ node: TestNode) async throws -> WriteFailure? {
        guard case .failure(let failure) = await node.attempt(try Sample.rename(app, name)) else { return nil }
        return failure
    }

    private static func findings(_ database: TestDatabase, _ key: BatchKey?) async throws -> [LedgerFinding] {
        var expectations = LedgerAuditor.Expectations()
        expectations.key = key
        let auditor = LedgerAuditor(expectations: expectations)
        return try await auditor.run(on: try await database.connect(as: .reader)) { _ in 0 }.0.findings.kept
    }

    @Test func `nodes with the same key take each other's events, from the first one on`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            try await TestNode.run(on: database, Self.node(Self.key(1))) { other in
                try await other.follower.catchUp()
                #expect(other.ledger.view.head == node.ledger.view.head)
                for number in 0..<20 {
                    _ = try await (number % 2 == 0 ? node : other).insist(try Sample.rename(app, "Name \(number)"))
                }
                try await other.follower.catchUp()
                try await node.follower.catchUp()
                #expect(other.ledger.view.head == node.ledger.view.head)
                #expect(node.ledger.fault == nil && other.ledger.fault == nil)
            }
        }
        #expect(try await Self.start(database, Self.key(1)).head.position == 21)
        #expect(try await Self.findings(database, Self.key(1)) == [])
        try await Ledgers.check(database)
    }

    @Test func `a forged event halts nodes that run, write or start before it takes effect, and nothing follows it`()
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            try await TestNode.run(on: database, Self.node(Self.key(1))) { follower in
                try await follower.follower.catchUp()
                // The forger has the rights of a node, and knows everything but the key.
                try await TestNode.run(on: database, Self.node(Self.key(1, "guess"), from: node.ledger.view)) {
                    forger in
                    _ = try await forger.writer.execute(try Sample.rename(app, "Forged"))
                }
                let expected = LedgerFault.unauthenticated(from: 1, to: 2, .wrong)
                #expect(try await Self.fault { try await follower.follower.catchUp() } == expected)
                #expect(follower.ledger.view.head.position == 1)
                #expect(try await Self.refusal(of: "Honest", app, node) == .halted(expected))
                #expect(node.ledger.view.head.position == 1)
                let starting = LedgerFault.unauthenticated(from: 0, to: 2, .wrong)
                #expect(try await Self.fault { _ = try await Self.start(database, Self.key(1)) } == starting)
                // It goes to where the last holder of the key was, from where documents can be verified.
                try await TestNode.run(on: database, Self.node(Self.key(1))) { starting in
                    try await starting.follower.catchUpToAuthenticated()
                    #expect(starting.ledger.view.head == node.ledger.view.head)
                }
            }
        }
        #expect(try await database.query("SELECT count(*) FROM pinledger.event").only.int64(0) == 2)
        let findings = try await Self.findings(database, Self.key(1))
        #expect(findings.allSatisfy { $0.code == .macWrong && $0.position == 1 && $0.lastPosition == nil })
        #expect(!findings.isEmpty)
        // The test sees a node that does not look.
        #expect(try await Self.findings(database, nil) == [])
        #expect(try await Self.start(database, nil).state.apps[app]?.displayName == "Forged")
    }

    @Test func `a node without the key follows an authenticated ledger, and records nothing in it`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            // It has not read the head yet: the database refuses its batch.
            try await TestNode.run(on: database, Self.node(nil, from: node.ledger.view)) { keyless in
                let refusal = try await Self.refusal(of: "No", app, keyless)
                #expect(refusal == .noKey)
            }
            try await TestNode.run(on: database, Self.node(nil)) { keyless in
                try await keyless.follower.catchUp()
                #expect(keyless.ledger.view.head == node.ledger.view.head)
                #expect(try await Self.refusal(of: "No", app, keyless) == .noKey)
                #expect(keyless.ledger.fault == nil)
            }
            _ = try await node.writer.execute(try Sample.rename(app, "Yes"))
        }
        #expect(try await Self.findings(database, Self.key(1)) == [])
    }

    @Test func `events of nodes without a key are taken by a node with one only if it is told to`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(nil)) { keyless in
            _ = try await keyless.writer.execute(try Sample.create(app))
        }
        let missing = LedgerFault.unauthenticated(from: 0, to: 1, .missing)
        #expect(try await Self.fault { _ = try await Self.start(database, Self.key(1)) } == missing)
        #expect(try await Self.findings(database, Self.key(1)).map(\.code) == [.macWrong])
        #expect(try await Self.start(database, Self.key(1), trusting: true).head.position == 1)
        #expect(try await Self.start(database, Self.key(1)).head.position == 1)
        #expect(try await Self.findings(database, Self.key(1)) == [])
    }

    @Test func `only nodes with the new key record once it is changed`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let (old, new) = (Self.key(1), Self.key(2))
        try await TestNode.run(on: database, Self.node(old)) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            let connection = try await database.connect(as: .app)
            #expect(try await Self.fault { _ = try await Self.change(Self.key(3), to: new, connection) } != nil)
            try await node.follower.catchUp()
            #expect(try await Self.change(old, to: new, connection) == .rewrapped)
            #expect(try await Self.change(old, to: new, connection) == .left)
            // The node goes on with what it has read, and says at its next look that it records nothing.
            try await node.follower.catchUp()
            #expect(node.ledger.fault == nil && node.ledger.foreignKey == Self.name(2))
            #expect(try await Self.refusal(of: "Old", app, node) == .noKey)
            try await TestNode.run(on: database, Self.node(new)) { renewed in
                try await renewed.follower.catchUp()
                _ = try await renewed.writer.execute(try Sample.rename(app, "Renewed"))
            }
            let other = LedgerFault.unauthenticated(from: 1, to: 2, .otherKey)
            #expect(try await Self.fault { try await node.follower.catchUp() } == other)
        }
        #expect(try await Self.start(database, new).head.position == 2)
        #expect(try await Self.findings(database, new) == [])
        #expect(try await Self.findings(database, old).map(\.code) == [.macWrong, .macWrong])
    }

    @Test func `a node with the old key that writes first after the change is refused by the database`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            let connection = try await database.connect(as: .app)
            _ = try await Self.change(Self.key(1), to: Self.key(2), connection)
            #expect(try await Self.refusal(of: "Old", app, node) == .noKey)
            #expect(node.ledger.fault == nil && node.ledger.foreignKey == Self.name(2))
            // Where the change is taken back, the node goes on.
            _ = try await Self.change(Self.key(2), to: Self.key(1), connection)
            try await node.follower.catchUp()
            #expect(node.ledger.foreignKey == nil)
            _ = try await node.writer.execute(try Sample.rename(app, "Old"))
        }
        #expect(try await Self.start(database, Self.key(1)).head.position == 2)
    }

    private static func change(
        _ old: BatchKey, to new: BatchKey, _ connection: PostgresConnection
    ) async throws -> EndRewrap.Outcome {
        try await connection.transaction { @Sendable connection in
            try EndRewrap.run(from: old, to: new, on: connection)
        }
    }

    /// The name of ``key(_:_:)``.
    private static func name(_ id: UInt8) -> String { String(repeating: "0\(id)", count: 8) }

    @Test func `nodes with both keys record before, during and after a change, and one that is taken back`()
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let (old, new) = (Self.key(1), Self.key(2))
        try await TestNode.run(on: database, Self.node(old, beside: [new])) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            try await TestNode.run(on: database, Self.node(old, beside: [new])) { other in
                try await other.follower.catchUp()
                @Sendable func renames(_ node: TestNode, _ name: String) async throws {
                    for number in 0..<40 { _ = try await node.insist(try Sample.rename(app, "\(name) \(number)")) }
                }
                for (from, to, inForce) in [(old, new, 2), (new, old, 1)] as [(BatchKey, BatchKey, UInt8)] {
                    async let first: Void = renames(node, "First")
                    async let second: Void = renames(other, "Second")
                    let connection = try await database.connect(as: .app)
                    #expect(try await Self.change(from, to: to, connection) == .rewrapped)
                    _ = try await (first, second)
                    _ = try await node.insist(try Sample.rename(app, "Key \(inForce)"))
                    // One that has recorded nothing since notices it at its next look.
                    try await node.follower.catchUp()
                    try await other.follower.catchUp()
                    for each in [node, other] {
                        #expect(each.ledger.fault == nil && each.ledger.refusal == nil)
                        #expect(each.ledger.keyName == Self.name(inForce))
                    }
                    // A former key is no right one again: an audit finds where it was taken back.
                    #expect(try await Self.findings(database, to).isEmpty == (inForce == 2))
                }
                #expect(node.ledger.view.head == other.ledger.view.head)
            }
        }
        #expect(try await Self.start(database, old).head.position == 163)
        try await Ledgers.check(database)
    }

    @Test
    func `neither a MAC that only names a key puts it in force, nor the former MAC of the end at which it changed`()
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let (old, new) = (Self.key(1), Self.key(2))
        try await TestNode.run(on: database, Self.node(old, beside: [new])) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            func look(after mac: String? = nil) async throws {
                if let mac { try await database.execute("UPDATE pinledger.head SET mac = (\(mac))") }
                try await node.follower.catchUp()
            }
            let former = "SELECT mac FROM pinledger.event ORDER BY position DESC LIMIT 1"
            try await look()
            try await look(after: "SELECT decode(repeat('02', 40), 'hex')")
            #expect(node.ledger.keyName == Self.name(1) && node.ledger.foreignKey == Self.name(2))
            #expect(try await Self.refusal(of: "Forged", app, node) == .noKey)
            try await look(after: former)
            #expect(node.ledger.foreignKey == nil)
            _ = try await node.writer.execute(try Sample.rename(app, "Sound"))
            let connection = try await database.connect(as: .app)
            #expect(try await Self.change(old, to: new, connection) == .rewrapped)
            try await look()
            #expect(node.ledger.keyName == Self.name(2))
            try await look(after: former)
            #expect(node.ledger.keyName == Self.name(2) && node.ledger.fault == nil)
            #expect(try await Self.refusal(of: "Replayed", app, node) == .noKey)
            #expect(try await Self.change(old, to: new, connection) == .rewrapped)
            _ = try await node.writer.execute(try Sample.rename(app, "Changed"))
            #expect(node.ledger.keyName == Self.name(2))
        }
        #expect(try await Self.findings(database, new) == [])
    }

    @Test func `a node that starts with both keys takes what either has authenticated, and nothing else`() async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(2))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
        }
        func starting(_ key: BatchKey, beside others: [BatchKey]) async throws -> (fault: LedgerFault?, key: String?) {
            try await TestNode.run(on: database, Self.node(key, beside: others)) { node in
                let fault = try await Self.fault { try await node.follower.catchUp() }
                return (fault, node.ledger.keyName)
            }
        }
        let both = try await starting(Self.key(1), beside: [Self.key(2)])
        #expect(both.fault == nil && both.key == Self.name(2))
        let guess = try await starting(Self.key(1), beside: [Self.key(2, "guess")])
        #expect(guess.fault == .unauthenticated(from: 0, to: 1, .wrong))
        let neither = try await starting(Self.key(1), beside: [Self.key(3)])
        #expect(neither.fault == .unauthenticated(from: 0, to: 1, .otherKey))
        // It finds the last end of the second key, too.
        try await TestNode.run(on: database, Self.node(Self.key(1), beside: [Self.key(2)])) { node in
            try await node.follower.catchUpToAuthenticated()
            #expect(node.ledger.position == 1)
            #expect(try await node.follower.keyIsOfLedger())
        }
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        /// What a node that starts says; nil where the damage takes nothing away from the last MAC.
        var fault: BatchKey.Defect?
        /// Positions that the audit names.
        var found: [Int64]
    }

    /// The ledger has positions 0 to 3, each a batch of its own.
    static let damages: [Damage] = [
        Damage(
            testDescription: "the end's MAC is changed",
            sql: "UPDATE pinledger.head SET mac = set_byte(mac, 39, get_byte(mac, 39) # 1)",
            fault: .wrong, found: [3]),
        Damage(
            testDescription: "the end's MAC names another key",
            sql: "UPDATE pinledger.head SET mac = set_byte(mac, 0, get_byte(mac, 0) # 1)", fault: .otherKey, found: [3]),
        Damage(
            testDescription: "the end has no MAC", sql: "UPDATE pinledger.head SET mac = NULL", fault: .missing,
            found: [3]),
        Damage(
            testDescription: "the end has the MAC of an earlier one",
            sql: "UPDATE pinledger.head SET mac = (SELECT mac FROM pinledger.event WHERE position = 2)", fault: .wrong,
            found: [3]),
        Damage(
            testDescription: "the end's time is changed",
            sql: "UPDATE pinledger.head SET last_time = last_time + interval '1 second'", fault: .wrong, found: [3]),
        Damage(
            testDescription: "a batch's MAC is changed",
            sql: "UPDATE pinledger.event SET mac = set_byte(mac, 20, get_byte(mac, 20) # 1) WHERE position = 2",
            fault: nil,
            found: [2]),
        Damage(
            testDescription: "a batch's MAC names another key",
            sql: "UPDATE pinledger.event SET mac = set_byte(mac, 0, 9) WHERE position = 2", fault: nil, found: [2]),
        Damage(
            testDescription: "an entry is changed with all hashes, and no MAC",
            sql: """
                UPDATE pinledger.event SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'Name 2', 'Name X'), 'UTF8')
                    WHERE position = 3;
                UPDATE pinledger.event SET leaf_hash = sha256('\\x00'::bytea || entry) WHERE position = 3;
                UPDATE pinledger.head SET frontier = sha256('\\x01'::bytea
                    || sha256('\\x01'::bytea || (SELECT leaf_hash FROM pinledger.event WHERE position = 0)
                        || (SELECT leaf_hash FROM pinledger.event WHERE position = 1))
                    || sha256('\\x01'::bytea || (SELECT leaf_hash FROM pinledger.event WHERE position = 2)
                        || (SELECT leaf_hash FROM pinledger.event WHERE position = 3)))
                """, fault: .wrong, found: [3, 3]),
    ]

    @Test(arguments: [Int64(1), 2, 3])
    func `a head below the snapshot from which a node starts is a fault, and ends no process`(size: Int64) async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        let snapshot = try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            for number in 1...3 { _ = try await node.writer.execute(try Sample.rename(app, "Name \(number)")) }
            let frontier = try await LedgerReader(pool: node.pool).storedFrontier(at: size).encoded
            try await database.execute(
                "UPDATE pinledger.head SET next_position = \(size), frontier = '\\x\(Hex.encode(frontier))'")
            return node.ledger.view
        }
        try await TestNode.run(on: database, Self.node(Self.key(1), from: snapshot)) { node in
            let fault = try await Self.fault { try await node.follower.catchUp() }
            #expect(fault == .unauthenticated(from: size, to: size, .wrong))
            // The next step of a node that starts.
            try await node.follower.catchUpToAuthenticated()
            #expect(node.ledger.position == 4)
        }
    }

    @Test(arguments: [Int64(1) << 53, 4_611_686_018_427_387_904])
    func `a head further than any ledger goes is a fault`(size: Int64) async throws {
        let database = try TestDatabase.current
        // One hash, as the numbers have one bit set.
        try await database.execute("UPDATE pinledger.head SET next_position = \(size), frontier = sha256('x')")
        try await TestNode.run(on: database, Self.node(nil)) { node in
            let fault = try await Self.fault { try await node.follower.catchUp() }
            #expect(fault == .head(position: size))
        }
    }

    @Test(arguments: damages)
    func `a change that a superuser makes to MACs, or to events without them, is found`(_ damage: Damage) async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await TestNode.run(on: database, Self.node(Self.key(1))) { node in
            _ = try await node.writer.execute(try Sample.create(app))
            for number in 0..<3 { _ = try await node.writer.execute(try Sample.rename(app, "Name \(number)")) }
        }
        #expect(try await Self.findings(database, Self.key(1)) == [])
        try await database.connect().execute(
            script: """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                \(damage.sql)
                """)
        let fault = try await Self.fault { _ = try await Self.start(database, Self.key(1)) }
        #expect(fault == damage.fault.map { .unauthenticated(from: 0, to: 4, $0) })
        let findings = try await Self.findings(database, Self.key(1)).filter { $0.code != .guardMissing }
        #expect(findings.map(\.code) == damage.found.map { _ in .macWrong })
        #expect(findings.map(\.position) == damage.found.map { $0 })
    }
}

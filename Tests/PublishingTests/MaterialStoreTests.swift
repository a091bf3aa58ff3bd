import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Publishing
import Testing

/// Keys and certificates in a real database.
@Suite(.timeLimit(.minutes(60)), .database)
struct MaterialStoreTests {
    private func withPool(
        as user: TestDatabase.User = .app, _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let pool = PostgresPool(configuration: try TestDatabase.current.configuration(as: user))
        let result: Result<Void, any Error>
        do { result = .success(try await body(pool)) } catch { result = .failure(error) }
        await pool.close()
        try result.get()
    }

    private func certificate(_ name: String) -> Material { Material(.certificate, der: Array(name.utf8)) }

    private func count() async throws -> Int64 {
        try await TestDatabase.current.query("SELECT count(*) FROM pinledger.material").only.int64(0)
    }

    /// Makes everything older than a day.
    private func age() async throws {
        try await TestDatabase.current.execute(
            "UPDATE pinledger.material SET stored_at = now() - interval '25 hours'")
    }

    @Test func `material that one node stored is found on another, and unknown material is not`() async throws {
        try await self.withPool { pool in
            let key = Material(.publicKey, der: Array("key".utf8))
            let one = self.certificate("one")
            let (here, there) = (MaterialStore(pool: pool), MaterialStore(pool: pool))
            try await here.store([key, one])
            // Again, and nothing at all.
            try await there.store([one])
            try await there.store([])
            let digests = [key.digest, one.digest, sha256([1])]
            for store in [here, there, there] {
                #expect(try await store.der(of: Set(digests)) == [key.digest: key.der, one.digest: one.der])
            }
            #expect(there.remembered(of: [one.digest]) == [one.digest: one.der])
            #expect(MaterialStore(pool: pool).remembered(of: [one.digest]) == [:])
            let kinds = try await TestDatabase.current.query("SELECT kind FROM pinledger.material ORDER BY kind")
            #expect(try kinds.map { try $0.text(0) } == ["certificate", "public_key"])
        }
    }

    @Test func `more material is found than fits into one query or into memory`() async throws {
        try await self.withPool { pool in
            let all = (0..<700).map { self.certificate("certificate \($0)") }
            let store = MaterialStore(pool: pool, limit: 20_000)
            try await store.store(Set(all))
            let found = try await store.der(of: Set(all.map(\.digest) + [sha256([1])]))
            #expect(found == Dictionary(uniqueKeysWithValues: all.map { ($0.digest, $0.der) }))
        }
    }

    @Test func `material that is too large is skipped, and displaces nothing else`() async throws {
        try await self.withPool { pool in
            let store = MaterialStore(pool: pool)
            let large = Material(.certificate, der: Array(repeating: 7, count: Material.maximumSize + 1))
            let fits = Material(.certificate, der: Array(repeating: 7, count: Material.maximumSize))
            try await store.store([large, fits, Material(.publicKey, der: [])])
            #expect(try await store.der(of: [large.digest, fits.digest]) == [fits.digest: fits.der])
            #expect(try await self.count() == 1)
        }
    }

    @Test func `a node that only reads finds stored material`() async throws {
        let one = self.certificate("one")
        try await self.withPool { try await MaterialStore(pool: $0).store([one]) }
        try await self.withPool(as: .reader) { pool in
            let store = MaterialStore(pool: pool)
            let found = try await store.der(of: [one.digest])
            #expect(found == [one.digest: one.der])
            await #expect(throws: PostgresError.self) { try await store.store([self.certificate("two")]) }
        }
    }

    @Test func `remembered material is given where the database cannot be reached, and the rest is an error`()
        async throws
    {
        let one = self.certificate("one")
        let nowhere = PostgresPool(configuration: PostgresConfiguration(connectionString: "host=127.0.0.1 port=1"))
        let store = MaterialStore(pool: nowhere)
        await #expect(throws: PostgresError.self) { try await store.der(of: [one.digest]) }
        #expect(store.remembered(of: [one.digest]) == [:])
        #expect(try await store.der(of: []) == [:])
        await nowhere.close()
    }

    /// Locks every row of the table, while `body` runs.
    private func whileLocked(_ body: @Sendable () async throws -> Void) async throws {
        try await self.withPool(as: .superuser) { pool in
            try await pool.withConnection { connection in
                try await connection.query("BEGIN")
                try await connection.query("LOCK TABLE pinledger.material IN ACCESS EXCLUSIVE MODE")
                let result: Result<Void, any Error>
                do { result = .success(try await body()) } catch { result = .failure(error) }
                try await connection.query("ROLLBACK")
                try result.get()
            }
        }
    }

    @Test func `a reader that cannot wait does without what the database does not give in time, and stops asking`()
        async throws
    {
        let (one, two) = (self.certificate("one"), self.certificate("two"))
        let digests = Set([one.digest, two.digest])
        try await self.withPool { pool in
            try await MaterialStore(pool: pool).store([two])
            let store = MaterialStore(pool: pool)
            try await store.store([one])
            // The table is locked until both have come back.
            try await self.whileLocked {
                let early = await store.der(of: digests, within: .milliseconds(100))
                #expect(early.found == [one.digest: one.der] && !early.isWhole)
                await #expect(throws: MaterialStore.Late.self) {
                    try await store.store([self.certificate("three")], within: .milliseconds(100))
                }
            }
            // The answer would be there by now, and nobody asks for it yet.
            let silent = await store.der(of: digests, within: .seconds(60))
            #expect(silent.found == [one.digest: one.der] && !silent.isWhole)
            let whole = await MaterialStore(pool: pool).der(of: digests, within: .seconds(60))
            #expect(whole.found.count == 2 && whole.isWhole)
        }
    }

    @Test func `the sweep erases nothing by a state that lacks recent changes`() async throws {
        var setup = TestNode.Setup()
        setup.clock = { Timestamp.wall.adding(seconds: -3700) }
        try await TestNode.run(on: TestDatabase.current, setup) { node in
            let store = MaterialStore(pool: node.pool)
            try await store.store([self.certificate("one")])
            try await self.age()
            let recorded = try await node.writer.execute(
                try Sample.request(.app(try Sample.app(), [.create(displayName: "a")])))
            #expect(try await store.eraseUnnamed(by: LedgerState(), at: 0) == 0)
            #expect(try await store.eraseUnnamed(by: LedgerState(), at: recorded.position) == 1)
        }
    }

    @Test func `the sweep erases material that is old and that no app knows`() async throws {
        try await self.withPool { pool in
            let store = MaterialStore(pool: pool)
            let known = (0..<5).map { self.certificate("known \($0)") }
            let unknown = (0..<20).map { self.certificate("unknown \($0)") }
            var state = LedgerState()
            var app = App(id: try Sample.app(), displayName: "a", createdAt: .wall)
            for certificate in known {
                let pin = Sample.pin()
                let facts = CertificateFacts(
                    key: KeyFacts(
                        pin: pin, algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: [], rawKeySHA256: []),
                    sha256: certificate.digest, sha1: [], subject: "", issuer: "", serial: "1", notBefore: .wall,
                    notAfter: .wall)
                app.keys[pin] = KeyKnowledge(.certificate(facts))
            }
            state.apps.insert(app)
            try await store.store(Set(known + unknown))
            #expect(try await store.eraseUnnamed(by: state, at: 0, pageSize: 7) == 0, "all of it is young")
            try await self.age()
            // Uploaded again, with a change that the ledger is about to take.
            try await store.store([unknown[3]])
            #expect(try await store.eraseUnnamed(by: state, at: 0, pageSize: 7) == 19)
            let left = Set(known + [unknown[3]])
            #expect(
                try await MaterialStore(pool: pool).der(of: Set((known + unknown).map(\.digest)))
                    == Dictionary(uniqueKeysWithValues: left.map { ($0.digest, $0.der) }))
            try await self.age()
            #expect(try await store.eraseUnnamed(by: state, at: 0) == 1)
            #expect(try await self.count() == 5)
            #expect(try await store.eraseUnnamed(by: LedgerState(), at: 0) == 5)
        }
    }

    @Test func `material is stored only under its own digest`() async throws {
        let database = try TestDatabase.current
        await #expect(throws: PostgresError.self) {
            try await database.execute(
                "INSERT INTO pinledger.material VALUES (sha256('a'), 'certificate', 'b')")
        }
        #expect(try await self.count() == 0)
    }
}

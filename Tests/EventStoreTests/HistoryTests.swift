import EventStore
import Fixtures
import PinWire
import Pinning
import Postgres
import Testing

/// Pages of history, and the indexes that make them.
@Suite(.database, .timeLimit(.minutes(60)))
struct HistoryTests {
    private static func pages(
        _ reader: LedgerReader, _ filter: LedgerReader.Filter, ascending: Bool, limit: Int,
        width: Int64 = LedgerReader.searchWidthOfPage
    ) async throws -> [[Int64]] {
        var pages: [[Int64]] = []
        var boundary: Int64?
        while true {
            let page = try await reader.history(
                filter, from: boundary, ascending: ascending, limit: limit, width: width)
            pages.append(page.entries.map(\.entry.position))
            guard let next = page.next else { return pages }
            boundary = next
        }
    }

    @Test func `every filter of the history gives its events in pages, in both directions`() async throws {
        let database = try TestDatabase.current
        let clock = ManualClock()
        let start = clock.now
        try await TestNode.run(on: database, .with { $0.clock = { clock.now } }) { node in
            let apps = [try Sample.app(), try Sample.app()]
            let other = Actor(kind: .local, id: "other", name: "Other")
            for app in apps { _ = try await node.writer.execute(try Sample.create(app, hosts: 1)) }
            for number in 0..<30 {
                clock.advance(seconds: 10)
                _ = try await node.writer.execute(
                    try Sample.request(
                        .app(apps[number % 2], [.rename("n\(number)")]), actor: number % 3 == 0 ? other : Sample.actor
                    )
                )
            }
            let reader = LedgerReader(pool: node.pool)
            let all = try await reader.entries(at: 0..<1000, limit: 1000).map(\.entry)
            #expect(Int64(all.count) == node.ledger.position)

            var filters: [(LedgerReader.Filter, (Entry) -> Bool)] = []
            func add(_ change: (inout LedgerReader.Filter) -> Void, _ passes: @escaping (Entry) -> Bool) {
                var filter = LedgerReader.Filter()
                change(&filter)
                filters.append((filter, passes))
            }
            let (low, high) = (start.adding(seconds: 55), start.adding(seconds: 200))
            let renamed = try #require(all.last?.event.type)
            add({ _ in }, { _ in true })
            add({ $0.stream = .app(apps[0]) }, { $0.stream == .app(apps[0]) })
            add({ $0.types = [renamed] }, { $0.event.type == renamed })
            add({ $0.types = [renamed, all[0].event.type] }, { [renamed, all[0].event.type].contains($0.event.type) })
            add({ $0.types = ["Nothing"] }, { _ in false })
            add({ $0.actorIDs = ["other"] }, { $0.origin.actor.id == "other" })
            add({ $0.actorIDs = ["other", "nobody"] }, { $0.origin.actor.id == "other" })
            add({ ($0.since, $0.until) = (low, high) }, { low <= $0.time && $0.time < high })
            add(
                { ($0.stream, $0.actorIDs, $0.since) = (.app(apps[1]), ["other"], low) },
                { $0.stream == .app(apps[1]) && $0.origin.actor.id == "other" && low <= $0.time }
            )
            for (filter, passes) in filters {
                let expected = all.filter(passes).map(\.position)
                for limit in [1, 7, 1000] {
                    let forward = try await Self.pages(reader, filter, ascending: true, limit: limit)
                    #expect(forward.flatMap(\.self) == expected)
                    #expect(forward.dropLast().allSatisfy { $0.count == limit })
                    let backward = try await Self.pages(reader, filter, ascending: false, limit: limit)
                    #expect(backward.flatMap(\.self) == expected.reversed())
                }
            }
        }
    }

    @Test func `a text is found anywhere in an event, by looking at a part of the history for each page`() async throws
    {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app, hosts: 1))
            for number in 0..<40 {
                let name = number % 10 == 3 ? "The Café \"\(number)\"" : "n\(number)"
                _ = try await node.writer.execute(try Sample.rename(app, name))
            }
            let reader = LedgerReader(pool: node.pool)
            let all = try await reader.entries(at: 0..<1000, limit: 1000)
            let renamed = try #require(all.last?.entry.event.type)
            // The last byte of é is 251 in octal.
            for text in ["the café", "THE CAF", #"\"13\""#, "n39", app.text, "nowhere", "\u{0}", ##"251 \""##] {
                let expected = all.filter {
                    String(decoding: $0.bytes, as: UTF8.self).lowercased().contains(text.lowercased())
                }.map(\.entry.position)
                #expect(["nowhere", "\u{0}", ##"251 \""##].contains(text) == expected.isEmpty)
                var filter = LedgerReader.Filter()
                filter.text = Array(text.utf8)
                for types in [[], [renamed]] {
                    filter.types = types
                    let wanted = types.isEmpty ? expected : expected.filter { all[Int($0)].entry.event.type == renamed }
                    for stream in [nil, StreamID.app(app)] {
                        filter.stream = stream
                        for (limit, width) in [(100, 50_000), (1, 7), (100, 7), (3, 1), (2, 10)] as [(Int, Int64)] {
                            let forward = try await Self.pages(
                                reader, filter, ascending: true, limit: limit, width: width)
                            #expect(forward.flatMap(\.self) == wanted)
                            #expect(forward.allSatisfy { $0.count <= limit })
                            let backward = try await Self.pages(
                                reader, filter, ascending: false, limit: limit, width: width)
                            #expect(backward.flatMap(\.self) == wanted.reversed())
                        }
                    }
                }
            }
        }
    }

    @Test func `each kind of history is read through its index and never by reading everything`() async throws {
        let database = try TestDatabase.current
        // 20 000 events of 200 streams and 50 actors; one type and one actor are rare.
        try await database.execute(
            """
            INSERT INTO pinledger.event
            SELECT p, p / 200 + 1, '2026-01-01T00:00:00Z'::timestamptz + p * interval '1 second', 'app/a' || p % 200,
                CASE WHEN p % 2000 = 7 THEN 'Rare' ELSE 'Common' END, 'token',
                CASE WHEN p % 2000 = 9 THEN 'rare' ELSE 'actor' || p % 50 END,
                convert_to('{"n":' || p || repeat('x', 300) || '}', 'UTF8'), sha256(convert_to(p::text, 'UTF8'))
            FROM generate_series(0, 19999) p;
            """
        )
        // As autovacuum does it in time: statistics, and the filters of the types.
        try await database.execute("VACUUM ANALYZE pinledger.event")
        let prefix = "event_00000000000000"
        func filter(_ change: (inout LedgerReader.Filter) -> Void) -> LedgerReader.Filter {
            var filter = LedgerReader.Filter()
            change(&filter)
            return filter
        }
        let stream = StreamID.app(try AppID("a77"))
        let cases: [(index: String, filter: LedgerReader.Filter, from: Int64?, ascending: Bool)] = [
            ("\(prefix)_pkey", filter { _ in }, nil, false),
            ("\(prefix)_pkey", filter { _ in }, 10_000, false),
            ("\(prefix)_pkey", filter { _ in }, 10_000, true),
            ("\(prefix)_stream", filter { $0.stream = stream }, nil, false),
            ("\(prefix)_stream", filter { $0.stream = stream }, nil, true),
            ("\(prefix)_stream", filter { $0.stream = stream }, 10_000, false),
            ("\(prefix)_type_idx", filter { $0.types = ["Rare"] }, nil, false),
            ("\(prefix)_actor_id_position_idx", filter { $0.actorIDs = ["rare"] }, nil, false),
            ("\(prefix)_actor_id_position_idx", filter { $0.actorIDs = ["rare"] }, 10_000, true),
        ]
        for (index, filter, boundary, ascending) in cases {
            let before = try await Self.usage(database)
            // A session of its own: its counts are published when it ends.
            let pool = PostgresPool(configuration: try database.configuration(), maximumConnections: 1)
            // The rows are no real entries; they are found, and then refused.
            await #expect(throws: LedgerFault.self) {
                try await LedgerReader(pool: pool).history(filter, from: boundary, ascending: ascending, limit: 20)
            }
            await pool.close()
            #expect(
                try await eventually { try await Self.usage(database)[index, default: 0] > before[index, default: 0] },
                "\(index) is not used for \(filter), \(ascending)"
            )
            let after = try await Self.usage(database)
            #expect(after["sequential"] == before["sequential"], "everything is read for \(filter), \(ascending)")
            for (other, count) in after where other.hasPrefix(prefix) && other != index {
                #expect(count == before[other], "\(other) is used for \(filter), \(ascending)")
            }
        }
    }

    @Test func `a time long past is found without reading the entries between`() async throws {
        let database = try TestDatabase.current
        // As many as a tree with one full subtree has, a second apart.
        try await database.execute(
            """
            INSERT INTO pinledger.event
            SELECT p, p + 1, '2026-01-01T00:00:00Z'::timestamptz + p * interval '1 second', 'fleet', 'Common', 'token',
                'actor', 'entry', sha256('\\x00'::bytea || 'entry')
            FROM generate_series(0, 16383) p;
            UPDATE pinledger.head SET next_position = 16384, frontier = sha256('any'),
                last_time = '2026-01-01T00:00:00Z'::timestamptz + interval '16383 seconds';
            """
        )
        try await database.execute("VACUUM ANALYZE pinledger.event")
        let first = try #require(Timestamp(rfc3339: "2026-01-01T00:00:00Z"))
        func read(_ change: (inout LedgerReader.Filter) -> Void, ascending: Bool) async throws -> Int64 {
            let before = try await Self.rowsRead(database)
            var filter = LedgerReader.Filter()
            change(&filter)
            let pool = PostgresPool(configuration: try database.configuration(), maximumConnections: 1)
            // The rows are no real entries; they are found, and then refused.
            await #expect(throws: LedgerFault.self) {
                try await LedgerReader(pool: pool).history(filter, from: nil, ascending: ascending, limit: 20)
            }
            await pool.close()
            return try await Self.rowsRead(database) - before
        }
        let early = try await read({ $0.until = first.adding(seconds: 100) }, ascending: false)
        let late = try await read({ $0.since = first.adding(seconds: 16_000) }, ascending: true)
        let between = try await read(
            { ($0.since, $0.until) = (first.adding(seconds: 8000), first.adding(seconds: 8010)) }, ascending: false)
        for count in [early, late, between] { #expect(1..<1000 ~= count, "\([early, late, between])") }
    }

    @Test func `the position of a time is that of the first event that is not before it`() async throws {
        let clock = ManualClock()
        let start = clock.now
        try await TestNode.run(on: try TestDatabase.current, .with { $0.clock = { clock.now } }) { node in
            let reader = LedgerReader(pool: node.pool)
            #expect(try await reader.position(at: start) == 0)
            // Several at one time, and gaps.
            for number in 0..<40 {
                if number % 3 == 0 { clock.advance(seconds: 10) }
                _ = try await node.writer.execute(try Sample.create(try Sample.app()))
            }
            let all = try await reader.entries(at: 0..<1000, limit: 1000).map(\.entry)
            for time in [start, start.adding(seconds: 10_000)]
                + all.flatMap({ [$0.time.adding(seconds: -1), $0.time, $0.time.adding(seconds: 1)] })
            {
                let expected = all.first { $0.time >= time }?.position ?? Int64(all.count)
                #expect(try await reader.position(at: time) == expected)
            }
            // Where events are gone, nothing is made up.
            try await node.database.execute(
                """
                ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                DELETE FROM pinledger.event WHERE position BETWEEN 5 AND 30;
                """)
            await #expect(throws: LedgerFault.self) { try await reader.position(at: all[20].time) }
        }
    }

    /// Waits until the sessions that were closed have ended: a session reports what it read when it ends, and that is
    /// some time after its client has closed it.
    private static func sessionsEnd(_ database: TestDatabase) async throws {
        let others = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """
        #expect(try await eventually { try await database.query(others).only.int64(0) == 0 })
    }

    /// The rows of the first partition that sessions have read until now, whichever way.
    private static func rowsRead(_ database: TestDatabase) async throws -> Int64 {
        try await Self.sessionsEnd(database)
        return try await database.query(
            """
            SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint FROM pg_stat_all_tables
            WHERE schemaname = 'pinledger' AND relname = 'event_00000000000000'
            """
        ).only.int64(0)
    }

    /// How often sessions have used each index until now, and read the first partition as a whole.
    private static func usage(_ database: TestDatabase) async throws -> [String: Int64] {
        try await Self.sessionsEnd(database)
        let rows = try await database.query(
            """
            SELECT indexrelname::text, idx_scan FROM pg_stat_all_indexes WHERE schemaname = 'pinledger'
            UNION ALL
            SELECT 'sequential', seq_scan FROM pg_stat_all_tables
            WHERE schemaname = 'pinledger' AND relname = 'event_00000000000000'
            """
        )
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.text(0), try $0.int64(1)) })
    }
}

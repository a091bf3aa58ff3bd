import Fixtures
import PinWire
import Pinning
import Postgres
import Synchronization
import Testing

@testable import Signals

/// Observations in a real database.
@Suite(.database) struct `An observation store` {
    private func withStore(_ body: (ObservationStore) async throws -> Void) async throws {
        let pool = PostgresPool(configuration: try TestDatabase.current.configuration())
        let result: Result<Void, any Error>
        do { result = .success(try await body(ObservationStore(pool: pool))) } catch { result = .failure(error) }
        await pool.close()
        try result.get()
    }

    /// A summary of all that is recorded, and how many chains were read for it.
    private func read(_ store: ObservationStore, after time: Timestamp? = nil) async throws -> (ObservationSummary, Int)
    {
        let summary = ObservationSummary()
        let count = Mutex(0)
        try await store.read(after: time) { rows, attempts in
            count.withLock { $0 += rows.count }
            summary.take(rows, attempts)
        }
        return (summary, count.withLock { $0 })
    }

    @Test func `an observation store gives back what was recorded`() async throws {
        try await self.withStore { store in
            let known = ObservationSummary()
            for (seen, failures) in [
                (try observation(["192.0.2.1": [certificate(1), certificate(2, "rsa")]], at: probeTime), 0),
                (try observation(["192.0.2.1": [certificate(1)]], at: probeTime + 60, isComplete: false), 0),
                (try observation(["192.0.2.1": [certificate(3)]], at: probeTime + 30, from: "there"), 0),
                (try observation([:], at: probeTime + 90, from: "there"), 4),
            ] {
                known.take(seen, failures: failures)
                try await store.record(seen, failures: failures)
            }
            let (summary, _) = try await self.read(store)
            #expect(try summary.facts(of: endpoint()) == known.facts(of: endpoint()))
            #expect(try summary.current() == ["192.0.2.1 CN=1", "192.0.2.1 CN=2", "192.0.2.1 CN=3"])
            #expect(try summary.outcomes(of: endpoint()) == known.outcomes(of: endpoint()))
            #expect(try summary.history(of: endpoint(), from: "there")?.failures == 4)
        }
    }

    @Test func `an observation store never moves a time back for a late probe`() async throws {
        try await self.withStore { store in
            for (time, isComplete) in [(probeTime + 60, true), (probeTime, true), (probeTime + 120, false)] {
                let seen = try observation(["192.0.2.1": [certificate(1)]], at: time, isComplete: isComplete)
                try await store.record(seen, failures: 0)
            }
            var rows: [ObservationStore.Row] = []
            try await store.read(after: nil) { read, _ in rows += read }
            #expect(rows.map(\.chain.firstSeen) == [probeTime] && rows.map(\.chain.lastSeen) == [probeTime + 120])
            #expect(rows.map(\.lastComplete) == [probeTime + 60])
        }
    }

    @Test func `an observation store gives only what is newer than a time`() async throws {
        try await self.withStore { store in
            try await store.record(try observation(["192.0.2.1": [certificate(1)]], at: probeTime), failures: 0)
            try await store.record(try observation(["192.0.2.2": [certificate(2)]], at: probeTime + 60), failures: 0)
            let (summary, count) = try await self.read(store, after: probeTime)
            #expect(try count == 1 && summary.current() == ["192.0.2.2 CN=2"])
        }
    }

    @Test func `an observation store skips rows that cannot be read`() async throws {
        try await self.withStore { store in
            try await store.record(try observation(["192.0.2.1": [certificate(1)]], at: probeTime), failures: 0)
            try await TestDatabase.current.execute(
                """
                INSERT INTO pinledger.observation
                SELECT e, 'here', a, decode(repeat('ab', 32), 'hex'), c, now(), now(), 1, now()
                  FROM (VALUES ('no endpoint!', '192.0.2.1', convert_to('[]', 'UTF8')),
                               ('h0.example.com:443', '192.0.2.8', convert_to('{"later":1}', 'UTF8')),
                               ('a.example.com:443', '192.0.2.9', decode('ff00', 'hex'))) v (e, a, c);
                INSERT INTO pinledger.probe
                VALUES ('no endpoint!', 'here', now(), NULL, 0, convert_to('{}', 'UTF8')),
                       ('h0.example.com:443', 'there', now(), NULL, 0, decode('ff', 'hex'));
                """)
            let (summary, count) = try await self.read(store)
            #expect(try count == 1 && summary.current() == ["192.0.2.1 CN=1"])
            #expect(try summary.outcomes(of: endpoint()).count == 1)
        }
    }

    @Test
    func `an observation store reads more endpoints than fit on a page, and of each no more than a summary keeps`()
        async throws
    {
        try await TestDatabase.current.execute(
            """
            INSERT INTO pinledger.observation
            SELECT format('e%s.example.com:443', e), 'here', format('192.0.2.%s', a % 7), sha256(convert_to(a::text, 'UTF8')),
                   convert_to('[]', 'UTF8'), now(), now() - make_interval(secs => a), 1, NULL
              FROM generate_series(1, 40) e, generate_series(1, 300) a;
            INSERT INTO pinledger.probe
            SELECT format('e%s.example.com:443', e), format('v%s', v), now(), now(), 0, convert_to('{}', 'UTF8')
              FROM generate_series(1, 40) e, generate_series(1, 10) v;
            """)
        try await self.withStore { store in
            var chains: [Endpoint: [ObservationStore.Row]] = [:]
            var probes = 0
            try await store.read(after: nil) { rows, attempts in
                for row in rows { chains[row.endpoint, default: []].append(row) }
                probes += attempts.count
            }
            #expect(chains.count == 40 && probes == 400)
            for rows in chains.values {
                #expect(rows.count == ObservationSummary.evidenceLimit)
                #expect(Set(rows.map(\.chain.address)).count == 7)
            }
        }
    }

    @Test func `an observation store keeps the newest of every address before its earlier ones`() async throws {
        // The one address that shows another key was last seen before a thousand chains that others no longer present.
        try await TestDatabase.current.execute(
            """
            INSERT INTO pinledger.observation
            SELECT 'h0.example.com:443', 'here', format('192.0.2.%s', least(a, 2)), sha256(convert_to(a::text, 'UTF8')),
                   convert_to('[]', 'UTF8'), now(), now() - make_interval(secs => CASE a WHEN 1 THEN 5000 ELSE a END), 1, NULL
              FROM generate_series(1, 1000) a
            """)
        try await self.withStore { store in
            var addresses: Set<String> = []
            try await store.read(after: nil) { rows, _ in addresses.formUnion(rows.map(\.chain.address)) }
            #expect(addresses == ["192.0.2.1", "192.0.2.2"])
        }
    }
}

import EventStore
import Fixtures
import Postgres
import Testing

/// Rows that every batch rewrites, while none of their older versions can be removed.
@Suite(.database, .timeLimit(.minutes(60)))
struct SteadyAppendTests {
    /// Appends one event of the stream `s`. The tree's edge has the right length and no meaning.
    private static let append = """
        SELECT a.outcome FROM pinledger.head h, pinledger.stream s, pinledger.append(
            h.next_position, h.frontier, sha256('any'), now(), ARRAY['s'], ARRAY[s.version + 1], ARRAY['T'], ARRAY['token'],
            ARRAY['a'], ARRAY['e'::bytea], '{}', '{}', '{}', ARRAY['s'], ARRAY[s.version], ARRAY[s.version + 1],
            ARRAY[h.next_position], '{}', '{}', '{}', '{}', '{}', false) a WHERE s.name = 's'
        """
    private static let pages = """
        CREATE FUNCTION pg_temp.pages(at bigint, version bigint) RETURNS integer LANGUAGE plpgsql AS $$
        DECLARE plan json;
        BEGIN
            EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT pinledger.append(%s, sha256(''any''), '
                'sha256(''any''), now(), ARRAY[''s''], ARRAY[%s + 1], ARRAY[''T''], ARRAY[''token''], ARRAY[''a''], '
                'ARRAY[''e''::bytea], ''{}'', ''{}'', ''{}'', ARRAY[''s''], ARRAY[%s], ARRAY[%s + 1], ARRAY[%s], ''{}'', '
                '''{}'', ''{}'', ''{}'', ''{}'', false)', at, version, version, version, at) INTO plan;
            RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::integer + (plan->0->'Plan'->>'Shared Read Blocks')::integer;
        END $$
        """

    /// Pages that one append reads once `count` events of one stream stand in the ledger, of which no version is removed.
    private static func pages(after count: Int, on connection: PostgresConnection) async throws -> Int32 {
        try await connection.execute(script: "BEGIN; SET LOCAL ROLE pinledger_owner")
        try await connection.execute(
            script: """
                UPDATE pinledger.head SET frontier = sha256('any');
                INSERT INTO pinledger.event VALUES (0, 1, now(), 's', 'T', 'k', 'a', 'e', sha256('e'));
                UPDATE pinledger.head SET next_position = 1;
                INSERT INTO pinledger.stream (name, version, last_position) VALUES ('s', 1, 0);
                DO $$ DECLARE outcome text; BEGIN
                    FOR n IN 1..\(count) LOOP
                        \(Self.append.replacing("SELECT a.outcome FROM", with: "SELECT a.outcome INTO outcome FROM"));
                        ASSERT outcome = 'appended';
                    END LOOP;
                END $$;
                RESET ROLE;
                """)
        try await connection.execute(script: Self.pages)
        var pages: Int32 = 0
        // The second look reads no catalogue.
        for more in 1...2 {
            pages = try await connection.query(
                "SELECT pg_temp.pages($1, $2)", [.int64(Int64(count + more)), .int64(Int64(count + more))]
            ).only.int32(0)
        }
        try await connection.execute(script: "ROLLBACK")
        return pages
    }

    @Test func `an append takes the same time after thousands of others whose old versions stay`() async throws {
        let connection = try await TestDatabase.current.connect()
        let few = try await Self.pages(after: 40, on: connection)
        let many = try await Self.pages(after: 4000, on: connection)
        #expect(many <= few + 30, "\(few) pages after 40 events, \(many) after 4000")
    }
}

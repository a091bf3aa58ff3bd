package import PinWire
package import Postgres

/// What a node says of itself to those that share its database.
package struct NodeReport: Hashable, Sendable {
    /// The machine's name and the process's number.
    package var name: String
    /// The version of its program.
    package var program: String
    /// The last migration that its program knows.
    package var schemaVersion: Int32
    /// The highest feature level that its program knows.
    package var featureLevel: Int64
    package var isReadOnly: Bool
    /// What it does at the moment, in one word.
    package var state: String
    /// The number of events that it has taken in.
    package var position: Int64

    /// The ``state`` of a node that the ledger contradicts.
    package static let halted = "halted"

    package init(
        name: String, program: String, schemaVersion: Int32, featureLevel: Int64, isReadOnly: Bool, state: String,
        position: Int64
    ) {
        self.name = name
        self.program = program
        self.schemaVersion = schemaVersion
        self.featureLevel = featureLevel
        self.isReadOnly = isReadOnly
        self.state = state
        self.position = position
    }
}

/// The nodes that share a database, each as it last reported itself.
///
/// Anyone who may write to the database may have written what stands here: it informs operators, and keeps them from
/// ending an upgrade too early, and no node trusts an event or a document for it. A node on a standby reports itself to the primary
/// among the hosts of its connection string, and is not seen where that names none.
package struct NodeRegistry: Sendable {
    /// How often a node reports itself. The database counts one that was silent for a minute as gone.
    package static let interval = Duration.seconds(10)

    /// A node with what the database knows of its reports.
    package struct Node: Hashable, Sendable {
        package var report: NodeReport
        package var startedAt: Timestamp
        package var seenAt: Timestamp
        /// Whether it has reported within the last minute.
        package var isLive: Bool
    }

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reports a node.
    ///
    /// - Parameter id: 32 hexadecimal digits, drawn by each process.
    package func report(_ report: NodeReport, as id: String) async throws {
        _ = try await self.pool.askPrimary(
            """
            SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone)
                THEN pinledger.report_node($1, $2, $3, $4, $5, $6, $7, $8) IS NULL END
            """,
            [
                .text(id), .text(report.name), .text(report.program), .int32(report.schemaVersion),
                .int64(report.featureLevel), .bool(report.isReadOnly), .text(report.state), .int64(report.position),
            ])
    }

    /// Removes a node that stops.
    package func forget(_ id: String) async throws {
        _ = try await self.pool.askPrimary(
            """
            SELECT CASE WHEN \(PostgresConfiguration.isPrimaryAndWaitsForNone)
                THEN pinledger.forget_node($1) IS NULL END
            """, [.text(id)])
    }

    /// The nodes that have reported within the last day, those that were seen last first: at most 1000.
    package func nodes() async throws -> [Node] {
        try await self.pool.read(Self.recent).map(Node.init)
    }

    /// True where a node that may record counts as running, as the primary knows: on a standby that has stood still, none does.
    package func hasLiveWriter() async throws -> Bool {
        try await self.pool.askPrimary(
            """
            SELECT CASE WHEN NOT pg_is_in_recovery()
                THEN EXISTS (SELECT FROM pinledger.node WHERE NOT is_read_only AND \(Self.isLive)) END
            """, []) ?? true
    }

    /// The name of a live node that is halted, as the primary knows; nil where there is none.
    package func haltedNode() async throws -> String? {
        let name = try await self.pool.askPrimary(
            """
            SELECT CASE WHEN NOT pg_is_in_recovery() THEN coalesce(
                (SELECT name FROM pinledger.node WHERE state = $1 AND \(Self.isLive) ORDER BY name LIMIT 1), '') END
            """, [.text(NodeReport.halted)]
        ) { row throws(PostgresError) in try row.optionalText(0) }
        return name.flatMap { $0.isEmpty ? nil : String(shown: $0.utf8) }
    }

    /// The same, on a connection.
    package static func nodes(on connection: isolated PostgresConnection) throws -> [Node] {
        try connection.query(Self.recent).map(Node.init)
    }

    /// Why the ledger in the database is not to be taken for the one that nodes have followed; nil where none that is live says so.
    ///
    /// - Parameters:
    ///   - nodes: As ``nodes(on:)`` reads them.
    ///   - position: Where the ledger ended no earlier than that.
    package static func doubt(of nodes: [Node], aboutLedgerOf position: Int64) -> String? {
        for node in nodes where node.isLive {
            let name = String(shown: node.report.name.utf8)
            if node.report.state == NodeReport.halted {
                return "the node \(name), which shares this database, is halted"
            }
            if node.report.position > position {
                return "the node \(name) has taken in \(node.report.position) events, and the database has \(position)"
            }
        }
        return nil
    }

    private static let recent = """
        SELECT name, program, schema_version, feature_level, is_read_only, state, position, started_at, seen_at, \(isLive)
        FROM pinledger.node WHERE seen_at > now() - interval '1 day' ORDER BY seen_at DESC, id LIMIT 1000
        """

    private static let isLive = "pinledger.is_live(seen_at)"

    /// The live nodes, for people, whose programs know fewer migrations than `version`.
    static func nodes(knowingLessThan version: Int32, on connection: isolated PostgresConnection) throws -> [String] {
        guard try connection.query("SELECT to_regclass('pinledger.node')::text").only.optionalText(0) != nil else {
            return []
        }
        return try connection.query(
            """
            SELECT name, program FROM pinledger.node
            WHERE schema_version < $1 AND \(Self.isLive) ORDER BY name LIMIT 20
            """,
            [.int32(version)]
        ).map { "\(try $0.text(0)) (version \(try $0.text(1)))" }
    }
}

extension NodeRegistry.Node {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            report: NodeReport(
                name: try row.text(0), program: try row.text(1), schemaVersion: try row.int32(2),
                featureLevel: try row.int64(3), isReadOnly: try row.bool(4), state: try row.text(5),
                // A login of the database may have reported any.
                position: min(max(try row.int64(6), 0), JSON.largestInteger)),
            startedAt: Timestamp(microseconds: try row.timestamp(7)),
            seenAt: Timestamp(microseconds: try row.timestamp(8)), isLive: try row.bool(9))
    }
}

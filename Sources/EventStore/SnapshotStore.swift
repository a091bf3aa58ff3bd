package import Logging
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Folds of the ledger kept in the database, so that a node starts without reading all of it.
///
/// Never an authority: a snapshot of another fold version is not read, one that is damaged is passed over, and one whose
/// tree is not the ledger's is a reason to read the ledger from its beginning.
package struct SnapshotStore: Sendable {
    private let pool: PostgresPool
    private let logger: Logger
    /// Events after which a new snapshot is worth its while.
    package static let interval: Int64 = 50_000

    package init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// The newest usable fold; the empty one where there is none.
    package func load() async throws -> LedgerView {
        let rows = try await self.pool.read(Statements.newestSnapshot.sql, [.int32(LedgerState.foldVersion)])
        guard !rows.isEmpty else { return LedgerView() }
        do {
            let row = try rows.only
            let position = try row.int64(0)
            let body = try row.bytes(3)
            guard sha256(body) == (try row.bytes(2)) else { throw Unusable.damaged }
            // The snapshot's tree must be the one that the ledger's own hashes make.
            let frontier = try MerkleFrontier(size: UInt64(position), encoded: try row.bytes(1))
            guard try await self.frontier(at: frontier.size) == frontier else { throw Unusable.foreign }
            let last = try await self.pool.read(Statements.leafHash.sql, [.int64(position - 1)])
            var view = LedgerView()
            let json = try JSON(parsing: body, limits: JSONLimits(depth: 32, nodes: .max))
            view.state = try LedgerState(JSONField(json))
            view.head = Head(
                position: position, frontier: frontier, lastTime: Timestamp(microseconds: try last.only.timestamp(1))
            )
            return view
        } catch {
            self.logger.error(
                "a snapshot is not usable: reading the ledger from its beginning", metadata: ["error": "\(error)"]
            )
            return LedgerView()
        }
    }

    /// Keeps a fold.
    package func store(_ view: LedgerView) async throws {
        let body = view.state.json.canonicalBytes
        _ = try await self.pool.query(
            Statements.storeSnapshot.sql,
            [
                .int32(LedgerState.foldVersion), .int64(view.head.position), .bytes(view.head.frontier.encoded),
                .bytes(sha256(body)), .bytes(body),
            ]
        )
    }

    /// The right edge of the ledger's tree as it was at `size`.
    private func frontier(at size: UInt64) async throws -> MerkleFrontier {
        let reader = LedgerReader(pool: self.pool)
        let plan = try MerkleFrontier.plan(size: size)
        var stored: [[LogHash]] = []
        for range in plan.ranges { stored.append(try await reader.hashes(range)) }
        return try MerkleFrontier(size: size, plan: plan, stored: stored)
    }

    private enum Unusable: Error {
        case damaged
        case foreign
    }
}

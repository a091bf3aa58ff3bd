package import PinWire
package import Pinning
package import Postgres

/// The state of a delivery.
package enum DeliveryState: String, CaseIterable, Sendable, Hashable {
    /// Not tried yet.
    case pending
    /// Tried, and to be tried again.
    case failed
    /// The receiver has it.
    case delivered
    /// Given up.
    case dead
}

/// What is still to be delivered, of all webhooks and by all nodes.
package struct WebhookQueue: Hashable, Sendable {
    /// Not tried yet.
    package var pending: Int64
    /// Tried, and to be tried again.
    package var failed: Int64
    /// When the oldest was taken in whose webhook is not paused; nil where there is none.
    package var oldest: Timestamp?
}

/// The feeds and deliveries of webhooks in the database, which all nodes share.
package struct WebhookStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One attempt that this node has begun, and that no other node makes for as long as the lease.
    struct Lease: Sendable {
        let webhook: String
        let position: Int64
        /// Counts all attempts there ever were; identifies the attempt when it is settled.
        let attempt: Int32
        /// Counts those since the delivery was last asked for.
        let round: Int
        let firstAttempt: Timestamp
        let entry: [UInt8]
    }

    /// A delivery as it is shown.
    package struct Delivery: Sendable {
        package var position: Int64
        package var json: JSON
    }

    // MARK: Feeding

    /// A webhook's cursor in the ledger.
    struct Feed: Sendable {
        /// The position of the event that made the webhook.
        let createdAt: Int64
        /// The position of the next event to take in.
        var cursor: Int64
    }

    /// All feeds, by webhook.
    func feeds() async throws -> [String: Feed] {
        let rows = try await self.pool.read("SELECT webhook, created, cursor FROM pinledger.webhook_feed")
        let feeds = try rows.map { row in
            (try row.text(0), Feed(createdAt: try row.int64(1), cursor: try row.int64(2)))
        }
        return Dictionary(feeds) { _, last in last }
    }

    func open(_ webhook: Webhook) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.open_webhook($1, $2)", [.text(webhook.id), .int64(webhook.createdVersion)]
        )
    }

    /// Removes some rows of a removed webhook; true when none is left.
    func close(_ webhook: String) async throws -> Bool {
        try await self.pool.query("SELECT pinledger.close_webhook($1)", [.text(webhook)]).only.bool(0)
    }

    /// Takes the next events into a webhook's deliveries, and returns the new position; nil where another node is doing
    /// it.
    func feed(_ webhook: Webhook, until position: Int64) async throws -> Int64? {
        try await self.pool.query(
            "SELECT pinledger.feed_webhook($1, $2, $3, $4, 1000)",
            [.text(webhook.id), .int64(position)] + Self.filters(of: webhook)
        ).only.optionalInt64(0)
    }

    private static func filters(of webhook: Webhook) -> [PostgresValue] {
        let streams = webhook.settings.apps.flatMap { [StreamID.app($0), .watch($0)] }
        return [.textArray(webhook.settings.types), .textArray(streams.map(\.text))]
    }

    // MARK: Attempts

    /// Leases due deliveries of a webhook, at most `count`.
    func lease(_ count: Int, of webhook: String, for seconds: Int, node: String) async throws -> [Lease] {
        let rows = try await self.pool.query(
            """
            SELECT webhook, position, attempt, attempts_before, first_attempt_at, entry
            FROM pinledger.lease_deliveries($1, $2, $3, $4)
            """,
            [
                .textArray([webhook]), .int32Array([Int32(count)]), .int32(Int32(seconds)), .text(node),
            ]
        )
        return try rows.map { row in
            let attempt = try row.int32(2)
            return Lease(
                webhook: try row.text(0), position: try row.int64(1), attempt: attempt,
                round: Int(attempt) - Int(try row.int32(3)),
                firstAttempt: Timestamp(microseconds: try row.timestamp(4)),
                entry: try row.bytes(5)
            )
        }
    }

    /// Records the result of an attempt, and returns since when the webhook fails; nil where it does not.
    func settle(_ lease: Lease, _ verdict: DeliveryVerdict) async throws -> Timestamp? {
        let (outcome, delay, status, error): (String, Double, Int?, String?) =
            switch verdict {
            case .delivered(let status): ("delivered", 0, status, nil)
            case .failed(let delay, let status, let error, _): ("failed", delay, status, error)
            case .dead(let status, let error): ("dead", 0, status, error)
            case .released: ("released", 0, nil, nil)
            }
        let row = try await self.pool.query(
            "SELECT pinledger.settle_delivery($1, $2, $3, $4, $5, $6, $7)",
            [
                .text(lease.webhook), .int64(lease.position), .int32(lease.attempt), .text(outcome), .double(delay),
                .optional(status) { .int32(Int32($0)) }, .optional(error) { .text($0) },
            ]
        ).only
        return try row.optionalTimestamp(0).map { Timestamp(microseconds: $0) }
    }

    // MARK: Looking and asking again

    /// What is still to be delivered of all webhooks.
    ///
    /// - Parameter active: The webhooks whose oldest delivery counts.
    func queue(active: [String]) async throws -> WebhookQueue {
        let row = try await self.pool.read(
            """
            SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'failed'),
                   min(created_at) FILTER (WHERE webhook = ANY ($1))
            FROM pinledger.webhook_delivery WHERE state IN ('pending', 'failed')
            """,
            [.textArray(active)]
        ).only
        return WebhookQueue(
            pending: try row.int64(0), failed: try row.int64(1),
            oldest: try row.optionalTimestamp(2).map { Timestamp(microseconds: $0) })
    }

    /// Which deliveries a list shows.
    package struct Page: Sendable {
        package var deliveries: [Delivery]
        /// Whether more follow.
        package var hasMore: Bool
    }

    /// A webhook's deliveries, the newest event's first.
    package func deliveries(
        of webhook: String, in state: DeliveryState?, before boundary: Int64?, limit: Int, fleet: Fleet
    ) async throws -> Page {
        var parameters: [PostgresValue] = [.text(webhook), .int64(boundary ?? .max), .int64(Int64(limit) + 1)]
        var condition = ""
        if let state {
            parameters.append(.text(state.rawValue))
            condition = "AND state = $4"
        }
        let rows = try await self.pool.read(
            """
            SELECT position, stream, type, state, attempts, created_at, first_attempt_at, last_attempt_at, next_attempt_at,
                   settled_at, last_status, last_error
            FROM pinledger.webhook_delivery
            WHERE webhook = $1 AND position < $2 \(condition) ORDER BY position DESC LIMIT $3
            """,
            parameters
        )
        let found = try rows.prefix(limit).map { row in
            Delivery(position: try row.int64(0), json: try Self.json(of: row, webhook: webhook, fleet))
        }
        return Page(deliveries: found, hasMore: rows.count > limit)
    }

    private static func json(of row: PostgresRow, webhook: String, _ fleet: Fleet) throws -> JSON {
        func time(_ column: Int) throws -> JSON? {
            try row.optionalTimestamp(column).map { .string(Timestamp(microseconds: $0).rfc3339) }
        }
        let position = try row.int64(0)
        return .members([
            "id": .string(
                WebhookMessage.id(webhook: webhook, EpochNumber(epoch: fleet.epoch(at: position), number: position))),
            "position": .integer(position),
            "stream": .string(try row.text(1)),
            "type": .string(try row.text(2)),
            "state": .string(try row.text(3)),
            "attempts": .integer(try row.int64(4)),
            "created_at": try time(5),
            "first_attempt_at": try time(6),
            "last_attempt_at": try time(7),
            "next_attempt_at": try time(8),
            "settled_at": try time(9),
            "last_status": try row.optionalInt64(10).map { .integer($0) },
            "last_error": try row.optionalText(11).map { .string($0) },
        ])
    }

    /// A webhook's state: its cursor, the numbers of open and given-up deliveries, and its last success; nil where its
    /// feed has not begun.
    package func progress(of webhook: String) async throws -> JSON? {
        let rows = try await self.pool.read(
            """
            SELECT f.cursor, f.failing_since, f.last_success_at,
                   (SELECT count(*) FROM pinledger.webhook_delivery d
                     WHERE d.webhook = f.webhook AND d.state IN ('pending', 'failed') AND d.attempts = d.attempts_before),
                   (SELECT count(*) FROM pinledger.webhook_delivery d
                     WHERE d.webhook = f.webhook AND d.state IN ('pending', 'failed') AND d.attempts > d.attempts_before),
                   (SELECT count(*) FROM pinledger.webhook_delivery d WHERE d.webhook = f.webhook AND d.state = 'dead')
            FROM pinledger.webhook_feed f WHERE f.webhook = $1
            """,
            [.text(webhook)]
        )
        guard let row = rows.first else { return nil }
        func time(_ column: Int) throws -> JSON? {
            try row.optionalTimestamp(column).map { .string(Timestamp(microseconds: $0).rfc3339) }
        }
        return .members([
            "cursor": .integer(try row.int64(0)),
            "failing_since": try time(1),
            "last_success_at": try time(2),
            "waiting": .integer(try row.int64(3)),
            "retrying": .integer(try row.int64(4)),
            "dead": .integer(try row.int64(5)),
        ])
    }

    /// The most events that one call may ask for.
    package static let replayLimit: Int64 = 10_000

    /// The number of open deliveries of one webhook at which requests for more are refused.
    package static let openLimit = 10_000

    /// Has events sent again, and returns how many; nil, without any effect, where ``openLimit`` are open already.
    ///
    /// - Parameter isComplete: Whether to include events that pass the filters and are no longer, or never were, among
    ///   the deliveries.
    package func replay(_ webhook: Webhook, at positions: Range<Int64>, isComplete: Bool) async throws -> Int64? {
        try await self.pool.query(
            "SELECT pinledger.replay_deliveries($1, $2, $3, $4, $5, $6)",
            [
                .text(webhook.id), .int64(positions.lowerBound), .int64(positions.upperBound), .bool(isComplete),
            ] + Self.filters(of: webhook)
        ).only.optionalInt64(0)
    }
}

package import PinWire
package import Pinning
package import Postgres
package import TransparencyLog

/// Reads the ledger from the database, checking what it reads.
package struct LedgerReader: Sendable {
    let pool: PostgresPool
    private let bundles: BundleDirectory?
    /// The one connection that it reads on; nil where each statement goes to any of the pool's.
    private(set) var connection: PostgresConnection?

    /// - Parameter bundles: Where the entries of pruned events are; nil where this process cannot read them.
    package init(pool: PostgresPool, bundles: BundleDirectory? = nil) {
        self.pool = pool
        self.bundles = bundles
    }

    /// The same reader on one connection.
    func reading(on connection: PostgresConnection) -> LedgerReader {
        var reader = self
        reader.connection = connection
        return reader
    }

    /// One statement that only reads.
    func read(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        guard let connection else { return try await self.pool.read(sql, parameters) }
        return try await connection.query(sql, parameters)
    }

    /// An entry as it was stored: the value and the very bytes.
    package struct Stored: Sendable {
        package var entry: Entry
        package var bytes: [UInt8]
    }

    /// The entries at `positions`, at most `limit`, in order.
    ///
    /// - Throws: ``LedgerFault`` where an entry cannot be read or does not have its recorded hash.
    package func entries(at positions: Range<Int64>, limit: Int) async throws -> [Stored] {
        try Self.stored(try await self.rows(at: positions, limit: limit))
    }

    /// The same entries as ``entries(at:limit:)``, as the fold wants them.
    ///
    /// - Parameters:
    ///   - positions: Positions before an end of the ledger.
    ///   - level: The highest ``FeatureLevel`` that the program knows.
    ///   - holdsEntries: Whether the page is to have the entries' bytes too.
    /// - Throws: As ``absence(of:)`` says where there is none.
    func page(
        at positions: Range<Int64>, limit: Int, knowing level: Int64, holdsEntries: Bool = false
    ) async throws -> LedgerPage {
        let rows = try await self.rows(at: positions, limit: limit)
        guard rows.count > 0 || positions.isEmpty else { throw try await self.absence(of: positions.lowerBound) }
        return LedgerPage(rows, knowing: level, holdsEntries: holdsEntries)
    }

    private func rows(at positions: Range<Int64>, limit: Int) async throws -> PostgresRows {
        try await self.whole(
            try await self.read(
                Statements.entries.sql,
                [.int64(positions.lowerBound), .int64(positions.upperBound), .int64(Int64(limit))]))
    }

    /// Rows of position, entry, leaf_hash with the entries that were pruned.
    ///
    /// - Throws: ``LedgerFault/pruned(position:file:)`` where one is not to be had.
    func whole(_ rows: PostgresRows) async throws -> PostgresRows {
        let rows = try await self.filled(rows)
        if let missing = rows.firstPruned(entry: 1) { throw try await self.missing(at: try rows[missing].int64(0)) }
        return rows
    }

    /// The same rows with the entries that bundles hold.
    private func filled(_ rows: PostgresRows) async throws -> PostgresRows {
        guard let bundles, rows.firstPruned(entry: 1) != nil else { return rows }
        return try await bundles.filled(rows, entry: 1, hash: 2)
    }

    /// What it means that an entry is empty, which is not to be had from bundles.
    func missing(at position: Int64) async throws -> LedgerFault {
        guard let row = try await self.read(Statements.isPruned.sql, [.int64(position)]).first, try row.bool(0)
        else {
            throw PostgresError(.timeout, "the entry at position \(position) has been restored meanwhile")
        }
        guard try row.bool(1) else { return .unreadable(position: position, "it is empty") }
        return .pruned(position: position, file: self.bundles?.file(at: position))
    }

    /// The leaf hashes of the entries at `positions`, at most `limit`, whatever stands in the entries.
    ///
    /// - Throws: ``LedgerFault`` where one is missing, or is not the one that is stored; as ``absence(of:)`` says where there is none.
    func leaves(at positions: Range<Int64>, limit: Int) async throws -> [LogHash] {
        var leaves: [LogHash] = []
        for row in try await self.rows(at: positions, limit: limit) {
            let (position, expected) = (try row.int64(0), positions.lowerBound + Int64(leaves.count))
            guard position == expected else { throw LedgerFault.position(expected: expected, found: position) }
            let leaf = MerkleTree.leafHash(try row.bytes(1))
            guard leaf.bytes == (try row.bytes(2)) else { throw LedgerFault.leafHash(position: position) }
            leaves.append(leaf)
        }
        guard !leaves.isEmpty || positions.isEmpty else { throw try await self.absence(of: positions.lowerBound) }
        return leaves
    }

    /// Where the ledger ends now.
    package func head() async throws -> Head { try await self.end().head }

    /// Where the ledger ends now, with its MAC.
    package func end() async throws -> StoredEnd {
        try StoredEnd(try await self.read(Statements.head))
    }

    /// Where the ledger ends now, with its MAC, and whether the server that says so is a standby.
    package func endAndServer() async throws -> (end: StoredEnd, isStandby: Bool) {
        let rows = try await self.read(Statements.headAndServer)
        return (try StoredEnd(rows), try rows.only.bool(4))
    }

    /// Where the ledger ends now, with its MAC, on a connection.
    package static func end(on connection: isolated PostgresConnection) throws -> StoredEnd {
        try StoredEnd(try connection.query(Statements.head))
    }

    /// The ends of batches at `positions` whose MACs name a key, the last first: as the stored hashes make them.
    func macs(at positions: Range<Int64>, of key: BatchKey, limit: Int) async throws -> [StoredEnd] {
        let rows = try await self.read(
            Statements.macs.sql,
            [
                .int64(positions.lowerBound), .int64(positions.upperBound), .bytes(key.id), .int64(Int64(limit)),
            ])
        var ends: [StoredEnd] = []
        for row in rows {
            let position = try row.natural(0) + 1
            guard let frontier = try await self.knownFrontier(at: position) else { continue }
            let time = Timestamp(microseconds: try row.timestamp(1))
            ends.append(
                StoredEnd(
                    head: Head(position: position, frontier: frontier, lastTime: time), mac: try row.bytes(2)))
        }
        return ends
    }

    /// The right edge of the ledger's tree as it was at `size`, by the stored hashes.
    package func frontier(at size: UInt64) async throws -> MerkleFrontier {
        let plan = try MerkleFrontier.plan(size: size)
        var stored: [[LogHash]] = []
        for range in plan.ranges { stored.append(try await self.hashes(range)) }
        return try MerkleFrontier(size: size, plan: plan, stored: stored)
    }

    /// The same; nil where the stored hashes are not those of a tree of that size.
    func knownFrontier(at position: Int64) async throws -> MerkleFrontier? {
        guard let size = UInt64(exactly: position) else { return nil }
        do { return try await self.frontier(at: size) } catch is LogError { return nil }
    }

    /// Authenticates the ledger's end with the node's key whatever MAC it has: for an operator who trusts what the database
    /// holds. The ledger MUST have been read to its end.
    ///
    /// - Returns: False where the ledger has grown meanwhile, or the node has no key.
    package func authenticateEnd(of ledger: Ledger) async throws -> Bool {
        let (end, known) = (try await self.end(), ledger.view.head)
        guard let key = ledger.keys?.current, end.head == known else { return false }
        return try await self.pool.query(
            Statements.authenticateHead.sql,
            [.int64(known.position), end.mac.map { .bytes($0) } ?? .null, .bytes(key.mac(of: known))]
        ).only.bool(0)
    }

    /// The stored hashes of a range, from which proofs are made; fewer where the ledger does not reach so far.
    package func hashes(_ range: HashRange) async throws -> [LogHash] {
        let bounds: [PostgresValue] = [
            .int64(Int64(range.indices.lowerBound)), .int64(Int64(range.indices.upperBound)),
        ]
        let rows =
            range.level == 0
            ? try await self.read(Statements.leafHashes.sql, bounds)
            : try await self.read(Statements.tileRoots.sql, bounds + [.int16(Int16(range.level))])
        return try rows.compactMap { LogHash(try $0.bytes(0)) }
    }

    /// The stored root over the entries of each whole bundle at `positions`.
    package func bundleRoots(at positions: Range<Int64>) async throws -> [LogHash] {
        let width = Int64(Tile.fullWidth)
        return try await self.hashes(
            HashRange(
                level: TileRoot.levelsPerTile,
                indices: UInt64(positions.lowerBound / width)..<UInt64(positions.upperBound / width)))
    }

    /// Reads rows of position, entry, leaf_hash.
    ///
    /// - Throws: ``LedgerFault``: ``LedgerFault/pruned(position:file:)`` where the entry is missing.
    static func stored(_ rows: some Sequence<PostgresRow>) throws -> [Stored] {
        try rows.map { row in
            let position = try row.int64(0)
            let bytes = try row.bytes(1)
            guard !bytes.isEmpty else { throw LedgerFault.pruned(position: position, file: nil) }
            guard MerkleTree.leafHash(bytes).bytes == (try row.bytes(2)) else {
                throw LedgerFault.leafHash(position: position)
            }
            do {
                let entry = try Entry(canonical: bytes)
                guard entry.position == position else { throw LedgerFault.leafHash(position: position) }
                return Stored(entry: entry, bytes: bytes)
            } catch let defect as JSONDefect {
                if let later = LaterProgram(unread: bytes) {
                    throw LedgerFault.needsUpgrade(position: position, later)
                }
                throw LedgerFault.unreadable(position: position, defect.description)
            }
        }
    }

    /// The result of the first request with this request's idempotency key; nil where there was none. Where it recorded
    /// nothing, the stream's version is 0: only a fold knows it.
    ///
    /// The result is given only after a commit of its own, which waits for a standby as any other does: that shows that
    /// the record is not lost with this server.
    ///
    /// - Throws: ``WriteFailure/keyReused`` where that was another request, ``WriteFailure/outcomeUnknown`` where the
    ///   database does not confirm it.
    package func recorded(by request: CommandRequest) async throws -> Recorded? {
        guard let key = request.key else { return nil }
        return try await self.onOneServer { reader in
            let rows = try await reader.read(
                Statements.commands.sql, [.textArray([key.actor]), .textArray([key.key])]
            )
            guard let row = rows.first else { return nil }
            guard try row.bytes(1) == request.digest else { throw WriteFailure.keyReused }
            let (first, count) = (try row.natural(2), try row.natural(3))
            let entries = try await reader.entries(at: first..<(first + count), limit: Int(count))
            do {
                _ = try await reader.read(Statements.lockHead.sql)
                try await reader.connection?.checkCommitsWait()
            } catch is PostgresError {
                throw WriteFailure.outcomeUnknown
            }
            return Recorded(
                entries: entries.map(\.entry), position: first + count,
                streamVersion: entries.last?.entry.streamVersion ?? 0, isReplay: true
            )
        }
    }

    /// Which events a history shows.
    package struct Filter: Hashable, Sendable {
        package var stream: StreamID?
        /// Streams that are left out.
        package var hidden: [StreamID] = []
        package var types: [String] = []
        /// Ids of actors; none for all.
        package var actorIDs: [String] = []
        /// Only events caused by this principal, with whichever token; nil for all. It is looked for as a text is, and not together with one.
        package var principal: String?
        package var since: Timestamp?
        package var until: Timestamp?
        /// Only events behind this position.
        package var after: Int64?
        /// Only events whose recorded text holds these bytes; letters of ASCII match whether large or small.
        package var text: [UInt8]?

        package init() {}
    }

    /// A page of history.
    package struct Page: Sendable {
        package var entries: [Stored]
        /// The boundary from which to read on, where more may follow; nil at the end.
        package var next: Int64?
    }

    /// How many events a search for a text looks at for one page.
    package static let searchWidthOfPage: Int64 = 20_000

    /// How many pruned events a search for a text looks at for one page.
    private static let prunedWidthOfPage = 1000

    /// Events that pass `filter`, from `boundary` (exclusive; nil for the end at which reading starts), newest first
    /// unless `ascending`.
    ///
    /// A page ends early before an event that is pruned and whose entry is not to be had.
    ///
    /// - Parameter width: How many events that pass the rest of the filter a search for a text looks at. Then the page ends, with
    ///   however few events, and says where to go on: no index helps with texts.
    package func history(
        _ filter: Filter, from boundary: Int64?, ascending: Bool, limit: Int, width: Int64 = Self.searchWidthOfPage
    ) async throws -> Page {
        var conditions: [String] = []
        var parameters: [PostgresValue] = []
        let sought = filter.text ?? filter.principal.map { Array("\"\($0)\"".utf8) }
        func add(_ condition: String, _ value: PostgresValue) {
            parameters.append(value)
            conditions.append(condition.replacing("?", with: "$\(parameters.count)"))
        }
        if let stream = filter.stream { add("stream = ?", .text(stream.text)) }
        if !filter.hidden.isEmpty { add("stream <> ALL(?)", .textArray(filter.hidden.map(\.text))) }
        if !filter.types.isEmpty { add("type = ANY(?)", .textArray(filter.types)) }
        if let actor = filter.actorIDs.first {
            // An index gives one actor's events in order.
            if filter.actorIDs.count == 1 {
                add("actor_id = ?", .text(actor))
            } else {
                add("actor_id = ANY(?)", .textArray(filter.actorIDs))
            }
        }
        if let since = filter.since { add("position >= ?", .int64(try await self.position(at: since))) }
        if let until = filter.until { add("position < ?", .int64(try await self.position(at: until))) }
        if let after = filter.after { add("position > ?", .int64(after)) }
        if let boundary { add(ascending ? "position > ?" : "position < ?", .int64(boundary)) }
        // Within a stream, versions stand in the order of positions, and there is an index on them.
        let order = (filter.stream == nil ? "position" : "stream_version") + (ascending ? " ASC" : " DESC")
        let (last, rows, candidates) = try await self.onOneServer { reader in
            var (conditions, parameters) = (conditions, parameters)
            func clause() -> String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }
            var last: Int64?
            if let text = sought {
                last = try await reader.read(
                    "SELECT position FROM pinledger.event \(clause()) ORDER BY \(order) LIMIT 1 OFFSET $\(parameters.count + 1)",
                    parameters + [.int64(width - 1)]
                ).first?.int64(0)
                if let last {
                    parameters.append(.int64(last))
                    conditions.append("position \(ascending ? "<=" : ">=") $\(parameters.count)")
                }
                // Nothing that stands in a row makes this fail. It finds a little more than it should: bytes outside of ASCII are
                // written as numbers here.
                // A pruned entry may hold the text.
                parameters.append(.bytes(text))
                conditions.append(
                    #"(entry = '' OR strpos(lower(encode(entry, 'escape') COLLATE "C"), lower(encode($"#
                        + "\(parameters.count)" + #", 'escape') COLLATE "C")) > 0)"#)
            }
            let sql = """
                SELECT position, entry, leaf_hash FROM pinledger.event \(clause())
                ORDER BY \(order) LIMIT $\(parameters.count + 1)
                """
            let rows = try await reader.read(sql, parameters + [.int64(Int64(limit) + 1)])
            // The database cannot search pruned entries: this process looks for the text in the bundles, in more of them.
            guard sought != nil, self.bundles != nil, limit < Self.prunedWidthOfPage,
                rows.firstPruned(entry: 1) != nil
            else { return (last, rows, limit + 1) }
            let more = try await reader.read(sql, parameters + [.int64(Int64(Self.prunedWidthOfPage))])
            return (last, more, Self.prunedWidthOfPage)
        }
        let filled = try await self.filled(rows)
        // The page ends before an entry that is not to be had. One that begins with it says so.
        let pruned = filled.firstPruned(entry: 1)
        if pruned == 0 { throw try await self.missing(at: try filled[0].int64(0)) }
        let found = try Self.stored(filled.prefix(pruned ?? filled.count))
        let matching = found.filter { stored in
            sought.map { Self.holds(stored.bytes, $0) } ?? true
                && filter.principal.map { stored.entry.origin.actor.principalID == $0 } ?? true
        }
        let entries = Array(matching.prefix(limit))
        if matching.count > limit { return Page(entries: entries, next: entries.last?.entry.position) }
        let isCut = pruned != nil || found.count == candidates
        return Page(entries: entries, next: isCut ? found.last?.entry.position : last)
    }

    /// Whether bytes hold a text; letters of ASCII match whether large or small.
    private static func holds(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        func folded(_ bytes: [UInt8]) -> [UInt8] { bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
        return folded(bytes).firstRange(of: folded(text)) != nil
    }
}

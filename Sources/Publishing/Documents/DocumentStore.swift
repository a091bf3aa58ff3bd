import EventStore
import Keys
import PinWire
import Pinning
import Postgres

/// Signed documents in the database, where every node finds them.
struct DocumentStore: Sendable {
    private let pool: PostgresPool
    private let known: @Sendable () -> Int64
    /// The most rows with documents that one statement reads.
    private let pageSize: Int
    /// The most rows without documents that one statement reads.
    private let changesSize: Int
    static let channel = "pinledger_document"

    /// - Parameter known: The number of events that the node knows.
    init(
        pool: PostgresPool, pageSize: Int = 200, changesSize: Int = 5000,
        known: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        (self.pool, self.pageSize, self.changesSize) = (pool, pageSize, changesSize)
        self.known = known
    }

    /// One statement that only reads, on a server that has all events that the node knows: one that lags may store earlier documents.
    /// Another server is asked, once, in the place of one that lags, and its answer counts.
    private func read(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        let known = self.known()
        return try await self.lend {
            do {
                return try await self.pool.reading { connection in
                    let head = try await connection.query("SELECT next_position FROM pinledger.head").first
                    if let end = try head?.optionalInt64(0), end < known {
                        await connection.close()
                        throw LedgerReader.Behind(position: known - 1)
                    }
                    return try await connection.query(sql, parameters)
                }
            } catch is LedgerReader.Behind {
                return try await self.pool.read(sql, parameters)
            }
        }
    }

    /// Has what `body` borrows counted as connections for documents, of which there are few at once: where all of them wait for a lock on
    /// the table, one is left to follow the ledger with.
    private func lend<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await PostgresPool.$kind.withValue("documents", operation: body)
    }

    /// A signed document as it is stored.
    struct Signed: Sendable {
        let app: AppID
        let version: Int64
        let position: Int64
        let contentDigest: [UInt8]
        let issuedAt: Timestamp
        let expiresAt: Timestamp
        let keyID: String
        let body: [UInt8]

        /// What a node remembers of having served it.
        var remembered: NodeMemory.Document {
            NodeMemory.Document(version: self.version, contentDigest: self.contentDigest)
        }

        /// Its place among the documents of its app.
        func issuance(at now: Timestamp) -> Issuance {
            Issuance(version: self.version, issuedAt: self.issuedAt, at: now)
        }

        var published: PublishedDocument {
            PublishedDocument(
                app: self.app, version: self.version, position: self.position, contentDigest: self.contentDigest,
                issuedAt: self.issuedAt, expiresAt: self.expiresAt, keyID: self.keyID,
                body: PreparedBody(self.body, tagPrefix: DocumentTag.prefix(version: self.version))
            )
        }
    }

    /// A document that was read from the database: not to be trusted before a ``DocumentJudge`` has judged it.
    struct Stored: Sendable {
        let document: Signed
        /// The number of events in the database's ledger when the document was read; 0 for one that the node has kept itself.
        let ledgerEnd: Int64

        /// Whether the node has kept it outside the database.
        var isKept: Bool { self.ledgerEnd == 0 }
    }

    /// A document to be stored.
    struct Outgoing: Sendable {
        let document: Signed
        /// The leaf hash of its last event.
        let leaf: [UInt8]?
        /// SHA-256 of the stored body that it may replace, because that is not a document of this ledger.
        var unfit: [UInt8]?
    }

    /// Stores documents and returns the apps whose documents were stored; the others have a newer one there already.
    ///
    /// - Throws: ``PostgresError``, with PL003 where a document of that version has other content, and with PL004 where
    ///   one was made of events that the database's ledger does not hold, by the word of a new connection too: an older one may
    ///   lead to a former primary. Nothing is stored then.
    func publish(_ outgoing: [Outgoing]) async throws -> Set<AppID> {
        do { return try await self.put(outgoing) } catch let error as PostgresError where error.sqlState == "PL004" {
            self.pool.dropConnections()
            return try await self.put(outgoing)
        }
    }

    private func put(_ outgoing: [Outgoing]) async throws -> Set<AppID> {
        let documents = outgoing.map(\.document)
        let parameters: [PostgresValue] = [
            .textArray(documents.map(\.app.text)),
            .int64Array(documents.map(\.version)),
            .int64Array(documents.map(\.position)),
            .bytesArray(documents.map(\.contentDigest)),
            .timestampArray(documents.map(\.issuedAt.microseconds)),
            .timestampArray(documents.map(\.expiresAt.microseconds)),
            .textArray(documents.map(\.keyID)),
            .bytesArray(documents.map(\.body)),
            .bytesArray(outgoing.map(\.leaf)),
            .bytesArray(outgoing.map(\.unfit)),
        ]
        let rows = try await self.lend {
            try await self.pool.withConnection { connection in
                try await connection.query(
                    prepared: "SELECT pinledger.publish_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", parameters)
            }
        }
        return Set(try rows.only.textArray(0).compactMap { try $0.map { try AppID($0) } })
    }

    /// The number of events in the database's ledger.
    func ledgerEnd() async throws -> Int64 {
        try await self.lend { try await self.pool.read("SELECT next_position FROM pinledger.head").only.int64(0) }
    }

    /// The stored documents of all apps. Rows whose columns cannot be read are left out, and named in `unreadable`.
    func loadAll() async throws -> (stored: [Stored], unreadable: [String]) {
        var (stored, unreadable): ([Stored], [String]) = ([], [])
        var after: (app: String, version: Int64) = ("", 0)
        while true {
            // In pages: one statement for all of a large fleet would meet its time limit.
            let rows = try await self.read(
                """
                \(Self.columns) FROM (
                    SELECT * FROM pinledger.document WHERE (app, version) > ($1, $2) ORDER BY app, version LIMIT $3
                ) d ORDER BY d.app, d.version
                """, [.text(after.app), .int64(after.version), .int64(Int64(self.pageSize))])
            try Self.read(rows, into: &stored, &unreadable)
            guard rows.count == self.pageSize, let last = rows.last else { return (stored, unreadable) }
            after = (try last.text(0), try last.int64(1))
        }
    }

    /// The stored documents of `apps`. Rows whose columns cannot be read are left out, and named in `unreadable`.
    func load(_ apps: [AppID]) async throws -> (stored: [Stored], unreadable: [String]) {
        // Only the newest of each app: earlier ones may still be in the table for an older snapshot.
        let rows = try await self.read(
            """
            \(Self.columns) FROM unnest($1::text[]) a (app)
            CROSS JOIN LATERAL (
                SELECT * FROM pinledger.document d WHERE d.app = a.app ORDER BY d.version DESC LIMIT 1
            ) d
            """, [.textArray(apps.map(\.text))])
        var (stored, unreadable): ([Stored], [String]) = ([], [])
        try Self.read(rows, into: &stored, &unreadable)
        return (stored, unreadable)
    }

    private static let columns = """
        SELECT d.app, d.version, d.position, d.content_sha256, d.issued_at, d.expires_at, left(d.kid, 301),
            substr(d.body, 1, 4194305), (SELECT next_position FROM pinledger.head)
        """

    private static func read(
        _ rows: PostgresRows, into stored: inout [Stored], _ unreadable: inout [String]
    ) throws {
        for row in rows {
            let name = try row.text(0)
            guard let app = try? AppID(name) else {
                unreadable.append(name)
                continue
            }
            // One row that a login has put there keeps no other document from clients.
            do { stored.append(try Self.stored(row, of: app)) } catch let error as PostgresError
                where error.code == .decoding
            { unreadable.append(name) }
        }
    }

    private static func stored(_ row: PostgresRow, of app: AppID) throws -> Stored {
        let document = Signed(
            app: app,
            version: try row.int64(1),
            position: try row.int64(2),
            contentDigest: try row.bytes(3),
            issuedAt: Timestamp(microseconds: try row.timestamp(4)),
            expiresAt: Timestamp(microseconds: try row.timestamp(5)),
            keyID: try row.text(6),
            body: try row.bytes(7)
        )
        return Stored(document: document, ledgerEnd: try row.int64(8))
    }

    /// A change of one stored document, as a notification or the table tells it without the document.
    struct News: Sendable {
        let app: AppID
        let version: Int64
        let issuedAt: Timestamp

        /// Reads a notification; nil where it names no documents, so that every node has to look.
        static func list(_ payload: String) -> [News]? {
            let words = payload.split(separator: " ")
            let news = words.compactMap { word -> News? in
                let parts = word.split(separator: "@")
                guard parts.count == 3, let app = try? AppID(String(parts[0])), let version = Int64(parts[1]),
                    let seconds = Int64(parts[2])
                else { return nil }
                return News(app: app, version: version, issuedAt: Timestamp(seconds: seconds))
            }
            return news.isEmpty || news.count != words.count ? nil : news
        }

        /// Whether the table has something older.
        func isNews(to table: DocumentTable) -> Bool { table.wants(self.app, self.version, self.issuedAt) }

        /// True where the documents are there of all news, or later ones.
        static func areAll(_ news: some Sequence<News>, among stored: [Stored], at now: Timestamp) -> Bool {
            let newest = Dictionary(
                stored.map { ($0.document.app, $0.document.issuance(at: now)) }, uniquingKeysWith: max)
            return news.allSatisfy { each in
                let told = Issuance(version: each.version, issuedAt: each.issuedAt, at: now)
                return newest[each.app].map { $0 >= told } ?? false
            }
        }
    }

    /// A part of the changes of stored documents, in their order.
    struct Changes: Sendable {
        /// The changes whose document is newer than the table's.
        var outdated: [News] = []
        /// The number of the last of them; nil where there is none.
        var last: Int64?
        /// True where there may be more.
        var isPart = false
    }

    /// The changes of stored documents from the one of this number on; from 1 on all there are.
    ///
    /// The change that was seen last is among them as long as no later one has taken its place. Without any, the database has other
    /// changes than were seen: it was restored, or is behind.
    func changes(from change: Int64, newerThan table: DocumentTable) async throws -> Changes {
        let rows = try await self.read(
            "SELECT app, version, issued_at, change FROM pinledger.document WHERE change >= $1 ORDER BY change LIMIT $2",
            [.int64(change), .int64(Int64(self.changesSize))])
        var changes = Changes(last: try rows.last?.int64(3), isPart: rows.count == self.changesSize)
        for row in rows {
            guard let app = try? AppID(try row.text(0)) else { continue }
            let issuedAt = Timestamp(microseconds: try row.timestamp(2))
            let news = News(app: app, version: try row.int64(1), issuedAt: issuedAt)
            if news.isNews(to: table) { changes.outdated.append(news) }
        }
        return changes
    }
}

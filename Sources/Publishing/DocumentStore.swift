import Keys
import PinWire
import Pinning
import Postgres

/// Signed documents in the database, where every node finds them.
struct DocumentStore: Sendable {
    private let pool: PostgresPool
    static let channel = "pinledger_document"

    init(pool: PostgresPool) {
        self.pool = pool
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

        var published: PublishedDocument {
            PublishedDocument(
                app: self.app, version: self.version, position: self.position, contentDigest: self.contentDigest,
                issuedAt: self.issuedAt, expiresAt: self.expiresAt, keyID: self.keyID,
                body: PreparedBody(self.body, tagPrefix: DocumentTag.prefix(version: self.version))
            )
        }

        /// Why these bytes cannot be the document that the columns beside them describe; nil where they can.
        ///
        /// A key that the ledger does not have is no defect where the document was made at a position that this node has
        /// not reached yet.
        ///
        /// - Parameter position: The number of events that `keys` comes from.
        func defect(under keys: KeyRing, at position: Int64) -> String? {
            do {
                let jws = try CompactJWS(
                    parsing: String(decoding: self.body, as: UTF8.self), type: Publisher.documentType)
                guard jws.keyID == self.keyID else { return "it is signed by another key than stands beside it" }
                guard let key = keys.keys[jws.keyID].flatMap({ Ed25519PublicKey($0.publicKey) }) else {
                    return self.position > position ? nil : "it is signed by a key that the ledger does not have"
                }
                let claims = CanonicalMembers(try jws.verify(with: key))
                guard claims.has("aud", self.app.text) else { return "it is another app's" }
                guard claims.has("version", self.version), claims.has("iat", self.issuedAt.seconds) else {
                    return "it is of another version or time than stands beside it"
                }
                return nil
            } catch {
                return "\(error)"
            }
        }
    }

    /// Stores documents and returns the apps whose documents were taken; of the others a newer one stands there already.
    func publish(_ documents: [Signed]) async throws -> Set<AppID> {
        let rows = try await self.pool.withConnection { connection in
            try await connection.query(
                prepared: "SELECT pinledger.publish_documents($1, $2, $3, $4, $5, $6, $7, $8)",
                [
                    .textArray(documents.map(\.app.text)),
                    .int64Array(documents.map(\.version)),
                    .int64Array(documents.map(\.position)),
                    .bytesArray(documents.map(\.contentDigest)),
                    .timestampArray(documents.map(\.issuedAt.microseconds)),
                    .timestampArray(documents.map(\.expiresAt.microseconds)),
                    .textArray(documents.map(\.keyID)),
                    .bytesArray(documents.map(\.body)),
                ]
            )
        }
        return Set(try rows.only.textArray(0).compactMap { try $0.map { try AppID($0) } })
    }

    /// The stored documents of `apps`, or of all apps.
    func load(_ apps: [AppID]?) async throws -> [Signed] {
        var sql = """
            SELECT app, version, position, content_sha256, issued_at, expires_at, kid, body FROM pinledger.document
            """
        if apps != nil { sql += " WHERE app = ANY($1)" }
        let rows = try await self.pool.read(sql, apps.map { [.textArray($0.map(\.text))] } ?? [])
        return try rows.map { row in
            Signed(
                app: try AppID(try row.text(0)),
                version: try row.int64(1),
                position: try row.int64(2),
                contentDigest: try row.bytes(3),
                issuedAt: Timestamp(microseconds: try row.timestamp(4)),
                expiresAt: Timestamp(microseconds: try row.timestamp(5)),
                keyID: try row.text(6),
                body: try row.bytes(7)
            )
        }
    }

    /// What a notification says of one document.
    struct News: Sendable {
        let app: AppID
        let version: Int64
        let issuedAt: Timestamp

        /// Reads a notification; nil where it names no documents, and everybody has to look.
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
    }

    /// Which apps have a newer document stored than `table` holds.
    func outdated(in table: DocumentTable) async throws -> [AppID] {
        let rows = try await self.pool.read("SELECT app, version, issued_at FROM pinledger.document")
        return try rows.compactMap { row in
            let app = try AppID(try row.text(0))
            let issuedAt = Timestamp(microseconds: try row.timestamp(2))
            return table.wants(app, try row.int64(1), issuedAt) ? app : nil
        }
    }
}

import PinWire
package import Postgres

/// One step of the database's schema: forward only, applied in one transaction, never changed once released.
package struct Migration: Sendable, Hashable {
    package let version: Int32
    package let name: String
    package let sql: String

    /// SHA-256 of the text: 32 bytes.
    package var checksum: [UInt8] { sha256(Array(self.sql.utf8)) }

    package init(_ version: Int32, _ name: String, _ text: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: text, as: UTF8.self)
    }

    /// All of them, oldest first: the files of `db/migrations`.
    package static let all = [
        Migration(1, "roles", PackageResources._001_roles_sql),
        Migration(2, "ledger", PackageResources._002_ledger_sql),
        Migration(3, "append", PackageResources._003_append_sql),
        Migration(4, "documents", PackageResources._004_documents_sql),
        Migration(5, "document_news", PackageResources._005_document_news_sql),
        Migration(6, "append_in_fewer_steps", PackageResources._006_append_in_fewer_steps_sql),
        Migration(7, "quiet_appends", PackageResources._007_quiet_appends_sql),
        Migration(8, "narrower_indexes", PackageResources._008_narrower_indexes_sql),
        Migration(9, "adoption", PackageResources._009_adoption_sql),
        Migration(10, "webhooks", PackageResources._010_webhooks_sql),
        Migration(11, "observations", PackageResources._011_observations_sql),
        Migration(12, "lanes", PackageResources._012_lanes_sql),
        Migration(13, "complete_observations", PackageResources._013_complete_observations_sql),
        Migration(14, "backlogs", PackageResources._014_backlogs_sql),
        Migration(15, "telemetry", PackageResources._015_telemetry_sql),
        Migration(16, "telemetry_salt", PackageResources._016_telemetry_salt_sql),
        Migration(17, "client_keys", PackageResources._017_client_keys_sql),
        Migration(18, "material", PackageResources._018_material_sql),
        Migration(19, "derived_salts", PackageResources._019_derived_salts_sql),
        Migration(20, "steady_appends", PackageResources._020_steady_appends_sql),
        Migration(21, "published_evidence", PackageResources._021_published_evidence_sql),
        Migration(22, "sealing", PackageResources._022_sealing_sql),
        Migration(23, "steady_documents", PackageResources._023_steady_documents_sql),
    ]
}

/// Why a database's schema cannot be brought up to date.
package enum MigrationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text that was applied is not the one this program has.
    case changed(version: Int32, name: String)
    /// The database was migrated by a later program.
    case newer(version: Int32)
    case failed(version: Int32, name: String, PostgresError)

    package var description: String {
        switch self {
        case .changed(let version, let name):
            "migration \(version) (\(name)) was applied to this database in another wording than this program has; "
                + "use the program that applied it, or restore the database"
        case .newer(let version):
            "this database has migration \(version), which this program does not know; use the newer program"
        case .failed(let version, let name, let error):
            "migration \(version) (\(name)) failed and left nothing behind: \(error)"
        }
    }
}

/// Brings a database's schema up to date.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    package init(migrations: [Migration] = Migration.all) {
        self.migrations = migrations
    }

    /// What stands between a database and this program.
    package enum Status: Hashable, Sendable {
        case upToDate
        case pending([Migration])
    }

    /// Compares the database with this program's migrations and changes nothing.
    package func status(on connection: PostgresConnection) async throws -> Status {
        guard try await connection.query("SELECT to_regclass('pinledger.migration')::text").only.optionalText(0) != nil
        else {
            return .pending(self.migrations)
        }
        return try Self.compare(self.migrations, with: try await connection.query(Self.applied))
    }

    /// Applies what is pending, each migration in its own transaction, and returns what it applied.
    ///
    /// Migrators that run at once wait for each other. If the process dies, the migration it was in leaves nothing
    /// behind and the next run goes on from there.
    package func migrate(on connection: PostgresConnection) async throws -> [Migration] {
        var done: [Migration] = []
        for migration in self.migrations {
            let migrations = self.migrations
            do {
                let applied = try await connection.transaction { @Sendable connection in
                    try MigrationLock.take(on: connection)
                    try connection.execute(script: Self.preparation)
                    guard
                        case .pending(let pending) = try Self.compare(
                            migrations, with: try connection.query(Self.applied)),
                        pending.contains(migration)
                    else { return false }
                    try connection.execute(script: migration.sql)
                    try connection.execute(script: "RESET ROLE")
                    try connection.query(
                        "INSERT INTO pinledger.migration (version, name, checksum) VALUES ($1, $2, $3)",
                        [.int32(migration.version), .text(migration.name), .bytes(migration.checksum)]
                    )
                    return true
                }
                if applied { done.append(migration) }
            } catch let error as PostgresError {
                throw MigrationFailure.failed(version: migration.version, name: migration.name, error)
            }
        }
        return done
    }

    private static let applied = "SELECT version, checksum FROM pinledger.migration ORDER BY version"

    private static let preparation = """
        CREATE SCHEMA IF NOT EXISTS pinledger;
        CREATE TABLE IF NOT EXISTS pinledger.migration (
            version    integer     PRIMARY KEY,
            name       text        NOT NULL,
            checksum   bytea       NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        );
        """

    private static func compare(_ migrations: [Migration], with rows: PostgresRows) throws -> Status {
        var known = Dictionary(uniqueKeysWithValues: migrations.map { ($0.version, $0) })
        for row in rows {
            let version = try row.int32(0)
            guard let migration = known.removeValue(forKey: version) else {
                throw MigrationFailure.newer(version: version)
            }
            guard try row.bytes(1) == migration.checksum else {
                throw MigrationFailure.changed(version: version, name: migration.name)
            }
        }
        let pending = migrations.filter { known[$0.version] != nil }
        return pending.isEmpty ? .upToDate : .pending(pending)
    }
}

/// Keeps two migrators from working at once. An advisory lock, held to the end of the transaction; it only saves the
/// second one an error: the transaction and the primary key of `migration` are what keep the schema right.
private enum MigrationLock {
    static func take(on connection: isolated PostgresConnection) throws {
        try connection.query("SELECT pg_advisory_xact_lock(7809142017)")
    }
}

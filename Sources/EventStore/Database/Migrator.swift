import PinWire
package import Postgres

/// One step of the database's schema: forward only, applied in one transaction, never changed once released.
///
/// `Migration.all` is made from the files of `db/migrations` when the program is built.
package struct Migration: Sendable, Hashable {
    package let version: Int32
    package let name: String
    package let sql: String
    /// The migration that a program has to know at least in order to work with a database to which this one was applied.
    ///
    /// It is this one itself, unless the text's first line names an earlier one: `-- works-with: 9`.
    package let worksWith: Int32

    /// SHA-256 of the text: 32 bytes.
    package var checksum: [UInt8] { sha256(Array(self.sql.utf8)) }

    package init(_ version: Int32, _ name: String, _ sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
        self.worksWith = min(Self.statedProgram(sql) ?? version, version)
    }

    private static func statedProgram(_ sql: String) -> Int32? {
        let mark = "-- works-with: "
        guard sql.hasPrefix(mark) else { return nil }
        return Int32(sql.dropFirst(mark.count).prefix { $0 != "\n" })
    }
}

/// Why a database's schema cannot be brought up to date.
package enum MigrationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text that was applied is not the one this program has.
    case changed(version: Int32, name: String)
    /// A later program has applied a migration with which this one cannot work.
    case newer(version: Int32)
    /// Nodes run whose programs could not work with the database any more.
    case inUse(version: Int32, name: String, nodes: [String])
    /// The database was made before the first release, by migrations that were replaced by a shorter set.
    case unreleased
    case failed(version: Int32, name: String, PostgresError)
    /// Others hold locks that a migration needs, through all its attempts.
    case locked(version: Int32, name: String, attempts: Int, holders: [LockHolder])

    package var description: String {
        switch self {
        case .changed(let version, let name):
            "migration \(version) (\(name)) was applied to this database with a text that this program does not have"
        case .newer(let version):
            "this database has migration \(version), which this program neither knows nor can work with"
        case .inUse(let version, let name, let nodes):
            "migration \(version) (\(name)) would break nodes that run: \(nodes.joined(separator: ", "))"
        case .unreleased:
            "this database was made by a development version from before the first release, and cannot be migrated"
        case .failed(let version, let name, let error):
            "migration \(version) (\(name)) failed and changed nothing: \(error)"
        case .locked(let version, let name, let attempts, let holders):
            "migration \(version) (\(name)) needs a lock that others hold, and has changed nothing in \(attempts) attempts: \(LockHolder.text(of: holders))"
        }
    }

    /// What to do about it.
    package var advice: String? {
        switch self {
        case .changed: "Use the program that applied it, or restore the database."
        case .newer: "Use the program that applied it, or a newer one."
        case .inUse:
            "Stop these nodes or upgrade them, and try again. A node that was killed is counted for another minute."
        case .unreleased:
            "Create a new database and run `pinledger migrate`. The ledger of the old one cannot be carried over."
        case .failed: nil
        case .locked:
            "Wait until these transactions end, or end one with `SELECT pg_terminate_backend(PROCESS)`, and run the command again. Nodes go on meanwhile."
        }
    }
}

/// Brings a database's schema up to date.
package struct Migrator: Sendable {
    /// How a migration waits for locks. While it waits for one, everything that comes after it and wants the same table waits behind it.
    package struct Patience: Sendable {
        /// The longest wait of one attempt.
        package var wait = Duration.milliseconds(200)
        package var attempts = 60
        /// The time between two attempts, in which others go on.
        package var pause = Duration.seconds(1)

        package init() {}

        package init(attempts: Int, pause: Duration) { (self.attempts, self.pause) = (attempts, pause) }
    }

    private let migrations: [Migration]
    private let patience: Patience

    package init(migrations: [Migration] = Migration.all, patience: Patience = Patience()) {
        self.migrations = migrations
        self.patience = patience
    }

    /// The difference between a database's schema and this program's.
    package enum Status: Hashable, Sendable {
        /// Every migration of this program is applied, and perhaps later ones that it can work with.
        case upToDate(later: Int)
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
    /// Migrators that run at once wait for each other, as long as the connection's `lock_timeout` allows. If the process dies, the
    /// migration it was in leaves nothing behind and the next run goes on from there.
    ///
    /// - Parameter waiting: Called where others' locks have kept more than one attempt from ending, with who holds them all the time; and
    ///   again where that changes.
    /// - Throws: ``MigrationFailure``; ``MigrationFailure/inUse(version:name:nodes:)`` where a node has reported within the last
    ///   minute whose program cannot work with a migration.
    package func migrate(
        on connection: PostgresConnection, waiting: ([LockHolder]) -> Void = { _ in }
    ) async throws -> [Migration] {
        var done: [Migration] = []
        for migration in self.migrations {
            do {
                if try await self.apply(migration, on: connection, waiting: waiting) { done.append(migration) }
            } catch let error as PostgresError {
                throw MigrationFailure.failed(version: migration.version, name: migration.name, error)
            }
        }
        return done
    }

    /// Applies a migration, in as many attempts as it takes.
    ///
    /// - Returns: False where it is applied already.
    private func apply(
        _ migration: Migration, on connection: PostgresConnection, waiting: ([LockHolder]) -> Void
    ) async throws -> Bool {
        var (lasting, said): ([LockHolder], [LockHolder]) = ([], [])
        for attempt in 1... {
            do {
                return try await self.attempt(migration, on: connection)
            } catch let error as PostgresError where error.sqlState == "55P03" {
                let holders = try await LockHolder.all(on: connection)
                // A transaction that was there at every attempt prevents it; one that comes and goes does not.
                let same = holders.filter { holder in lasting.contains { $0.isSame(as: holder) } }
                lasting = same.isEmpty ? holders : same
                guard attempt < self.patience.attempts else {
                    throw MigrationFailure.locked(
                        version: migration.version, name: migration.name, attempts: attempt, holders: lasting)
                }
                if attempt > 1, !same.isEmpty, !said.elementsEqual(same, by: { $0.isSame(as: $1) }) {
                    waiting(same)
                    said = same
                }
                try await Task.sleep(for: self.patience.pause)
            }
        }
        return false
    }

    private func attempt(_ migration: Migration, on connection: PostgresConnection) async throws -> Bool {
        let (migrations, wait) = (self.migrations, self.patience.wait)
        return try await connection.transaction { @Sendable connection in
            do throws(PostgresError) { try MigrationLock.take(on: connection) } catch {
                throw MigrationFailure.failed(version: migration.version, name: migration.name, error)
            }
            try connection.execute(script: "SET LOCAL lock_timeout = \(Int64(wait / .milliseconds(1)))")
            try connection.execute(script: Self.preparation)
            guard
                case .pending(let pending) = try Self.compare(
                    migrations, with: try connection.query(Self.applied)),
                pending.contains(migration)
            else { return false }
            let broken = try NodeRegistry.nodes(knowingLessThan: migration.worksWith, on: connection)
            guard broken.isEmpty else {
                throw MigrationFailure.inUse(version: migration.version, name: migration.name, nodes: broken)
            }
            try connection.execute(script: migration.sql)
            try connection.execute(script: "RESET ROLE")
            try connection.query(
                "INSERT INTO pinledger.migration (version, name, checksum, works_with) VALUES ($1, $2, $3, $4)",
                [
                    .int32(migration.version), .text(migration.name), .bytes(migration.checksum),
                    .int32(migration.worksWith),
                ]
            )
            return true
        }
    }

    /// By way of `jsonb`, because a table that an earlier migrator made has no column `works_with`.
    private static let applied = """
        SELECT version, checksum, (to_jsonb(m) ->> 'works_with')::integer FROM pinledger.migration m ORDER BY version
        """

    private static let preparation = """
        CREATE SCHEMA IF NOT EXISTS pinledger;
        CREATE TABLE IF NOT EXISTS pinledger.migration (
            version    integer     PRIMARY KEY,
            name       text        COLLATE "C" NOT NULL,
            checksum   bytea       NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        );
        -- Asks first: ALTER TABLE locks the table even where it changes nothing, and so waits until a running dump ends.
        DO $$
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_attribute
                            WHERE attrelid = 'pinledger.migration'::regclass AND attname = 'works_with') THEN
                ALTER TABLE pinledger.migration ADD COLUMN works_with integer;
            END IF;
        END
        $$;
        """

    /// The checksum of the first migration, `roles`, as it was in the set that was replaced before the first release.
    private static let unreleasedRoles: [UInt8] = [
        0x5e, 0x0c, 0xca, 0x0f, 0x94, 0xde, 0xd7, 0x60, 0xf9, 0x44, 0x67, 0x94, 0xaa, 0x02, 0x4d, 0x81,
        0x33, 0x6d, 0xe0, 0x44, 0x5f, 0x86, 0x33, 0x5e, 0xe1, 0xc9, 0x51, 0x46, 0x44, 0x75, 0x72, 0xe8,
    ]

    private static func compare(_ migrations: [Migration], with rows: PostgresRows) throws -> Status {
        var known = Dictionary(uniqueKeysWithValues: migrations.map { ($0.version, $0) })
        let last = migrations.last?.version ?? 0
        var later = 0
        for row in rows {
            let version = try row.int32(0)
            let checksum = try row.bytes(1)
            guard checksum != Self.unreleasedRoles else { throw MigrationFailure.unreleased }
            if let migration = known.removeValue(forKey: version) {
                guard checksum == migration.checksum else {
                    throw MigrationFailure.changed(version: version, name: migration.name)
                }
            } else {
                guard version > last, try row.optionalInt32(2) ?? version <= last else {
                    throw MigrationFailure.newer(version: version)
                }
                later += 1
            }
        }
        let pending = migrations.filter { known[$0.version] != nil }
        return pending.isEmpty ? .upToDate(later: later) : .pending(pending)
    }
}

/// Lets one migrator work at a time. This advisory lock, held to the end of the transaction, only saves the second one
/// an error: the transaction and the primary key of `migration` keep the schema right.
private enum MigrationLock {
    static func take(on connection: isolated PostgresConnection) throws(PostgresError) {
        try connection.query("SELECT pg_advisory_xact_lock(7809142017)")
    }
}

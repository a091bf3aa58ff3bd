import ArgumentParser
import EventStore
import Foundation
import Keys
import Logging
import Postgres
import Secrets
import TransparencyLog

/// Keeps the entries of old events in files.
struct BundleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bundles",
        abstract: "Store the entries of old events in entry bundles outside the database.",
        discussion: """
            A partition of the ledger holds ten million events. Once one is full, its entries can be kept in entry bundles \
            (C2SP tlog-tiles), 256 in each file. `write` makes these files, `prune` removes the entries from the database. \
            Everything else of the events stays there, so that changes, documents and proofs go on as before. What needs \
            the entries asks a node that was started with --bundles.
            """,
        subcommands: [Write.self, Prune.self, Restore.self]
    )
}

/// Where the database and the bundles are.
struct BundleOptions: ParsableArguments {
    @Argument(help: "The directory of the entry bundles.") var directory: String

    @Option(help: ArgumentHelp("Connection string of the database. [env: PINLEDGER_DATABASE]", valueName: "conninfo"))
    var database: String?
    @OptionGroup var file: SettingsFileOption

    /// What a command works with.
    struct Tools: Sendable {
        let connection: PostgresConnection
        let pool: PostgresPool
        let reader: LedgerReader
        let directory: BundleDirectory
        let writer: BundleWriter
        let partitions: [EventPartition]

        /// Reads the bundles of a partition, and compares them with the ledger.
        func verify(_ partition: EventPartition) async throws {
            try await BundleOptions.progressing("verified", to: partition.bundles.upperBound) { noting in
                try await self.writer.verify(
                    partition.bundles, with: try await self.reader.bundleRoots(at: partition.bundles),
                    on: self.connection, noting: noting)
            }
        }
    }

    /// The directory that the settings name.
    static func directory(_ flag: String?, _ file: SettingsFileOption) throws -> BundleDirectory? {
        guard let path = try file.text(.bundles, flag) else { return nil }
        let directory = BundleDirectory(path: path)
        guard directory.exists else {
            throw CommandFailure(
                "\(path) is no directory", advice: "Give --bundles the directory of the entry bundles.", status: .usage)
        }
        return directory
    }

    func run(_ body: (Tools) async throws -> Void) async throws {
        let database = try self.file.database(self.database)
        let configuration = PostgresConfiguration(
            connectionString: database, applicationName: "pinledger bundles", statementTimeout: nil,
            idleInTransactionTimeout: nil, preferredServer: .readWrite)
        do {
            let connection = try await PostgresConnection.connect(configuration)
            let pool = PostgresPool(configuration: configuration)
            let directory = BundleDirectory(path: self.directory)
            do {
                try await body(
                    Tools(
                        connection: connection, pool: pool, reader: LedgerReader(pool: pool), directory: directory,
                        writer: BundleWriter(directory: directory),
                        partitions: try await EventPartition.all(on: connection)))
            } catch {
                await pool.close()
                await connection.close()
                throw error
            }
            await pool.close()
            await connection.close()
        } catch let failure as BundleWriter.Failure {
            throw CommandFailure(
                "\(failure)", advice: failure.advice, status: failure.isOfFile ? .failure : .notVerified)
        } catch let failure as BundleDirectory.Unreadable {
            throw CommandFailure("\(failure)")
        } catch let obstacle as PruningObstacle {
            throw CommandFailure("\(obstacle)", advice: obstacle.advice, status: .refused)
        } catch let fault as LedgerFault {
            throw CommandFailure(
                "\(fault)",
                advice: fault.isPruned
                    ? "Take the bundle that holds it from a backup." : "Run `pinledger fsck` to find all damage.",
                status: .notVerified)
        } catch let error as PostgresError {
            let advice: String? =
                switch error.sqlState {
                case "42501":
                    "Use an account that may migrate: one with the role pinledger_owner. This role needs CREATE on the partition's tablespace."
                case "55P03": PruningObstacle.busy.advice
                default: nil
                }
            throw CommandFailure(
                "\(error)",
                advice: advice,
                status: error.code == .connectionFailed ? .unreachable : .failure)
        }
    }

    /// Does something with each of these positions, and says on standard error how far it has come.
    static func progressing<Result>(
        _ verb: String, to end: Int64, _ body: (@escaping @Sendable (Int64) -> Void) async throws -> Result
    ) async throws -> Result {
        let progress = ProgressLine(verb, "events")
        defer { progress.end() }
        return try await body { progress.note($0, of: end) }
    }
}

extension BundleCommands {
    struct Write: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "write", abstract: "Write the entries of full partitions to entry bundles.",
            discussion: """
                pinledger bundles write /srv/bundles --database "$DATABASE"

                Every entry is hashed again, and those of a file have to make the part of the ledger's tree that is stored over \
                them. Files that are right already stay. Needs the role pinledger_reader. Copy the directory to where backups are before you prune.
                """)
        @OptionGroup var options: BundleOptions

        func run() async throws {
            try await self.options.run { tools in
                let end = try await tools.reader.head().position
                let full = tools.partitions.filter { !$0.isPruned && $0.bundles.upperBound <= end }
                guard !full.isEmpty else {
                    let next = tools.partitions.first { !$0.isPruned }.map(\.bundles.upperBound) ?? end
                    return Console.print(
                        "Nothing to write: the ledger has \(end) events, and the next partition is full with \(next).")
                }
                for partition in full {
                    let positions = partition.bundles
                    let written = try await BundleOptions.progressing("written", to: positions.upperBound) { noting in
                        try await tools.writer.write(
                            positions, with: try await tools.reader.bundleRoots(at: positions), on: tools.connection,
                            noting: noting)
                    }
                    Console.print(
                        "Events \(partition.first) to \(partition.end - 1) are in \(positions.count / Tile.fullWidth) bundles, \(written) of them new."
                    )
                }
            }
        }
    }

    struct Prune: AsyncParsableCommand, HoldsKeys {
        static let configuration = CommandConfiguration(
            commandName: "prune",
            abstract: "Remove the entries of full partitions from the database, which are in entry bundles.",
            discussion: """
                pinledger bundles prune /srv/bundles --kek-file kek --dry-run
                pinledger bundles prune /srv/bundles --kek-file kek

                First, each bundle is compared with the hashes that the ledger has recorded. The bundles are then the only \
                place of these entries: keep a copy of them. Each partition is replaced by one without them, which takes up to \
                its size in free disk space and keeps reads and changes waiting for a fifth of a second at a time.

                A snapshot is kept from which nodes start, and --kek-file shows that a node has made it. Streams of the fleet, \
                of keys and of tokens keep their entries, and so does the record of each app's newest document. Needs an \
                account that may migrate.
                """)
        @OptionGroup var options: BundleOptions
        @Option(
            help: ArgumentHelp(
                "File with the nodes' key-encryption key, where they have one. [env: PINLEDGER_KEK_FILE]",
                valueName: "file"))
        var kekFile: String?
        @Flag(help: "Verify the bundles, say what would be pruned, and change nothing.") var dryRun = false

        func run() async throws {
            let key = try self.options.file.text(.kekFile, self.kekFile).map(NodeConfiguration.readKey)
            try await self.options.run { tools in
                let pruner = try await Pruner(on: tools.connection)
                if key == nil, try await !pruner.isUnauthenticated() {
                    throw CommandFailure(
                        "nodes with a key-encryption key record this ledger, and only with that key can a snapshot be trusted",
                        advice: "Give --kek-file the file with the key.", status: .usage)
                }
                let store = SnapshotStore(
                    pool: tools.pool, key: try key.map(SnapshotKey.init),
                    verifiers: try key.map { [BatchVerifier(try $0.batchSigningKey().publicKey)] } ?? [],
                    logger: Logger(label: "pinledger"))
                let start = try await store.load().view.head.position
                let pruned = tools.partitions.last { $0.isPruned }?.end ?? 0
                guard start >= pruned else { throw PruningObstacle.noSnapshot(end: pruned) }
                let isNeeded = tools.partitions.contains { $0.isPruned || $0.end <= start }
                if isNeeded, !self.dryRun { try await pruner.keepSnapshot(at: start, verifiedBy: store) }
                var count = 0
                for partition in tools.partitions where !partition.isPruned {
                    do { try await pruner.check(partition, startingAt: start) } catch PruningObstacle.notFull { break }
                    try await tools.verify(partition)
                    count += 1
                    guard !self.dryRun else {
                        Console.print("Would prune events \(partition.first) to \(partition.end - 1).")
                        continue
                    }
                    try await pruner.prune(partition)
                    Console.print("Pruned events \(partition.first) to \(partition.end - 1).")
                }
                if count == 0 { Console.print("Nothing to prune: no partition with entries is full.") }
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore", abstract: "Restore the entries of pruned partitions in the database.",
            discussion: """
                pinledger bundles restore /srv/bundles --from 20000000

                The database takes no entry that does not have the hash recorded for it. Needs an account that may migrate.
                """)
        @OptionGroup var options: BundleOptions
        @Option(
            help: ArgumentHelp(
                "Restore only partitions with events at or behind this position.", valueName: "position"))
        var from: Int64 = 0

        func run() async throws {
            try await self.options.run { tools in
                let pruner = try await Pruner(on: tools.connection)
                var count = 0
                for partition in tools.partitions where partition.isPruned && partition.end > self.from {
                    try await tools.verify(partition)
                    try await pruner.restore(partition, from: tools.directory)
                    count += 1
                    Console.print("Restored events \(partition.first) to \(partition.end - 1).")
                }
                if count == 0 { Console.print("Nothing to restore: no such partition is pruned.") }
                if try await EventPartition.all(on: tools.connection).allSatisfy({ !$0.isPruned }) {
                    try await pruner.forgetSnapshot()
                }
            }
        }
    }
}

extension BundleWriter.Failure {
    /// Whether a file cannot be written.
    fileprivate var isOfFile: Bool {
        if case .unwritable = self { true } else { false }
    }

    fileprivate var advice: String? {
        switch self {
        case .wrong: "Run `pinledger bundles write DIRECTORY`, or take the file from a backup."
        case .altered: "Run `pinledger fsck` to find all damage."
        case .unwritable: nil
        }
    }
}

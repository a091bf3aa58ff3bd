import ArgumentParser
import EventStore
import Foundation
import Keys
import PinWire
import Pinning
import Postgres
import Publishing
import Secrets
import TransparencyLog

struct FsckCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "fsck",
        abstract: "Verify the whole ledger in the database, and list all damage.",
        discussion: """
            pinledger fsck --database "$DATABASE" --output json

            Reads, in one transaction and without locks: every event, its hash, the Merkle tree, the streams, the \
            recorded commands, the triggers against changes, every stored document, the snapshots that nodes start from, and \
            which secrets are stored. \
            Needs the role pinledger_reader; to open the secrets (--kek-file), pinledger_app.

            A database alone cannot show that its end was cut off, or that an administrator rewrote all of it. So keep \
            each report (--output json) elsewhere, and give it to the next run (--previous).

            Exit codes: 0 no damage, 10 damage found, 8 database or server not reachable, 2 wrong usage, such as no --bundles \
            where events are pruned.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Connection string of the database. Default: that of `pinledger dev`. [env: PINLEDGER_DATABASE]",
            valueName: "conninfo"
        )
    )
    var database: String?
    @OptionGroup var directory: DataDirectory
    @OptionGroup var file: SettingsFileOption
    @Option(
        help: ArgumentHelp(
            """
            File with a line of JSON for each change that was confirmed: idempotency_key and, if known, actor \
            (principal:id, or kind:id where the token has no owner) and position (Pinledger-Position).
            """,
            valueName: "file"
        )
    )
    var acknowledged: String?
    @Option(help: ArgumentHelp("Earlier report that this ledger must continue.", valueName: "file"))
    var previous: String?
    @Option(help: ArgumentHelp("Server whose documents to compare with the ledger.", valueName: "url"))
    var server: String?
    @Option(
        help: ArgumentHelp(
            "File with the key-encryption key. With it, every batch's MAC is checked, and every stored secret is opened and compared with the ledger. [env: PINLEDGER_KEK_FILE]",
            valueName: "file")
    )
    var kekFile: String?
    @Option(
        help: ArgumentHelp(
            "Public key, as `pinledger key batch-public-key` prints it: the ledger's end has to be signed with it, which vouches for all events. Repeat it for several. [env: PINLEDGER_BATCH_PUBLIC_KEY, separated by commas]",
            valueName: "key")
    )
    var batchPublicKey: [String] = []
    @Option(
        help: ArgumentHelp(
            "Directory with entry bundles, where events are pruned. [env: PINLEDGER_BUNDLES]", valueName: "directory")
    )
    var bundles: String?
    @Option(
        help: ArgumentHelp(
            "How long a document may lag behind a change.", valueName: "seconds")
    )
    var grace: Int64 = 60
    @Option(
        help: ArgumentHelp(
            "File with the certificate authorities (PEM) to trust for --server. Default: PINLEDGER_CA_FILE, then SSL_CERT_FILE.",
            valueName: "file"))
    var caFile: String?
    @Option(name: [.short, .long], help: "Form of the output.") var output: OutputForm = .table

    /// The data that is read beside the ledger, at the same instant.
    private struct Beside: Sendable {
        var time: Timestamp
        var documents: [DocumentCheck.Stored]
        var names: [SecretCheck.Name]?
        /// Read only where there is a key to open them with.
        var secrets: [StoredSecret]
    }

    func run() async throws {
        guard (0...86_400).contains(self.grace) else {
            throw CommandFailure("--grace must be from 0 to 86400 seconds", status: .usage)
        }
        let key = try self.file.text(.kekFile, self.kekFile).map(NodeConfiguration.readKey)
        var expectations = LedgerAuditor.Expectations()
        expectations.approvals = .signatures
        expectations.key = try key.map(BatchKey.init)
        expectations.snapshotKey = try key.map(SnapshotKey.init)
        let publicKeys = try NodeConfiguration.readBatchPublicKeys(
            self.file.settings(of: .server, [.batchPublicKey: self.batchPublicKey]).list(.batchPublicKey))
        expectations.verifiers = (publicKeys + (try key.map { [try $0.batchSigningKey().publicKey] } ?? []))
            .map(BatchVerifier.init)
        expectations.time = Node.clock()
        expectations.bundles = try BundleOptions.directory(self.bundles, self.file)
        if let file = self.acknowledged {
            guard let text = String(streamSafe: try Self.read(file)) else {
                throw CommandFailure("\(file) is not text in UTF-8.", status: .usage)
            }
            expectations.acknowledged = try AcknowledgedCommand.list(text)
        }
        if let file = self.previous {
            do { expectations.previous = try AuditReport(try JSON(parsing: Self.read(file), limits: .report)) } catch {
                throw CommandFailure("\(file): \(error)", status: .usage)
            }
        }
        let began = ContinuousClock.now
        let (outcome, beside) = try await self.audit(expectations, opensSecrets: key != nil)
        let documents = beside.documents
        var check = DocumentCheck(
            ledger: outcome, previous: expectations.previous, at: beside.time, grace: self.grace)
        await check.take(documents)
        check.finish()
        for app in (expectations.previous?.documents ?? [:]).keys.sorted()
        where !documents.contains(where: { $0.app == app }) {
            if let id = try? AppID(app) { check.missing(id, "a document stood here in the earlier report") }
        }
        if let server = self.server { try await self.compare(server, with: outcome, &check) }
        var findings = outcome.findings
        var secrets = SecretCheck(ledger: outcome, at: beside.time)
        if let names = beside.names { secrets.take(names) }
        if let key { secrets.take(beside.secrets, with: key) }
        for finding in check.findings + secrets.findings { findings.add(finding) }
        let seconds = Double((ContinuousClock.now - began) / .milliseconds(1)).rounded() / 1000
        self.show(findings, outcome, documents, behind: check.behind, seconds: seconds)
        try outcome.checkLevel(findings)
        guard !findings.isEmpty else { return }
        let failure = Self.failure(findings)
        guard findings.onlyEndAhead else { throw failure }
        // Nothing is damaged, and it ends by itself: a check that runs every night goes on to tell of damage.
        Console.error("pinledger: warning: \(failure.message)")
        if let advice = failure.advice { Console.error("  \(advice)") }
    }

    /// What to do about the worst finding.
    private static func failure(_ findings: LedgerFindings) -> CommandFailure {
        let parts = Set(findings.kept.map(\.code.part))
        let (what, advice) =
            if findings.kept.allSatisfy({ $0.code == .signatureWrong }) {
                (
                    "the ledger is sound, and no batch key that is given vouches for its end",
                    """
                    If the key-encryption key was changed: give the batch public key of the one with which the last event was \
                    recorded, or have any change recorded with the present one. Otherwise something else than a node has \
                    recorded the last event, or has altered its signature: find out who has access to the database.
                    """
                )
            } else if findings.codes == [.bundleMissing] {
                (
                    "entries of pruned events are missing, and nothing else that could be checked is wrong",
                    """
                    Take the entry bundles that hold them from a backup, and run this again with --bundles: streams with missing \
                    entries were not checked.
                    """
                )
            } else if findings.onlyEndAhead {
                (
                    "the ledger is sound, and ends in the future",
                    """
                    Compare this machine's clock with the right time. If it is right, a node's clock and the database's were ahead: nodes \
                    go on meanwhile. Follow `pinledger handbook recovery`, "After a clock that was ahead".
                    """
                )
            } else if parts.contains(.ledger) {
                (
                    "the ledger is damaged",
                    "Stop writing, keep the database as it is for an investigation, and restore from a backup."
                )
            } else if parts.contains(.secrets) {
                (
                    "the ledger is sound, and stored secrets are not",
                    """
                    Take the secrets named from a backup of the database, then find out who wrote to their tables. Without \
                    a backup: see `pinledger handbook backup`, "Lost keys".
                    """
                )
            } else if parts.contains(.snapshots), !parts.contains(.documents) {
                (
                    "the ledger is sound, and stored snapshots are not",
                    """
                    Nodes that start skip those that cannot be used, and halt where one is not what the events make. Delete the rows \
                    named from `pinledger.snapshot` as its owner: nodes start from others, or from the events, and store new \
                    ones. Then find out who wrote to the table.
                    """
                )
            } else {
                (
                    "the ledger is sound, and published documents are not",
                    """
                    A node with the key-encryption key publishes the present documents when it starts; then find out \
                    who wrote to the table `document`.
                    """
                )
            }
        return CommandFailure(
            "\(what): \(findings.count) finding\(findings.count == 1 ? "" : "s")", advice: advice,
            status: .notVerified)
    }

    private func audit(
        _ expectations: LedgerAuditor.Expectations, opensSecrets: Bool
    ) async throws -> (LedgerAuditor.Outcome, Beside) {
        try await self.withConnection { connection in
            if expectations.bundles == nil,
                let pruned = try await EventPartition.all(on: connection).first(where: \.isPruned)
            {
                throw CommandFailure(
                    "events from position \(pruned.first) on are pruned: their entries are in entry bundles outside the database",
                    advice: "Give the directory with the bundles: --bundles DIRECTORY.", status: .usage)
            }
            do {
                let progress = ProgressLine("read", "events")
                defer { progress.end() }
                let auditor = LedgerAuditor(expectations: expectations) { progress.note($0, of: $1) }
                return try await auditor.run(on: connection) { connection in
                    Beside(
                        time: Timestamp(microseconds: try connection.query("SELECT now()").only.timestamp(0)),
                        documents: try DocumentCheck.Stored.all(connection),
                        names: try SecretCheck.Name.all(connection),
                        secrets: opensSecrets ? try StoredSecret.all(on: connection) : []
                    )
                }
            } catch let error as PostgresError where error.sqlState == "42501" && opensSecrets {
                throw CommandFailure(
                    "this account may not read the sealed secrets: \(error)",
                    advice: "Use an account with the role pinledger_app, or leave --kek-file out.", status: .usage)
            }
        }
    }

    /// The ledger's position now.
    private func position() async throws -> Int64 {
        try await self.withConnection { connection in
            try await connection.query("SELECT next_position FROM pinledger.head ORDER BY position_block DESC LIMIT 1")
                .only.int64(0)
        }
    }

    private func withConnection<Result>(
        _ body: (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        var text = try self.file.text(.database, self.database)
        if text == nil {
            let home = self.directory.path
            guard FileManager.default.fileExists(atPath: home) else {
                throw CommandFailure(
                    "no database is given",
                    advice: "Give --database, set PINLEDGER_DATABASE or name it in --config.", status: .usage)
            }
            text = try await PrivateDatabase(home: home).connectionString(user: "pinledger_dev")
        }
        do {
            let connection = try await PostgresConnection.connect(
                PostgresConfiguration(connectionString: text ?? "", applicationName: "pinledger fsck"))
            let result = try await body(connection)
            await connection.close()
            return result
        } catch let error as PostgresError {
            throw CommandFailure(
                "the ledger cannot be read: \(error)", advice: "Run `pinledger doctor` to find out why.",
                status: .unreachable)
        }
    }

    /// Fetches every app's document as a client does.
    private func compare(
        _ server: String, with outcome: LedgerAuditor.Outcome, _ check: inout DocumentCheck
    ) async throws {
        check = try await APIClient.with(
            ServerContext(server: server, token: nil, trust: ServerTrust(caFile: self.caFile))
        ) { [check] client in
            var check = check
            let set = try JWK.keys(ofSet: try await client.get("/client/v1/jwks.json"))
            let trusted = Set(set.map(\.keyID))
            for key in outcome.state.keys.keys.values where key.isInKeySet && !trusted.contains(key.kid) {
                throw CommandFailure("the server's JWKS lacks the key \(key.kid)", status: .notVerified)
            }
            var served: [(app: AppID, body: [UInt8])] = []
            for app in outcome.state.apps.keys.sorted(by: { $0.text < $1.text })
            where !outcome.damagedStreams.contains("app/\(app)") {
                let answer = try await client.send(
                    "GET", "/client/v1/apps/\(APIClient.escaped(app.text))/document")
                if answer.status == 200 {
                    served.append((app, answer.body))
                } else if outcome.state.keys.active != nil {
                    check.missing(app, "the server answers with status \(answer.status)")
                }
            }
            // Asked last: no served document is of a later position.
            let hasGrown = try await self.position() > outcome.position
            for (app, body) in served { check.take(served: body, of: app, mayBeNewer: hasGrown) }
            return check
        }
    }

    private static func read(_ file: String) throws -> [UInt8] {
        let data = try GivenFile.data(file)
        return Array(data)
    }

    private func show(
        _ findings: LedgerFindings, _ outcome: LedgerAuditor.Outcome, _ documents: [DocumentCheck.Stored], behind: Int,
        seconds: Double
    ) {
        guard self.output.isTable else {
            let report: JSON = .members([
                "status": .string(findings.status),
                "position": .integer(outcome.position),
                "epoch": .integer(outcome.state.fleet.epoch),
                "events": .integer(outcome.events),
                "root": outcome.root.map { .string(Hex.encode($0.bytes)) },
                "documents": .object(
                    Dictionary(documents.map { ($0.app, .integer($0.version)) }) { first, _ in first }),
                "documents_behind": .integer(Int64(behind)),
                "finding_count": .integer(Int64(findings.count)),
                "findings": .array(findings.kept.map(\.json)),
                "seconds": .number(seconds),
            ])
            return Console.print(report, self.output)
        }
        findings.printTable()
        let root = outcome.root.map { Hex.encode($0.bytes) } ?? "unknown"
        Console.print(
            """
            events     \(outcome.events)
            root       \(root)
            documents  \(documents.count)\(behind == 0 ? "" : ", \(behind) of them about to be published again")
            findings   \(findings.count == 0 ? "none" : "\(findings.count)")
            seconds    \(seconds)
            """
        )
    }
}

extension JSONLimits {
    /// A report names every document.
    static let report = JSONLimits(depth: 8, nodes: 10_000_000)
}

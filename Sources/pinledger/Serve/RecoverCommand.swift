import ArgumentParser
import EventStore
import Foundation
import Keys
import PinWire
import PinledgerServer
import Pinning
import Postgres
import Publishing
import TransparencyLog

struct RecoverCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Resume a ledger that has lost its last events.",
        discussion: """
            pinledger recover --database "$DATABASE" --kek-file kek --memory node-1/state --memory node-2/state
            pinledger recover --memory node-1/state --reason "restored the backup of 03:00" --repeat

            Use it after a failover or a restore that lost events which cannot be brought back. It compares the database \
            with what the nodes remember outside it, and shows which events were lost, which documents clients hold that \
            the ledger has not reached, and what is in force again because its end was lost.

            With --reason it begins a new epoch: it raises the version of every document above all that were served, so \
            that clients take the next ones, and gives the transparency log a new name. With --repeat it also repeats \
            lost kill switches and revocations; without it, it asks where there are any. Then restart every node.

            If it was interrupted, run it again in the same way, also where nodes have started in between: what they \
            remember of the lost events stays in their state directories.

            Without --reason it changes nothing. `pinledger handbook recovery` explains each step.

            Exit codes: 0 done or shown, 3 a lost change could not be repeated, 10 the ledger is damaged.
            """
    )
    @OptionGroup var options: NodeOptions
    @OptionGroup var directory: DataDirectory
    @Option(
        help: ArgumentHelp(
            "State directory of a node, or a copy of it. Give one for each node.", valueName: "directory"))
    var memory: [String] = []
    @Option(help: ArgumentHelp("Earlier report of `pinledger fsck --output json`. May be repeated.", valueName: "file"))
    var report: [String] = []
    @Option(
        help: ArgumentHelp(
            "File of messages that a receiver of webhooks has stored, or of exported events, each a line of JSON. May be repeated.",
            valueName: "file"))
    var delivered: [String] = []
    @Option(
        help: ArgumentHelp(
            "What to raise versions by. Default: 1000000, or more where clients were served later versions.",
            valueName: "versions"))
    var raiseBy: Int64?
    @Option(
        help: ArgumentHelp(
            "New name of the transparency log. Default: the present one with /epoch-N.", valueName: "name"))
    var logOrigin: String?
    @Flag(
        name: .customLong("repeat"), inversion: .prefixedNo,
        help:
            "Repeat lost kill switches and revocations, or leave them lost. Needs --reason. Default: ask where there are any."
    )
    var repeats: Bool?
    @Option(help: ArgumentHelp("Reason. With it, the new epoch is recorded.", valueName: "text"))
    var reason: String?
    @Option(name: [.short, .long], help: "Form of the output.") var output: OutputForm = .table

    func run() async throws {
        guard self.reason != nil || self.repeats == nil else {
            throw CommandFailure("--repeat and --no-repeat need --reason", status: .usage)
        }
        let reason = try self.reason.map { text throws in
            do { return try Reason(text) } catch { throw CommandFailure("--reason \(error)", status: .usage) }
        }
        let configuration = try await self.nodeConfiguration()
        let known = try await self.known(configuration)
        let delivered = try self.delivered.map { ($0, try Self.delivered($0)) }
        guard
            !known.isEmpty || delivered.contains(where: { !$0.1.isEmpty }) || configuration.memory.expected != nil
                || self.raiseBy != nil
        else {
            throw CommandFailure(
                "nothing is known of the ledger from outside the database",
                advice:
                    "Give the state directory of each node with --memory, an earlier report with --report, or messages of webhooks with --delivered. If there are none, say with --raise-by how much to raise versions.",
                status: .usage)
        }
        let command = self
        var alone = configuration
        // What the nodes remember is compared here; it does not keep this command from starting.
        alone.memory.directory = nil
        alone.memory.expected = nil
        alone.memory.isRecovered = true
        // Without a reason nothing changes, the authentication of the ledger's end included.
        alone.memory.trustsDatabase = configuration.memory.trustsDatabase && reason != nil
        try await Node(configuration: alone).runOnce { services in
            // Who has a checkpoint of the log, the ledger says.
            let state = services.ledger.view.state
            var expected: [Checkpoint] = []
            do { expected = try await Node(configuration: configuration).expectedCheckpoints(state.log) } catch {
                guard !known.isEmpty || delivered.contains(where: { !$0.1.isEmpty }) else { throw error }
                Console.error("--expect-checkpoint is left out: \(ErrorText.sentence(for: error)).")
            }
            let more = expected.map {
                KnownHistory(
                    position: Int64(clamping: $0.size), root: $0.root, epoch: state.epoch(ofLog: $0.origin),
                    source: "--expect-checkpoint")
            }
            try await command.recover(services, known + more, delivered, reason)
        }
    }

    private func recover(
        _ services: Services, _ known: [KnownHistory], _ delivered: [(source: String, events: [DeliveredEvent])],
        _ reason: Reason?
    ) async throws {
        if let fault = services.ledger.fault {
            throw CommandFailure(
                "the ledger in the database is not sound by itself: \(fault)",
                advice: "Run `pinledger fsck` first: it lists all damage. Recover from another backup if you can.",
                status: .notVerified)
        }
        let view = services.ledger.view
        var stored: [AppID: Int64] = [:]
        for row in try await services.pool.read("SELECT app, max(version) FROM pinledger.document GROUP BY app") {
            if let app = try? AppID(try row.text(0)) { stored[app] = try row.int64(1) }
        }
        let loss = try await HistoryLoss(
            of: known, delivered: delivered, against: view, stored: stored, reader: LedgerReader(pool: services.pool))
        let changes = LostChanges(
            in: loss.history, documents: loss.documents, leaving: view.state, at: services.clock())
        let plan = try self.plan(loss, view.state, isBlind: known.isEmpty && delivered.allSatisfy { $0.events.isEmpty })
        if self.raiseBy != nil, plan.restoration == nil {
            Console.error(
                "By what is known nothing is lost, so versions are not raised. Leave --memory, --state-directory, --report and --delivered out to raise them all the same."
            )
        }
        let report = RecoveryReport(
            position: view.head.position, epoch: view.state.fleet.epoch, loss: loss, changes: changes, plan: plan)
        guard let reason else { return report.show(self.output, nil) }
        let repeats = try self.repeats ?? Self.isToRepeat(changes)
        var outcome = RecoveryReport.Outcome()
        let issuer = LocalOperator(services: services)
        if let restoration = plan.restoration {
            try await issuer.execute(
                .fleet(.restoreHistory(restoration)), because: reason, expecting: view.state.fleet.version)
            outcome.began = restoration.epoch
        }
        // Apart from the first one: if this command dies in between, nothing signs the log, and a repetition goes on here.
        if let origin = plan.logOrigin {
            let end = try await self.end(of: loss, plan, view.state.fleet, LedgerReader(pool: services.pool))
            try await issuer.execute(.log(.continueAs(origin, after: end)), because: reason)
            outcome.logOrigin = origin
        }
        if repeats { outcome.repeated = await self.repeated(changes, issuer) }
        report.show(self.output, outcome)
        let failed = outcome.repeated.filter { $0.failure != nil }.count
        if failed > 0 {
            throw CommandFailure(
                "\(failed) of the lost changes could not be repeated",
                advice: "Make them by hand once the nodes run.", status: .refused)
        }
    }

    /// Asks on a terminal whether lost changes are to be repeated, where there are any: without them, documents of the new epoch take
    /// a lost kill switch away from clients that have it.
    private static func isToRepeat(_ changes: LostChanges) throws -> Bool {
        let count = changes.repetitions.count
        guard count > 0 else { return false }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                "nothing was recorded: \(count) lost \(count == 1 ? "change" : "changes") can be repeated, and neither --repeat nor --no-repeat is given",
                advice:
                    "Run it without --reason to see them, then with --repeat, or with --no-repeat to leave them lost.",
                status: .usage)
        }
        for repetition in changes.repetitions { Console.error(RecoveryReport.text(of: repetition.source)) }
        Console.error(
            "Type repeat to repeat \(count == 1 ? "this lost change" : "these \(count) lost changes"), or leave to leave them lost:"
        )
        switch readLine()?.trimmingCharacters(in: .whitespaces) {
        case "repeat": return true
        case "leave": return false
        default: throw CommandFailure("nothing was recorded", advice: "Give --repeat or --no-repeat.")
        }
    }

    /// The end of the log that events were lost from: what is known of it, or what it surely had.
    private func end(
        of loss: HistoryLoss, _ plan: RecoveryReport.Plan, _ fleet: Fleet, _ reader: LedgerReader
    ) async throws -> HistoryRestoration.End {
        if let lost = loss.lost { return lost }
        let size = plan.restoration?.keptSize ?? fleet.epochs.last?.firstPosition ?? 0
        return .init(size: size, root: try await reader.storedFrontier(at: size).root.bytes)
    }

    /// What is to be recorded.
    ///
    /// - Parameter isBlind: Whether nothing outside the database knows of the ledger, so that the operator says that events
    ///   are lost.
    private func plan(_ loss: HistoryLoss, _ state: LedgerState, isBlind: Bool) throws -> RecoveryReport.Plan {
        var plan = RecoveryReport.Plan()
        // A recovery that was interrupted before the log got its name is only finished.
        let isInterrupted = state.log.origin != nil && state.signableOrigin == nil
        if loss.isOpen || !loss.overtaken.isEmpty || (isBlind && !isInterrupted) {
            guard loss.epoch - state.fleet.epoch < Self.epochLimit else {
                throw CommandFailure(
                    "a source names the epoch \(loss.epoch), and the ledger is in epoch \(state.fleet.epoch)",
                    advice: "Leave that source out: nobody has recovered so often.", status: .usage)
            }
            if loss.hasUnknownRaise, self.raiseBy == nil {
                throw CommandFailure(
                    "events of a later epoch were delivered, and none says by how much it raised versions",
                    advice:
                        "Give --raise-by with more than that, or the HistoryRestored event with --delivered.",
                    status: .usage)
            }
            if let raiseBy, raiseBy < loss.leastRaise {
                throw CommandFailure(
                    "--raise-by \(raiseBy) leaves versions at or below those that clients hold",
                    advice: "Raise them by \(loss.leastRaise) or more.", status: .usage)
            }
            plan.restoration = HistoryRestoration(
                epoch: loss.epoch + 1, keptSize: loss.keptSize, lost: loss.lost,
                raisedBy: self.raiseBy ?? Self.raise(above: loss.leastRaise))
        }
        if let present = state.log.origin, plan.restoration != nil || state.signableOrigin == nil {
            let epoch = plan.restoration?.epoch ?? state.fleet.epoch
            guard let name = LogName(self.logOrigin ?? Self.name(of: present, in: epoch)) else {
                throw CommandFailure(
                    "--log-origin must be \(LogName.rule)", status: .usage)
            }
            plan.logOrigin = name
        }
        return plan
    }

    /// How many recoveries can have been lost: the number of an epoch comes from files, and has an end.
    private static let epochLimit: Int64 = 1_000_000

    /// The least multiple of a million that is above: what no node remembers is below it too, unless an app had a million
    /// lost changes.
    private static func raise(above least: Int64) -> Int64 { (least / 1_000_000 + 1) * 1_000_000 }

    private static func name(of origin: LogName, in epoch: Int64) -> String {
        let base = origin.text.firstRange(of: /\/epoch-[0-9]+$/).map { origin.text[..<$0.lowerBound] }
        return "\(base ?? origin.text[...])/epoch-\(epoch)"
    }

    private func repeated(_ changes: LostChanges, _ issuer: LocalOperator) async -> [RecoveryReport.Repeated] {
        var repeated: [RecoveryReport.Repeated] = []
        for repetition in changes.repetitions {
            var text = "repeated after its loss: \(Self.reason(for: repetition.source))"
            text.unicodeScalars.removeLast(max(0, text.unicodeScalars.count - 1000))
            var failure: String?
            do {
                try await issuer.execute(
                    repetition.command, because: Reason(text),
                    isForced: repetition.source.entry?.origin.isForced ?? false
                )
            } catch { failure = ErrorText.sentence(for: error) }
            repeated.append(RecoveryReport.Repeated(source: repetition.source, failure: failure))
        }
        return repeated
    }

    private static func reason(for source: LostChanges.Source) -> String {
        switch source {
        case .event(let entry): entry.origin.reason?.text ?? "no reason was given"
        case .document(let app, let version, _): "version \(version) of the document of \(app) has it"
        }
    }

    // MARK: What is known

    private func nodeConfiguration() async throws -> NodeConfiguration {
        var options = self.options
        options.flags.values[.listen] = ["127.0.0.1:0"]
        if try options.settings().text(.database) == nil,
            FileManager.default.fileExists(atPath: self.directory.path)
        {
            let home = self.directory.path
            let database = try await PrivateDatabase(home: home)
            options.flags.values[.database] = [database.connectionString(user: "pinledger_dev")]
            options.flags.values[.kekFile] = options.flags.values[.kekFile] ?? ["\(home)/key-encryption-key"]
            if try !options.settings().isGiven(.stateDirectory) {
                options.flags.values[.stateDirectory] = ["\(home)/state"]
            }
        }
        let configuration = try NodeConfiguration(options)
        guard !configuration.isReadOnly else {
            throw CommandFailure("a read-only node records nothing", advice: "Leave --read-only out.", status: .usage)
        }
        return configuration
    }

    private func known(_ configuration: NodeConfiguration) async throws -> [KnownHistory] {
        var known: [KnownHistory] = []
        for directory in (configuration.memory.directory.map { [$0] } ?? []) + self.memory {
            known += try await self.remembered(in: directory, configuration)
        }
        for file in self.report {
            let data = try GivenFile.data(file)
            do {
                known.append(
                    KnownHistory(try AuditReport(try JSON(parsing: Array(data), limits: .report)), source: file))
            } catch { throw CommandFailure("\(file): \(error)", status: .usage) }
        }
        return known
    }

    /// A node's memory of the ledger, and those that it has set aside at earlier losses.
    private func remembered(
        in directory: String, _ configuration: NodeConfiguration
    ) async throws -> [KnownHistory] {
        var known: [KnownHistory] = []
        for epoch in [nil] + (await SetAside.epochs(in: directory)).map(Optional.some) {
            let file = NodeMemoryFile(
                directory: directory, keyEncryptionKeys: configuration.keyEncryptionKeys, lostIn: epoch)
            do throws(NodeMemoryFile.Failure) {
                guard let content = try await file.read() else {
                    Console.error("No node has kept a memory in \(directory).")
                    continue
                }
                if !content.isAuthentic, configuration.keyEncryptionKeys != nil {
                    Console.error(
                        "\(file.path) is not authenticated with this key-encryption key. It is used all the same.")
                }
                let kept = try await Self.documents(
                    KeptDocumentsFile(directory: directory, lostIn: epoch), content.memory)
                let journal = await Self.journal(EventJournalFile(directory: directory, lostIn: epoch), content.memory)
                known.append(
                    KnownHistory(
                        content.memory, journal: journal, kept: kept, source: file.path, isSetAside: epoch != nil))
            } catch {
                let text = error.text(file.path)
                throw CommandFailure(text.message, advice: text.advice)
            }
        }
        return known
    }

    /// The documents that a node has kept beside its memory.
    private static func documents(
        _ file: KeptDocumentsFile, _ memory: NodeMemory
    ) async throws(NodeMemoryFile.Failure) -> KeptDocuments {
        do throws(PrivateFile.Failure) {
            return try await file.read(memory.documents, signedBy: memory.keys)
        } catch {
            // Without them, lost switches would count as never served.
            throw .file(error)
        }
    }

    /// The events in a file of messages. Who gives the file vouches for it.
    private static func delivered(_ path: String) throws -> [DeliveredEvent] {
        let data = try GivenFile.data(path)
        do { return try DeliveredEvent.list(Array(data)) } catch {
            throw CommandFailure(
                "\(path): \(error)",
                advice:
                    "Give one message of a webhook, or one event of `pinledger audit export --format ndjson`, on each line.",
                status: .usage)
        }
    }

    /// The events that a node has kept. Without them the rest of the memory still counts.
    private static func journal(_ file: EventJournalFile, _ memory: NodeMemory) async -> EventJournal? {
        do { return try await file.read(memory) } catch {
            let why = (error as? PrivateFile.Failure)?.text("the node's events", file.path).message ?? "\(error)"
            Console.error("The lost events cannot be shown from \(file.path): \(why).")
            return nil
        }
    }
}

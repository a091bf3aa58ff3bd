import Concurrency
import EventStore
import Foundation
import LogLines
import Logging
import PinWire
import Pinning
import Postgres
import Publishing
import TransparencyLog

/// What a node has found when it compared the ledger with its memory.
struct Recollection {
    /// What keeps the node's memory from now on; nil where the node has no state directory.
    var keeper: NodeMemoryKeeper?
    /// The documents that the node has kept, where the database has lost some.
    var kept = KeptDocuments.none
    /// What the node has served before; nil where it remembers nothing.
    var documents: [AppID: NodeMemory.Document]?
    /// The documents that the node has kept, where the database may turn out to have lost some.
    var source: Publisher.KeptSource?
}

extension Node {
    /// Compares the ledger, which was read to its end, with what is known of it outside the database, and halts the node
    /// where it does not go on from that. Called before documents are loaded.
    func recall(
        _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool, _ table: DocumentTable,
        onOutcome: @escaping @Sendable (_ isMemoryKept: Bool) -> Void
    ) async throws -> Recollection {
        let configuration = self.configuration.memory
        for expected in try await self.expectedAtStart(ledger) {
            try await self.halt(ledger, follower, pool, unlessItGoesOnFrom: expected)
        }
        guard let directory = configuration.directory else { return Recollection() }
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                "the state directory \(directory) cannot be created: \(ErrorText.sentence(for: error))",
                advice: "Check --state-directory.")
        }
        let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: self.configuration.keyEncryptionKeys)
        do {
            return try await self.recall(from: file, ledger, follower, pool, table, onOutcome)
        } catch let failure as NodeMemoryFile.Failure {
            let text = failure.text(file.path)
            throw CommandFailure(text.message, advice: text.advice)
        }
    }

    /// Halts the node where the ledger does not go on from a checkpoint.
    func halt(
        _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool, unlessItGoesOnFrom expected: Checkpoint
    ) async throws {
        try Self.check(expected, isOf: ledger)
        try await self.halt(
            ledger, follower, pool, unlessItGoesOnFrom: Int64(clamping: expected.size), expected.root,
            in: ledger.view.state.epoch(ofLog: expected.origin))
    }

    /// The same for an end of the ledger in an epoch; nil for one that is not known.
    func halt(
        _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool, unlessItGoesOnFrom position: Int64,
        _ root: LogHash, in epoch: Int64?
    ) async throws {
        try await self.waitForStandby(ledger, follower, pool, position, in: epoch)
        guard let fault = try await Self.fault(ledger, pool, position, root) else { return }
        let fleet = ledger.view.state.fleet
        if fleet.hasEnded(historyOf: position, in: epoch) {
            self.logger.log(.historyRestored, ["epoch": "\(fleet.epoch)", "fault": "\(fault)"])
        } else {
            self.logger.log(.memoryContradicted, ["fault": "\(fault)"])
            ledger.halt(fault)
        }
    }

    /// The expected checkpoints. Witnesses are asked only by a node that remembers nothing: another one starts without them.
    private func expectedAtStart(_ ledger: Ledger) async throws -> [Checkpoint] {
        let configuration = self.configuration.memory
        if case .witnesses = configuration.expected, let directory = configuration.directory {
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: self.configuration.keyEncryptionKeys)
            if let content = try? await file.read(), content.isAuthentic { return [] }
        }
        return try await self.expectedCheckpoints(ledger.view.state.log)
    }

    private func recall(
        from file: NodeMemoryFile, _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool,
        _ table: DocumentTable, _ onOutcome: @escaping @Sendable (_ isMemoryKept: Bool) -> Void
    ) async throws -> Recollection {
        var recalled = Recollection()
        let content = try await file.read()
        var remembered: NodeMemory?
        // Where the node has halted already, nothing shows what the ledger is to its memory.
        var isContinued = ledger.fault.map(\.meansUpgrade) ?? true
        let isTrusted = content?.isAuthentic == true || self.configuration.keyEncryptionKeys == nil
        if var memory = content?.memory {
            if !isTrusted { self.logger.log(.memoryUnauthenticated, ["file": "\(file.path)"]) }
            remembered = memory
            try await self.waitForStandby(ledger, follower, pool, memory.position, in: memory.epoch)
            let fault = try await Self.fault(ledger, pool, memory.position, memory.root)
            let fleet = ledger.view.state.fleet
            if let fault, fleet.hasEnded(historyOf: memory.position, in: memory.epoch) {
                // What was served stays remembered, so that clients are not taken back all the same.
                self.logger.log(.historyRestored, ["epoch": "\(fleet.epoch)", "fault": "\(fault)"])
                try await file.setAside(epoch: memory.epoch)
                remembered = NodeMemory(of: ledger.view, documents: memory.documents)
                remembered?.database = memory.database
            } else if let fault {
                isContinued = false
                var said = "\(fault)"
                if let before = memory.database, let now = try? await DatabaseIdentity(pool),
                    let change = before.change(to: now)
                {
                    said += "; \(change)"
                }
                self.logger.log(.memoryContradicted, ["fault": "\(said)"])
                ledger.halt(fault)
            }
            let (documents, keys) = (KeptDocumentsFile(directory: file.directory), isTrusted ? memory.keys : [:])
            // A damaged database may lack documents too. A sound one shows it later: reading thousands takes a second.
            if ledger.fault != nil || ledger.unsigned != nil {
                if let kept = await documents.readOrLog(memory.documents, signedBy: keys, self.logger) {
                    recalled.kept = kept
                } else {
                    table.leaveKept()
                }
                memory.documents.merge(recalled.kept.remembered) { $1 }
                remembered?.documents = memory.documents
            } else {
                recalled.source = Publisher.KeptSource(file: documents, remembered: memory.documents, signedBy: keys)
            }
            recalled.documents = memory.documents
            if isTrusted { ledger.remember(keys: memory.keys, at: memory.position) }
        } else {
            try await self.checkBeginning(ledger, follower, pool)
            isContinued = isContinued && ledger.fault.map(\.meansUpgrade) ?? true
            let isFirst = await Self.isFirstStart(ledger, file)
            self.logger.log(isFirst ? .memoryFirst : .memoryBegun, ["file": "\(file.path)"])
        }
        let standing: NodeMemoryKeeper.Standing =
            isContinued ? .continued : remembered != nil && isTrusted ? .contradicted : .foreign
        let keeper = NodeMemoryKeeper(
            file: file, remembered: remembered, standing: standing, ledger: ledger, pool: pool, table: table,
            logger: self.logger, onOutcome: onOutcome)
        await keeper.identifyDatabase()
        do throws(NodeMemoryFile.Failure) { try await keeper.update() } catch {
            // A node that has never kept one has a wrong directory. One that has goes on, and tries again: clients need what it serves,
            // and what it remembers is there.
            guard remembered != nil else { throw error }
            self.logger.log(.memoryNotKept, ["error": "\(error.text(file.path).message)"])
            onOutcome(false)
        }
        recalled.keeper = keeper
        return recalled
    }

    /// True where nothing can have been deleted: the ledger is whole and has no event, and the state directory never held anything. A
    /// memory that is missing beside a ledger that is in use, or beside other files of a node, is another matter.
    private static func isFirstStart(_ ledger: Ledger, _ file: NodeMemoryFile) async -> Bool {
        guard ledger.fault == nil, ledger.unsigned == nil, ledger.position == 0 else { return false }
        let directory = file.directory
        let names = await DetachedThread.run { try? FileManager.default.contentsOfDirectory(atPath: directory) }
        // The lock is this process's own.
        return names.flatMap(\.self)?.allSatisfy { $0 == StateLock.name } ?? false
    }

    /// Why the ledger does not go on from an earlier state; nil where it does, or where the node has halted anyway. A node that
    /// waits for its upgrade, or for signatures, judges that by the hashes alone.
    private static func fault(
        _ ledger: Ledger, _ pool: PostgresPool, _ position: Int64, _ root: LogHash
    ) async throws -> LedgerFault? {
        let waits = ledger.fault?.meansUpgrade == true || ledger.unsigned != nil
        guard ledger.fault.map(\.meansUpgrade) ?? true else { return nil }
        do {
            try await LedgerReader(pool: pool).onServer(with: ledger.position) { reader in
                let head = waits && position > ledger.position ? try await reader.head() : ledger.view.head
                try await reader.check(head, goesOnFrom: position, root: root)
            }
            return nil
        } catch let fault as LedgerFault {
            return fault
        }
    }

    /// Reads on to a history that a standby is behind, from the primary or, where that does not answer, once the standby has it: it has
    /// lost nothing. Where a primary has fewer events, that is for others to judge.
    ///
    /// - Parameter progress: The start of a node that listens meanwhile, and waits as long as it takes; nil to wait a minute.
    func waitForStandby(
        _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool, _ position: Int64, in epoch: Int64?,
        _ progress: StartProgress? = nil
    ) async throws {
        func isBehind() -> Bool {
            ledger.fault == nil && ledger.endSeen < position
                && !ledger.view.state.fleet.hasEnded(historyOf: position, in: epoch)
        }
        let reader = LedgerReader(pool: pool)
        func readPrimary() async throws {
            try await self.haltOnDamage(ledger) {
                do { try await follower.catchUpOnPrimary() } catch let error as PostgresError where error.meansNoServer
                {
                } catch is LedgerReader.Behind {
                } catch is Follower.Unconfirmed {
                }
            }
        }
        guard isBehind(), try await reader.loss(before: position) == nil else { return }
        try await readPrimary()
        guard isBehind() else { return }
        progress?.wait()
        var seconds = 0
        while progress != nil || seconds < 60 {
            if seconds % 60 == 0 {
                self.logger.log(.standbyBehind, ["position": "\(ledger.position)", "remembered": "\(position)"])
            }
            try await Task.sleep(for: .seconds(1))
            seconds += 1
            try await self.haltOnDamage(ledger) { try await follower.catchUp() }
            guard isBehind(), try await reader.loss(before: position) == nil else { return }
            try await readPrimary()
            guard isBehind() else { return }
        }
        throw CommandFailure(
            "the standby has \(ledger.position) events, and this node knows of \(position)",
            advice: "Check the standby's replication, or give --database another server.", status: .unreachable)
    }

    private static func check(_ expected: Checkpoint, isOf ledger: Ledger) throws {
        let log = ledger.view.state.log
        guard let name = log.origin, name != expected.origin,
            !log.earlier.contains(where: { $0.origin == expected.origin })
        else { return }
        throw CommandFailure(
            "the expected checkpoint is of the log \(expected.origin), and this ledger's log is \(name)",
            advice: "Give --expect-checkpoint a checkpoint of this ledger.")
    }
}

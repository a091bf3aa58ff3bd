import EventStore
import LogLines
import Logging
import PinledgerServer
import Postgres
import Publishing
import Secrets
import TransparencyLog

/// How a node reads the ledger when it starts, and what it does where that is not sound.
extension Node {
    /// How long a node reads before it serves what it remembers.
    private static let patience = Duration.seconds(1)

    /// Reads the ledger, and serves documents meanwhile where that takes long.
    func start(_ parts: Parts, _ progress: StartProgress) async {
        if let bundles = self.configuration.bundles, !bundles.exists {
            self.logger.log(.bundlesMissing, ["directory": "\(bundles.path)"])
        }
        do {
            let started = try await self.read(parts, progress)
            await parts.services.publisher.prepare(within: .seconds(2))
            if progress.servesDocuments {
                self.logger.log(.ledgerRead, ["position": "\(parts.services.ledger.position)"])
            }
            // Nothing that needs the ledger is answered before.
            parts.services.ledger.endReading()
            progress.reach(.started(started))
        } catch {
            progress.reach(.failed(error))
        }
    }

    /// Reads the ledger to its end, compares it with what the node remembers, and loads the documents.
    ///
    /// - Parameter progress: Nil for a node that serves nothing.
    func read(_ parts: Parts, _ progress: StartProgress? = nil) async throws -> StartProgress.Started {
        let (services, follower) = (parts.services, parts.follower)
        let (ledger, pool, publisher) = (services.ledger, services.pool, services.publisher)
        let audit = try await withThrowingTaskGroup(of: Void.self) { group in
            if let progress {
                group.addTask {
                    guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
                    await self.serveRemembered(parts, progress)
                }
            }
            defer { group.cancelAll() }
            return try await self.catchUp(parts, progress)
        }
        let recalled = try await self.recall(ledger, follower, pool, publisher.table) { [health = services.health] in
            health.note(isMemoryKept: $0)
        }
        if let documents = recalled.documents {
            // Keys that were retired behind the end of what a halted node has read would count again.
            let isShort = ledger.fault.map { !$0.meansUpgrade } ?? false && ledger.keysAhead != nil
            publisher.table.remember(
                documents, isStrict: isShort || ledger.fault?.contradictsMemory ?? false)
        }
        if let source = recalled.source { await publisher.fallBack(on: source) }
        let published = try await publisher.load(recalled.kept)
        if ledger.fault == nil, published > ledger.endSeen {
            try await self.haltOnDamage(ledger) {
                // Other nodes may have recorded and published meanwhile, or another server has told of the documents.
                try await follower.readToEnd(through: published, onWaiting: progress.map { $0.wait })
            }
        }
        try await self.checkSigning(services.keys, ledger, follower, pool)
        return StartProgress.Started(keeper: recalled.keeper, audit: audit)
    }

    /// Reads the ledger to its end, from a snapshot where there is one. A node that serves documents meanwhile, or remembers some,
    /// tries again where the database is away.
    ///
    /// - Returns: The check of the snapshot that is to follow.
    private func catchUp(_ parts: Parts, _ progress: StartProgress?) async throws -> SnapshotAudit? {
        let (ledger, pool) = (parts.services.ledger, parts.services.pool)
        var audit: SnapshotAudit?
        var pause = Duration.seconds(2)
        while true {
            do {
                // Where the database was away when the node started.
                if !parts.clock.isMeasured {
                    try await self.open(parts.reserved, parts.clock)
                    parts.clock.judge(ledger)
                }
                if ledger.position == 0 {
                    let start = try await SnapshotStore(
                        pool: pool, key: try self.snapshotKey,
                        verifiers: self.configuration.batchPublicKeys.map(BatchVerifier.init), logger: self.logger
                    ).load()
                    ledger.begin(with: start)
                    if self.configuration.auditsSnapshot {
                        audit = SnapshotAudit(
                            of: start, ledger: ledger, pool: pool, bundles: self.configuration.bundles,
                            logger: self.logger)
                    }
                }
                try await self.haltOnDamage(ledger) {
                    try await self.readToEnd(ledger, parts.follower, pool, onWaiting: progress.map { $0.wait })
                }
                if let progress { try await self.waitForRemembered(parts, progress) }
                return audit
            } catch let error as PostgresError
                where (error.isConnectionLoss || error.meansNoServer) && !Task.isCancelled
            {
                guard let progress, progress.servesDocuments || error.meansNoServer && self.hasMemory else {
                    throw error
                }
                // It listens at once: what it remembers is served as soon as that is read.
                progress.wait()
                ledger.noteLoss(error, self.logger)
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(30))
            }
        }
    }

    /// Reads on to what this node remembers, where a standby lacks it, while the node serves what it remembers.
    private func waitForRemembered(_ parts: Parts, _ progress: StartProgress) async throws {
        guard let directory = self.configuration.memory.directory else { return }
        let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: self.configuration.keyEncryptionKeys)
        // Another memory is compared afterwards, by a node that waits a minute and then says why it ends.
        guard let content = try? await file.read(), case let memory = content.memory, !memory.documents.isEmpty,
            content.isAuthentic || self.configuration.keyEncryptionKeys == nil
        else { return }
        try await self.waitForStandby(
            parts.services.ledger, parts.follower, parts.services.pool, memory.position, in: memory.epoch, progress)
    }

    /// Serves the documents that this node or another one has published, as far as this node knows the keys and nothing speaks
    /// against them, until it is cancelled. A node that remembers nothing serves none.
    private func serveRemembered(_ parts: Parts, _ progress: StartProgress) async {
        let (services, publisher) = (parts.services, parts.services.publisher)
        guard let directory = self.configuration.memory.directory else { return }
        let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: self.configuration.keyEncryptionKeys)
        // What was written with another key counts only where this node has none that would tell.
        guard let content = try? await file.read(), !Task.isCancelled,
            content.isAuthentic || self.configuration.keyEncryptionKeys == nil, !content.memory.documents.isEmpty
        else { return }
        var memory = content.memory
        let found = await KeptDocumentsFile(directory: directory)
            .readOrLog(memory.documents, signedBy: memory.keys, self.logger)
        if found == nil { publisher.table.leaveKept() }
        let kept = found ?? .none
        memory.documents.merge(kept.remembered) { $1 }
        services.ledger.remember(keys: memory.keys, at: memory.position)
        var isWhole: Bool?
        var isServing = false
        var position = services.ledger.position
        repeat {
            if isWhole == nil {
                isWhole = await self.database(services.pool, goesOnFrom: memory, content.isAuthentic)
                guard !Task.isCancelled else { return }
                if isWhole != nil || !isServing {
                    publisher.table.remember(memory.documents, isStrict: isWhole != true)
                    // Where the database does not answer, what reads the ledger says so.
                    do { try await publisher.loadEarly(kept) } catch {
                        guard !Task.isCancelled else { return }
                        if !isServing { await publisher.loadKept(kept) }
                        isWhole = nil
                    }
                }
            }
            // A snapshot that was read meanwhile may have more keys.
            let hasMoreKeys = services.ledger.position != position
            position = services.ledger.position
            try? await publisher.refreshEarly(hasMoreKeys: hasMoreKeys)
            if !isServing, await publisher.table.servesAny(), !Task.isCancelled {
                isServing = true
                progress.reach(.documents)
                self.logger.log(
                    .readingLedger,
                    [
                        "documents": "\(publisher.table.count)",
                        "fault": services.ledger.unread.map { "\($0)" } ?? "",
                    ])
            }
        } while (try? await Task.sleep(for: .seconds(2))) != nil
    }

    /// Whether the database, by the hashes of its events, goes on from what the node remembers; nil where that cannot be told now.
    /// Where it does not, it is an earlier state, or another history. A checkpoint that is expected besides is compared when the
    /// ledger is read; until then nothing is taken from the database.
    private func database(
        _ pool: PostgresPool, goesOnFrom memory: NodeMemory, _ isAuthentic: Bool
    ) async -> Bool? {
        switch self.configuration.memory.expected {
        case nil: break
        // Only a node that cannot rely on its memory asks them.
        case .witnesses where isAuthentic: break
        default: return false
        }
        do {
            return try await LedgerReader(pool: pool).onOneServer { reader in
                let (end, isStandby) = try await reader.endAndServer()
                // A standby may still get there.
                guard end.head.position >= memory.position else { return isStandby ? nil : false }
                guard let size = UInt64(exactly: memory.position), size > 0 else { return false }
                return try await reader.frontier(at: size).root == memory.root
            }
        } catch is PostgresError {
            return nil
        } catch {
            return false
        }
    }

    /// Reads the ledger to its end. An end that is not authenticated is taken, and authenticated, where the operator has said
    /// that this start trusts the database.
    ///
    /// - Parameter onWaiting: Called where it waits for a standby that has the end, on a node that takes in nothing else; nil to fail
    ///   instead.
    private func readToEnd(
        _ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool, onWaiting: (@Sendable () -> Void)?
    ) async throws {
        do {
            try await follower.readToEnd(onWaiting: onWaiting)
            // Each call looks for signatures for a limited time.
            while ledger.position == 0, !ledger.hasSearched {
                try await Task.sleep(for: .milliseconds(10))
                try await follower.readToEnd(onWaiting: onWaiting)
            }
            guard ledger.position == 0, let unsigned = ledger.unsigned else { return }
            throw CommandFailure(
                "\(unsigned)",
                advice:
                    "Give --batch-public-key what `pinledger key batch-public-key` prints for the key-encryption key of the other nodes. If this is it, nothing was recorded since they have it: record any change through one of them.",
                status: .notVerified)
        } catch let fault as LedgerFault {
            guard case .unauthenticated(_, let end, let defect) = fault else {
                // Where events are missing or damaged, those before show which keys sign documents.
                if !fault.meansUpgrade, !fault.isPruned { try? await follower.catchUpToVerified() }
                throw fault
            }
            guard self.configuration.memory.trustsDatabase else {
                try await follower.catchUpToAuthenticated()
                throw LedgerFault.unauthenticated(from: ledger.position, to: end, defect)
            }
            try await self.checkOthersAgree(pool)
            try await follower.readToEnd(trusting: true, onWaiting: onWaiting)
            if !self.configuration.isReadOnly {
                // A MAC of a wrong key would keep every node with the right one from recording.
                try await self.checkKey(opensSecretsOf: ledger.view.state, pool, beside: defect)
                guard try await LedgerReader(pool: pool).authenticateEnd(of: ledger) else { throw fault }
            }
            self.logger.log(.endTrusted, ["fault": "\(fault)"])
        }
    }

    /// When the ledger is damaged, earlier documents are still served; nothing is published or changed.
    func haltOnDamage(_ ledger: Ledger, _ reading: () async throws -> Void) async throws {
        do { try await reading() } catch let fault as LedgerFault {
            ledger.halt(fault)
            let line: LogLine =
                switch fault {
                case .unauthenticated: .endUnauthenticated
                case .needsUpgrade: .upgradeNeeded
                case .pruned: .eventsPruned
                default: .ledgerDamaged
                }
            self.logger.log(line, ["fault": "\(fault)"])
        }
    }
}

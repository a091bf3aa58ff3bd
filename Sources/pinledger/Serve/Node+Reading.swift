import EventStore
import LogLines
import Logging
import PinledgerServer
import Postgres
import Publishing
import TransparencyLog

/// How a node reads the ledger when it starts, and what it does where that is not sound.
extension Node {
    /// How long a node reads before it serves what it remembers.
    private static let patience = Duration.seconds(1)

    /// Reads the ledger, and meanwhile serves documents where that takes long.
    func start(_ parts: Parts, _ progress: StartProgress) async {
        do {
            let keeper = try await self.read(parts) {
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
                await self.serveRemembered(parts, progress)
            }
            await parts.services.publisher.prepare(within: .seconds(2))
            if progress.servesDocuments {
                self.logger.log(.ledgerRead, ["position": "\(parts.services.ledger.position)"])
            }
            progress.reach(.started(keeper))
        } catch {
            progress.reach(.failed(error))
        }
    }

    /// Reads the ledger to its end, compares it with what the node remembers, and loads the documents.
    ///
    /// - Parameter meanwhile: What to do until the ledger is read; it is cancelled then.
    /// - Returns: What keeps the node's memory from now on; nil where the node has no state directory.
    func read(_ parts: Parts, meanwhile: @escaping @Sendable () async -> Void = {}) async throws -> NodeMemoryKeeper? {
        let (services, follower) = (parts.services, parts.follower)
        let (ledger, pool, publisher) = (services.ledger, services.pool, services.publisher)
        let recalled = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await meanwhile() }
            defer { group.cancelAll() }
            try await self.haltOnDamage(ledger) { try await self.readToEnd(ledger, follower, pool) }
            return try await self.recall(ledger, follower, pool, publisher.table)
        }
        // From here on the ledger judges documents, those too that were served meanwhile.
        ledger.endReading()
        if let documents = recalled.documents {
            publisher.table.remember(documents, isStrict: ledger.fault?.contradictsMemory ?? false)
        }
        let published = try await publisher.load(recalled.kept)
        if ledger.fault == nil, published > ledger.endSeen {
            try await self.haltOnDamage(ledger) {
                // Other nodes may have recorded and published meanwhile.
                try await follower.catchUp()
                let position = ledger.endSeen
                guard published <= position else { throw LedgerFault.shrunk(from: published, to: position) }
            }
        }
        try await Self.checkSigning(services.keys, ledger, pool)
        return recalled.keeper
    }

    /// Serves the documents that this node or another one has published, as far as this node knows the keys and nothing speaks
    /// against them, until it is cancelled. A node that remembers nothing serves none.
    private func serveRemembered(_ parts: Parts, _ progress: StartProgress) async {
        let (services, publisher) = (parts.services, parts.services.publisher)
        guard let directory = self.configuration.memory.directory else { return }
        let file = NodeMemoryFile(directory: directory, key: self.configuration.keyEncryptionKey)
        // What was written with another key counts only where this node has none that would tell.
        guard let content = try? await file.read(),
            content.isAuthentic || self.configuration.keyEncryptionKey == nil, !content.memory.documents.isEmpty
        else { return }
        let memory = content.memory
        let isWhole = await self.database(services.pool, goesOnFrom: memory)
        services.ledger.trustWhileReading(memory.keys)
        publisher.table.remember(memory.documents, isStrict: !isWhole)
        await publisher.loadEarly(await KeptDocumentsFile(directory: directory).read(memory.documents))
        guard !Task.isCancelled else { return }
        progress.reach(.documents)
        self.logger.log(
            .readingLedger,
            ["documents": "\(publisher.table.count)", "fault": services.ledger.unread.map { "\($0)" } ?? ""])
        while (try? await Task.sleep(for: .seconds(2))) != nil {
            // Where the database does not answer, whoever reads the ledger says so.
            try? await publisher.refreshEarly()
        }
    }

    /// Whether the database, by the hashes of its events, goes on from what the node remembers. Where that cannot be told, it may
    /// be an earlier state, or another history.
    private func database(_ pool: PostgresPool, goesOnFrom memory: NodeMemory) async -> Bool {
        let reader = LedgerReader(pool: pool)
        guard self.configuration.memory.expected == nil, let head = try? await reader.head(),
            head.position >= memory.position, memory.position > 0,
            let frontier = try? await reader.frontier(at: UInt64(memory.position))
        else { return false }
        return frontier.root == memory.root
    }

    /// Reads the ledger to its end. An end that is not authenticated is taken, and authenticated, where the operator has said
    /// that this start trusts the database.
    func readToEnd(_ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool) async throws {
        do {
            try await follower.catchUp()
            // Each call looks for signatures for a limited time.
            while ledger.position == 0, !ledger.hasSearched {
                try await Task.sleep(for: .milliseconds(10))
                try await follower.catchUp()
            }
            guard ledger.position == 0, let unsigned = ledger.unsigned else { return }
            throw CommandFailure(
                "\(unsigned)",
                advice:
                    "Give --batch-public-key what `pinledger key batch-public-key` prints for the key-encryption key of the other nodes. If this is it, nothing was recorded since they have it: record any change through one of them.",
                status: .notVerified)
        } catch let fault as LedgerFault {
            guard case .unauthenticated(_, let end, let defect) = fault else { throw fault }
            guard self.configuration.memory.trustsDatabase else {
                try await follower.catchUpToAuthenticated()
                throw LedgerFault.unauthenticated(from: ledger.position, to: end, defect)
            }
            try await follower.catchUp(trusting: true)
            if !self.configuration.isReadOnly {
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
                default: .ledgerDamaged
                }
            self.logger.log(line, ["fault": "\(fault)"])
        }
    }
}

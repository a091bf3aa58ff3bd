import Concurrency
package import EventStore
import Keys
import LogLines
package import Logging
import NIOCore
import PinWire
package import Postgres
import TransparencyLog

/// Keeps a node's ``NodeMemory`` in its file while the node runs, with the last events and the documents beside it.
///
/// Entries and documents are written as soon as the node has taken them in and served them, from what the node itself holds: no
/// database is needed for it. Each round adds a few lines and brings them to the disk, and the next one begins at most ``pause``
/// later: so what came before a moment is on the disk when the round under way then and the next one have ended. The memory as a
/// whole is written at most once a second and for at most a twentieth of the time. What came in the last two rounds before a crash may
/// be missing; the database has to lose just that in the same moment for it to go unnoticed.
package actor NodeMemoryKeeper {
    /// The relation of the ledger in the database to the node's memory.
    package enum Standing: Sendable {
        /// The ledger goes on from the memory, or nothing is remembered yet.
        case continued
        /// The ledger does not go on from the memory, or nobody can tell. The end that is remembered stays; documents that are served are
        /// added.
        case contradicted
        /// The memory is neither to be relied on nor to be replaced.
        case foreign
    }

    private let file: NodeMemoryFile
    private let journalFile: EventJournalFile
    private let ledger: Ledger
    private let pool: PostgresPool
    private let table: DocumentTable
    private let logger: Logger
    private let standing: Standing
    private let onOutcome: @Sendable (Bool) -> Void
    private let changes = ServedChanges()
    /// The newest served document of each app, as the file states them.
    private var documents: [AppID: NodeMemory.Document]
    /// The rest of what the file states; nil where there is no file.
    private var stated: NodeMemory?
    /// The whole memory in the file; nil where it is to be written next.
    private var base: NodeMemoryFile.Base?
    private var hasAdditions = false
    private var wholeNotBefore = ContinuousClock.now
    /// The end of the journal's events, and the size of its file; nil where it is to be begun.
    private var journal: (end: MerkleFrontier, size: Int)?
    /// True where the last attempt could not write events.
    private var isJournalRefused = false
    private var documentKeeper: DocumentKeeper
    /// True once the documents that were there when the ledger was read are remembered.
    private var hasBegun = false
    private var database: DatabaseIdentity?
    /// True where everything is kept as it should be.
    private var isDone = false

    /// True where something is still to be kept, or the key-encryption key has changed since.
    private var isToBeWritten: Bool { !self.isDone || self.isOfFormerKey }

    /// True where the memory in the file is authenticated with a key-encryption key that is not in force any more.
    private var isOfFormerKey: Bool { self.base.map { $0.keyID != self.file.keyEncryptionKeys?.current.id } ?? false }

    /// The time between two rounds.
    private static let pause = Duration.milliseconds(50)

    /// - Parameters:
    ///   - remembered: The memory from before, whose documents stay until newer ones are served.
    ///   - onOutcome: Called after each attempt to keep it, with true where nothing was refused.
    package init(
        file: NodeMemoryFile, remembered: NodeMemory?, standing: Standing, ledger: Ledger, pool: PostgresPool,
        table: DocumentTable, logger: Logger, onOutcome: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.file = file
        self.journalFile = EventJournalFile(directory: file.directory)
        self.documentKeeper = DocumentKeeper(file: KeptDocumentsFile(directory: file.directory))
        self.standing = standing
        self.ledger = ledger
        self.pool = pool
        self.table = table
        self.logger = logger
        self.onOutcome = onOutcome
        self.documents = remembered?.documents ?? [:]
        self.stated = remembered
        self.stated?.documents = [:]
        self.database = remembered?.database
        ledger.holdRecent()
        table.observe { [changes] in changes.add($0) }
    }

    /// True where the ledger in the database goes on from the node's memory: what the node then says of it is known from outside the database.
    package nonisolated var isContinued: Bool { if case .continued = self.standing { true } else { false } }

    /// Writes what is new until cancelled, and once more then.
    package func run() async {
        let changes = self.changes
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.ledger.positions() { changes.wake() } }
            group.addTask {
                for await _ in changes.arrivals {
                    await self.keep()
                    try? await Task.sleep(for: Self.pause)
                }
            }
            // For writes that failed, and additions that are still to be put into the whole memory.
            group.addTask {
                await PeriodicWorker(every: .seconds(1)).run { if await self.isToBeWritten { changes.wake() } }
            }
            group.addTask { await PeriodicWorker(every: .seconds(10)).run { await self.identifyDatabase() } }
            await group.waitForAll()
        }
        await finish(within: .seconds(5)) { await self.keepWhole() }
    }

    /// Writes what is new, and the memory as a whole where it has additions.
    private func keepWhole() async {
        self.wholeNotBefore = .now
        await self.keep()
    }

    private func keep() async {
        self.isJournalRefused = false
        do throws(NodeMemoryFile.Failure) {
            try await self.update()
            self.onOutcome(!self.isJournalRefused)
        } catch {
            let text = error.text(self.file.path)
            self.logger.log(.memoryNotKept, ["error": "\(text.message)"])
            self.onOutcome(false)
        }
    }

    /// Asks which database the ledger is in, which explains a loss later.
    package func identifyDatabase() async {
        guard let found = try? await DatabaseIdentity(self.pool), self.ledger.fault == nil else { return }
        self.database = found
        if found != self.stated?.database { self.changes.wake() }
    }

    /// Writes what is new now. A node that has halted goes on: what it had taken in and served before is right, and it serves nothing of
    /// another history.
    ///
    /// One call at a time.
    package func update() async throws(NodeMemoryFile.Failure) {
        if case .foreign = self.standing { return self.isDone = true }
        // What was served while the ledger was read is still to be judged by it.
        let isReading = self.ledger.isReading
        let names = isReading ? [] : self.changes.take()
        do throws(NodeMemoryFile.Failure) {
            // In this order: the documents are of the view or older, and a document is never remembered for a ledger that
            // may not have its events.
            let served: [PublishedDocument] =
                isReading
                ? [] : self.hasBegun ? names.compactMap { self.table[named: $0] } : self.table.current.documents
            try await self.remember(served, isReading: isReading)
            self.hasBegun = self.hasBegun || !isReading
        } catch {
            self.changes.giveBack(names)
            self.isDone = false
            throw error
        }
    }

    private func remember(_ served: [PublishedDocument], isReading: Bool) async throws(NodeMemoryFile.Failure) {
        let present = self.ledger.recollection
        let head = present.view.head
        let isStated = self.mayState(present)
        var memory = isStated ? NodeMemory(of: present.view, documents: [:]) : self.stated
        guard memory != nil else { return self.isDone = true }
        if isStated { await self.extendJournal(present) }
        // Before the memory states them.
        var areKept = false
        if !isReading {
            do throws(PrivateFile.Failure) { areKept = try await self.keep(served) } catch { throw .file(error) }
        }
        // Where the file could not be written to, it is as good as before up to the former end.
        memory?.journal =
            self.journal.map { .init(position: Int64($0.end.size), root: $0.end.root) } ?? self.stated?.journal
        memory?.database = self.database
        var changed: [AppID: NodeMemory.Document] = [:]
        for document in served where document.version >= self.documents[document.app]?.version ?? 0 {
            if self.documents[document.app] != document.remembered { changed[document.app] = document.remembered }
        }
        self.documents.merge(changed) { $1 }
        if let memory { try await self.write(memory, changed) }
        // What is missing is tried again, also where nothing changes any more.
        self.isDone = areKept && !self.hasAdditions && (!isStated || self.journal?.end == head.frontier)
    }

    /// True where the node's ledger is to be remembered. A later program, or this one with more batch keys, may have followed
    /// it further before.
    private func mayState(_ present: Ledger.Recollection) -> Bool {
        guard case .continued = self.standing, present.view.head.position >= self.stated?.position ?? 0 else {
            return false
        }
        if case .snapshot = present.fault { return false }
        return true
    }

    /// Writes a memory: what is new of it, or the whole where that is due.
    private func write(
        _ memory: NodeMemory, _ changed: [AppID: NodeMemory.Document]
    ) async throws(NodeMemoryFile.Failure) {
        let isNew = !changed.isEmpty || memory != self.stated
        // A later start has the new key-encryption key alone.
        if self.isOfFormerKey { self.base = nil }
        // A memory that stays is not sealed again.
        if case .contradicted = self.standing, !isNew, self.base == nil { return }
        let begin = ContinuousClock.now
        var written = memory
        if let base, begin < self.wholeNotBefore {
            guard isNew else { return }
            written.documents = changed
            do throws(NodeMemoryFile.Failure) {
                try await self.file.append(written, to: base, isFirst: !self.hasAdditions)
            } catch {
                self.base = nil
                throw error
            }
            self.hasAdditions = true
        } else {
            guard isNew || self.hasAdditions || self.base == nil else { return }
            written.documents = self.documents
            self.base = nil
            self.base = try await self.file.write(written)
            self.hasAdditions = false
            let end = ContinuousClock.now
            self.wholeNotBefore = end + max(.seconds(1), (end - begin) * 19)
        }
        self.stated = memory
    }

    private func keep(_ served: [PublishedDocument]) async throws(PrivateFile.Failure) -> Bool {
        // Taken out meanwhile: a value that is part of an actor cannot change across a suspension. One call is under way at a time.
        var keeper = self.documentKeeper
        defer { self.documentKeeper = keeper }
        var onlyAdds = false
        if case .contradicted = self.standing { onlyAdds = true }
        return try await keeper.keep(served, of: self.table, onlyAdds: onlyAdds)
    }

    // MARK: The journal

    /// The most events that are read again for the journal. Where more are missing, it begins again behind them.
    private static let readAgain: UInt64 = 20_000

    /// Brings the journal to the end of what the node has taken in.
    private func extendJournal(_ present: Ledger.Recollection) async {
        guard let recent = present.recent else { return }
        let head = present.view.head.frontier
        do {
            if let journal = try await self.present() {
                guard journal.end.size < head.size else { return }
                if journal.end.size >= recent.start.size {
                    let new = recent.entries.dropFirst(Int(journal.end.size - recent.start.size))
                    self.journal = (head, try await self.journalFile.append(Array(new), to: journal.size))
                } else if let between = try await self.entries(from: journal.end, to: recent.start, present.fault) {
                    let size = try await self.journalFile.append(between + recent.entries, to: journal.size)
                    self.journal = (head, size)
                } else {
                    try await self.beginJournal(with: recent, to: head)
                }
            } else {
                try await self.beginJournal(with: recent, to: head)
            }
            self.ledger.forgetRecent(before: head)
        } catch let error where (error is PostgresError || error is LedgerReader.Behind) && present.fault == nil {
            // Other parts of the node report that the database is away. A server that is behind gets there.
        } catch {
            self.isJournalRefused = true
            // A disk that takes nothing more has what was there: reading all of it at each attempt would cost memory and time.
            let isUnharmed = await self.hasJournalInFile
            if !(error is PrivateFile.Failure && isUnharmed) { self.journal = nil }
            self.logger.log(.memoryNotKept, ["error": "\(error)"])
        }
    }

    private var hasJournalInFile: Bool {
        get async { if let journal { await self.journalFile.has(journal.size) } else { false } }
    }

    /// The entries that the node took in without holding them, which are read again; nil where they are too many or not to be had, and
    /// the journal begins behind them.
    private func entries(
        from start: MerkleFrontier, to end: MerkleFrontier, _ fault: LedgerFault?
    ) async throws -> [[UInt8]]? {
        guard fault == nil, end.size - start.size <= Self.readAgain else { return nil }
        var (reached, entries) = (start, [[UInt8]]())
        do {
            try await LedgerReader(pool: self.pool).onServer(with: Int64(end.size)) { reader in
                // From the beginning again, where a connection was lost.
                (reached, entries) = (start, [])
                while reached.size < end.size {
                    let page = try await reader.entries(at: Int64(reached.size)..<Int64(end.size), limit: 1000)
                    guard !page.isEmpty else { return }
                    for stored in page {
                        reached.append(leaf: MerkleTree.leafHash(stored.bytes))
                        entries.append(stored.bytes)
                    }
                }
            }
        } catch let fault as LedgerFault {
            if fault.isPruned { self.logger.log(.memoryNotKept, ["error": "\(fault)"]) }
            return nil
        }
        return reached == end ? entries : nil
    }

    /// The journal, which the first call reads; nil where there is none that goes with the memory.
    private func present() async throws -> (end: MerkleFrontier, size: Int)? {
        if let journal { return journal }
        guard let stated else { return nil }
        let kept: EventJournal?
        do { kept = try await self.journalFile.read(stated) } catch is EventJournal.Defect {
            // An altered file explains nothing. One that cannot be read now is tried again.
            return nil
        }
        guard let kept else { return nil }
        // Written again without what the memory does not state.
        self.journal = (kept.end, try await self.journalFile.write(kept))
        return self.journal
    }

    private func beginJournal(with recent: RecentEntries, to head: MerkleFrontier) async throws {
        self.journal = (
            head, try await self.journalFile.write(EventJournal(start: recent.start, entries: recent.entries))
        )
    }
}

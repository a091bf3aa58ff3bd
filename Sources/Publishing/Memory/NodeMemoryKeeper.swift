import Concurrency
package import EventStore
import Keys
import LogLines
package import Logging
import NIOCore
import PinWire
package import Postgres
import TransparencyLog

/// Keeps a node's ``NodeMemory`` in its file while the node runs.
///
/// It writes at most once a second and for at most a twentieth of the time, and only where something changed. What came
/// after the last write may be missing after a crash; the database has to lose just that in the same moment for it to go
/// unnoticed.
package actor NodeMemoryKeeper {
    private let file: NodeMemoryFile
    private let journalFile: EventJournalFile
    private let ledger: Ledger
    private let pool: PostgresPool
    private let table: DocumentTable
    private let logger: Logger
    private var written: NodeMemory?
    /// The end of the journal's events, and the size of its file; nil where it is to be begun.
    private var journal: (end: MerkleFrontier, size: Int)?
    /// The changes of ledger and documents that ``written`` has.
    private var seen: (ledger: UInt64, table: UInt64)?
    private var documents: DocumentKeeper
    private var notBefore = ContinuousClock.now

    /// - Parameter remembered: The memory from before, whose documents stay until newer ones are served.
    package init(
        file: NodeMemoryFile, remembered: NodeMemory?, ledger: Ledger, pool: PostgresPool, table: DocumentTable,
        logger: Logger
    ) {
        self.file = file
        self.journalFile = EventJournalFile(directory: file.directory)
        self.documents = DocumentKeeper(file: KeptDocumentsFile(directory: file.directory))
        self.ledger = ledger
        self.pool = pool
        self.table = table
        self.logger = logger
        self.written = remembered
    }

    /// Writes the memory until cancelled, and once more then.
    package func run() async {
        await PeriodicWorker(every: .seconds(1)).run {
            guard ContinuousClock.now >= self.notBefore else { return }
            let begin = ContinuousClock.now
            await self.keep()
            self.notBefore = ContinuousClock.now + (ContinuousClock.now - begin) * 19
        }
        await finish(within: .seconds(5)) { await self.keep() }
    }

    private func keep() async {
        do throws(NodeMemoryFile.Failure) { try await self.update() } catch {
            let text = error.text(self.file.path)
            self.logger.log(.memoryNotKept, ["error": "\(text.message)"])
        }
    }

    /// Writes the memory now, unless it is as before. A node that has halted keeps the memory of what was right; one that waits
    /// for its upgrade goes on to remember the documents that it serves.
    package func update() async throws(NodeMemoryFile.Failure) {
        let present = (ledger: self.ledger.revision, table: self.table.generation)
        if let seen, seen == present { return }
        // In this order: the documents are of the view or older, and a document is never remembered for a ledger that
        // may not have its events.
        // What was served while the ledger was read is still to be judged by it.
        let (documents, isComplete) = self.ledger.isReading ? ([], false) : self.table.current
        let view = self.ledger.view
        let fault = self.ledger.fault
        guard fault.map(\.meansUpgrade) ?? true else { return }
        let isBehind = self.ledger.unsigned != nil && view.head.position < self.written?.position ?? 0
        let waits = fault != nil || isBehind
        var memory = NodeMemory(of: view, documents: self.written?.documents ?? [:])
        // A later program, or this one with more batch keys, may have followed the ledger further before.
        if waits, let written { memory = written }
        if !waits { await self.extendJournal(to: view.head.frontier) }
        // Before the memory states them.
        let areKept: Bool
        do throws(PrivateFile.Failure) { areKept = try await self.keep(documents, isComplete: isComplete) } catch {
            throw .file(error)
        }
        // Where the file could not be written to, it is as good as before up to the former end.
        memory.journal =
            self.journal.map { .init(position: Int64($0.end.size), root: $0.end.root) } ?? self.written?.journal
        memory.database = (try? await DatabaseIdentity(self.pool)) ?? self.written?.database
        for document in documents where document.version >= memory.documents[document.app]?.version ?? 0 {
            memory.documents[document.app] = document.remembered
        }
        if memory != self.written {
            try await self.file.write(memory)
            self.written = memory
        }
        // What is missing is tried again, also where nothing changes any more.
        self.seen = areKept && (waits || self.journal?.end == view.head.frontier) ? present : nil
    }

    private func keep(
        _ documents: [PublishedDocument], isComplete: Bool
    ) async throws(PrivateFile.Failure) -> Bool {
        // Taken out meanwhile: a value that is part of an actor cannot change across a suspension. One call is under way at a time.
        var keeper = self.documents
        defer { self.documents = keeper }
        return try await keeper.keep(documents, isComplete: isComplete)
    }

    /// The most events that are read again for the journal. Where more have come, it begins again behind them.
    private static let readAgain: UInt64 = 20_000

    /// Brings the journal to the ledger's end, as far as the database answers.
    private func extendJournal(to head: MerkleFrontier) async {
        do {
            guard let journal = try await self.present(), head.size - min(head.size, journal.end.size) <= Self.readAgain
            else { return try await self.beginJournal(at: head) }
            guard journal.end.size < head.size else { return }
            var (end, entries) = (journal.end, [[UInt8]]())
            while end.size < head.size {
                let page = try await LedgerReader(pool: self.pool).entries(
                    at: Int64(end.size)..<Int64(head.size), limit: 1000)
                guard !page.isEmpty else { return }
                for stored in page {
                    end.append(leaf: MerkleTree.leafHash(stored.bytes))
                    entries.append(stored.bytes)
                }
            }
            // The database may have been replaced a moment ago: the next statement of this node halts it.
            guard end == head else { return }
            self.journal = (end, try await self.journalFile.append(entries, to: journal.size))
        } catch is PostgresError {
            // Other parts of the node report that the database is away.
        } catch let fault as LedgerFault where fault.isPruned {
            // What recovery can repeat begins behind them.
            self.logger.log(.memoryNotKept, ["error": "\(fault)"])
            try? await self.beginJournal(at: head)
        } catch is LedgerFault {
            // The follower halts the node.
        } catch {
            self.journal = nil
            self.logger.log(.memoryNotKept, ["error": "\(error)"])
        }
    }

    /// The journal, which the first call reads; nil where there is none that goes with the memory.
    private func present() async throws -> (end: MerkleFrontier, size: Int)? {
        if let journal { return journal }
        guard let written else { return nil }
        let kept: EventJournal?
        do { kept = try await self.journalFile.read(written) } catch is EventJournal.Defect {
            // An altered file explains nothing. One that cannot be read now is tried again.
            return nil
        }
        guard let kept else { return nil }
        // Written again without what the memory does not state.
        self.journal = (kept.end, try await self.journalFile.write(kept))
        return self.journal
    }

    private func beginJournal(at head: MerkleFrontier) async throws {
        self.journal = (head, try await self.journalFile.write(EventJournal(start: head)))
    }
}

import Concurrency
package import EventStore
import LogLines
package import Logging
import PinWire
import Postgres

/// Keeps a node's ``NodeMemory`` in its file while the node runs.
///
/// It writes at most once a second and for at most a twentieth of the time, and only where something changed. What came
/// after the last write may be missing after a crash; the database has to lose just that in the same moment for it to go
/// unnoticed.
package actor NodeMemoryKeeper {
    private let file: NodeMemoryFile
    private let ledger: Ledger
    private let table: DocumentTable
    private let logger: Logger
    private var written: NodeMemory?
    /// The changes of ledger and documents that ``written`` has.
    private var seen: (ledger: UInt64, table: UInt64)?
    private var notBefore = ContinuousClock.now

    /// - Parameter remembered: The memory from before, whose documents stay until newer ones are served.
    package init(
        file: NodeMemoryFile, remembered: NodeMemory?, ledger: Ledger, table: DocumentTable, logger: Logger
    ) {
        self.file = file
        self.ledger = ledger
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

    /// Writes the memory now, unless it is as before. A node that has halted keeps the memory of what was right.
    package func update() async throws(NodeMemoryFile.Failure) {
        let present = (ledger: self.ledger.revision, table: self.table.generation)
        if let seen, seen == present { return }
        // In this order: the documents are of the view or older, and a document is never remembered for a ledger that
        // may not have its events.
        let documents = self.table.served
        let head = self.ledger.view.head
        guard self.ledger.fault == nil else { return }
        var memory = NodeMemory(of: head, documents: self.written?.documents ?? [:])
        for (app, document) in documents where document.version >= memory.documents[app]?.version ?? 0 {
            memory.documents[app] = document
        }
        if memory != self.written {
            try await self.file.write(memory)
            self.written = memory
        }
        self.seen = present
    }
}

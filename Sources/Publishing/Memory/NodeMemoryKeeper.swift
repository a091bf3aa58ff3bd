import Concurrency
package import EventStore
import LogLines
package import Logging
import PinWire
import Postgres

/// Keeps a node's ``NodeMemory`` in its file while the node runs.
///
/// It writes at most once a second, and only where something changed. What the last second brought may be missing after
/// a crash; the database has to lose just that in the same moment for it to go unnoticed.
package actor NodeMemoryKeeper {
    private let file: NodeMemoryFile
    private let ledger: Ledger
    private let table: DocumentTable
    private let logger: Logger
    private var written: NodeMemory?

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
        await PeriodicWorker(every: .seconds(1)).run { await self.keep() }
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
        // In this order: the documents are of the view or older, and a document is never remembered for a ledger that
        // may not have its events.
        let documents = self.table.served
        let head = self.ledger.view.head
        guard self.ledger.fault == nil else { return }
        var memory = NodeMemory(of: head, documents: self.written?.documents ?? [:])
        for (app, document) in documents where document.version >= memory.documents[app]?.version ?? 0 {
            memory.documents[app] = document
        }
        guard memory != self.written else { return }
        try await self.file.write(memory)
        self.written = memory
    }
}

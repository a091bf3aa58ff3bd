import Concurrency
import Keys
import LogLines
package import Logging
import PinWire
import Publishing

/// An edge's documents on its disk, by which it starts while its upstream does not answer, and serves nothing older than before.
///
/// Written within a second after a change. What came in the last second before a crash may be missing: the edge then takes it from its
/// upstream again.
package struct EdgeMemory: Sendable {
    /// Why the documents cannot be read, as a sentence, and what to do about it.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
        package let advice: String?
    }

    private let file: KeptDocumentsFile
    private let documents: EdgeDocuments
    private let logger: Logger
    private let onOutcome: @Sendable (Bool) -> Void

    /// - Parameter onOutcome: Called after each attempt to keep documents, with false where they cannot be kept.
    package init(
        directory: String, documents: EdgeDocuments, logger: Logger,
        onOutcome: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.onOutcome = onOutcome
        self.file = KeptDocumentsFile(directory: directory)
        self.documents = documents
        self.logger = logger
    }

    /// Takes in what was kept, to be verified when it is looked up.
    ///
    /// - Throws: ``Unusable`` for a file that is there and cannot be read: an edge that took it for none would forget how far it has come.
    package func load() async throws(Unusable) {
        let kept: [KeptDocuments.Lines]
        do throws(PrivateFile.Failure) { kept = try await self.file.readAll() } catch {
            let (message, advice) = error.text("the documents", self.file.path)
            throw Unusable(description: message, advice: advice)
        }
        let (documents, logger) = (self.documents, self.logger)
        documents.table.adopt(kept, trusting: documents.keys) { document, error in
            if case .unknownKey = error { documents.withheld.keep([document], at: documents.clock()) }
            logger.log(
                .keptDocumentRefused,
                ["app": "\(document.app)", "version": "\(document.version)", "reason": "\(error)"])
        }
    }

    /// Writes what changes until cancelled, and once more then.
    package func run() async {
        await self.documents.table.checkAll()
        let writer = Writer(
            keeper: DocumentKeeper(file: self.file), documents: self.documents, logger: self.logger,
            onOutcome: self.onOutcome)
        await PeriodicWorker(every: .seconds(1)).run { await writer.keep() }
        await finish(within: .seconds(5)) { await writer.keep() }
    }

    private actor Writer {
        private var keeper: DocumentKeeper
        private let documents: EdgeDocuments
        private let logger: Logger
        private let onOutcome: @Sendable (Bool) -> Void
        /// The table's generation that is in the file.
        private var written: UInt64?

        init(
            keeper: DocumentKeeper, documents: EdgeDocuments, logger: Logger,
            onOutcome: @escaping @Sendable (Bool) -> Void
        ) {
            self.onOutcome = onOutcome
            self.keeper = keeper
            self.documents = documents
            self.logger = logger
        }

        func keep() async {
            let generation = self.documents.table.generation
            guard self.written != generation else { return }
            let (served, isComplete) = self.documents.table.current
            // Taken out meanwhile: a value that is part of an actor cannot change across a suspension. One call is under way at a time.
            var keeper = self.keeper
            do throws(PrivateFile.Failure) {
                if try await keeper.keep(served + self.documents.withheld.all, isComplete: isComplete) {
                    self.written = generation
                    self.onOutcome(true)
                }
            } catch {
                self.onOutcome(false)
                self.logger.log(.memoryNotKept, ["error": "\(error.text("the memory", keeper.file.path).message)"])
            }
            self.keeper = keeper
        }
    }
}

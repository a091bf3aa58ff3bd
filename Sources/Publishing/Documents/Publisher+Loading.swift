import EventStore
import Keys
import LogLines
import Logging
package import PinWire
import Pinning

/// How a node takes in the documents that the database stores, and those that it has kept itself.
extension Publisher {
    /// Loads every stored document. Called when the ledger is read.
    ///
    /// - Parameter kept: What takes the place of stored documents, on a node whose database has lost them.
    /// - Returns: The highest position of the ledger at which one of them was made, or one that was served before; 0 where
    ///   there is none. It is always recorded before its documents are stored: a ledger that ends before it has lost events.
    ///   A position beyond the database's own ledger counts only where a key of the ledger signed it.
    package func load(_ kept: KeptDocuments = .none) async throws -> Int64 {
        let (stored, unreadable) = try await self.store.loadAll()
        for app in unreadable {
            self.logger.log(.documentMisnamed, ["app": "\(app)"])
        }
        let judge = self.judge
        // Verified at once: one that is damaged must not take the place of a sound one.
        let served = self.table.adopt(stored + kept.stored.filter { judge.isAuthentic($0.document) }) {
            judge.rule(on: $0)
        } onContradiction: { held, new in
            judge.halt(
                .contradicted(
                    app: held.app.text, version: held.version, published: Hex.encode(held.contentDigest),
                    made: Hex.encode(new.contentDigest)))
        }
        self.waiters.advance(to: self.ledger.position)
        self.fleetWaiters.advance(to: self.ledger.position)
        let published =
            stored.lazy.filter { $0.document.position <= $0.ledgerEnd || judge.isAuthentic($0.document) }
            .map(\.document.position).max() ?? 0
        return max(published, served)
    }

    /// Loads every stored document while the ledger is still to be read: those are served that a key has signed which the node
    /// remembers. ``load(_:)`` follows.
    ///
    /// - Parameter kept: What the node has kept of the documents that it has served.
    /// - Throws: The database's error, before anything has changed.
    package func loadEarly(_ kept: KeptDocuments) async throws {
        let stored = try await self.store.loadAll().stored
        self.adoptEarly(stored + kept.stored)
    }

    /// As ``loadEarly(_:)``, without the database's documents: it does not answer now.
    package func loadKept(_ kept: KeptDocuments) { self.adoptEarly(kept.stored) }

    /// Where a node's kept documents are, and which of them count.
    package struct KeptSource: Sendable {
        let file: KeptDocumentsFile
        let remembered: [AppID: NodeMemory.Document]
        /// Public keys of 32 bytes, by key id.
        let keys: [String: [UInt8]]

        package init(
            file: KeptDocumentsFile, remembered: [AppID: NodeMemory.Document], signedBy keys: [String: [UInt8]]
        ) {
            (self.file, self.remembered, self.keys) = (file, remembered, keys)
        }
    }

    /// Takes kept documents in the place of stored ones that turn out not to be documents, once ``run()`` has verified all of those. Called
    /// before ``load(_:)``; until then the file is only added to.
    package func fallBack(on source: KeptSource) {
        self.keptSource = source
        self.table.awaitKept()
    }

    /// Serves what the node has kept where what is stored in its place must not be served: the database may have lost the key that would
    /// sign it again.
    ///
    /// A document of an earlier history, which `recover` has ended, is not the ledger's.
    func restoreKept() async {
        guard let source = self.keptSource, self.ledger.fault == nil else { return }
        let missing = self.table.missing
        var found: [DocumentStore.Stored] = []
        let kept =
            missing.isEmpty
            ? KeptDocuments.none : await source.file.readOrLog(source.remembered, signedBy: source.keys, self.logger)
        if let kept {
            let state = self.ledger.view.state
            found = kept.stored.filter { stored in
                let document = stored.document
                guard missing.contains(document.app.text), let version = state.documentVersion(of: document.app)
                else { return false }
                return document.version < version
                    || document.version == version
                        && state.document(of: document.app)?.contentDigest == document.contentDigest
            }
        } else {
            self.table.leaveKept()
        }
        guard self.ledger.fault == nil else { return }
        self.keptSource = nil
        self.table.takeKept(found)
        await self.table.checkAll()
        let served = found.filter { self.table[$0.document.app] != nil }
        guard !served.isEmpty else { return }
        self.logger.log(
            .documentsRestored, ["count": "\(served.count)", "app": "\(served[0].document.app)"])
    }

    private func adoptEarly(_ stored: [DocumentStore.Stored]) {
        let judge = self.judge
        self.table.adopt(stored, isEarly: true) {
            judge.earlyRule(on: $0)
        } onContradiction: { _, _ in
        }
    }

    /// Takes in documents that other nodes have published since ``loadEarly(_:)``.
    ///
    /// - Parameter hasMoreKeys: Whether more keys are known than at the last call: what was refused is looked at again.
    package func refreshEarly(hasMoreKeys: Bool = false) async throws {
        if hasMoreKeys {
            self.table.forgetRejected()
            self.lookAtAllStored()
        }
        try await self.loadOutdated { stored in
            for each in stored {
                if self.judge.earlyRule(on: each) == .serve {
                    self.table.put([each.document.published])
                } else {
                    self.table.reject(each.document)
                }
            }
        }
    }
}

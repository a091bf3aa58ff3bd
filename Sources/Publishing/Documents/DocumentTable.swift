package import PinWire
import Synchronization

/// The documents a node serves, by app: the look-up of the request path.
///
/// Documents that were read from the database at the start are verified when they are first looked up, or a moment
/// later by ``checkAll()``: a node with ten thousand documents need not verify all of them before it serves one.
package final class DocumentTable: Sendable {
    private struct Content {
        /// By the app's name, so that the text of a request target finds its document.
        var documents: [String: PublishedDocument] = [:]
        /// Whether the stored documents were read.
        var isAdopted = false
        /// Kept or stored, and not verified yet: the first one counts that may be served.
        var unchecked: [String: Unchecked] = [:]
        /// How often stored documents were taken in.
        var adoptions = 0
        /// Whether a verified document was ever in place.
        var hasServed = false
        /// Version and issue time of a document that was read and must not be served: it need not be read again.
        var rejected: [String: (version: Int64, issuedAt: Timestamp)] = [:]
        /// The versions that documents must have to be served, of apps whose documents are behind the ledger.
        var floors: [String: Int64] = [:]
        /// Nil, or what the node has served before.
        var remembered: [String: NodeMemory.Document]?
        /// Whether nothing else may be served.
        var servesOnlyRemembered = false
        /// True while kept documents may still take the place of stored ones which must not be served.
        var awaitsKept = false
        /// True where kept documents could not be read, which may take the place of stored ones after a restart.
        var leavesKept = false
        /// What to do with a stored document.
        var judge: @Sendable (DocumentStore.Stored) -> DocumentJudge.Ruling = { _ in .wait }
        /// Called with two documents of one version with different contents: the one that stays, and the new one.
        var onContradiction: @Sendable (PublishedDocument, PublishedDocument) -> Void = { _, _ in }

        /// Whether the app's document may be served as far as its version goes.
        func isCurrent(_ document: PublishedDocument) -> Bool {
            self.floors[document.app.text].map { document.version >= $0 } ?? true
        }

        /// Whether the app's clients may get a document after what they were served before.
        func mayFollow(_ document: NodeMemory.Document, of app: AppID) -> Bool {
            guard let remembered else { return true }
            guard let before = remembered[app.text] else { return !self.servesOnlyRemembered }
            return document == before || !self.servesOnlyRemembered && document.version > before.version
        }
    }

    /// The documents of an app that are still to be verified.
    private enum Unchecked {
        /// Read from the database, in the order in which they are tried.
        case stored([DocumentStore.Stored])
        /// Kept by an edge, and not even parsed.
        case kept(KeptDocuments.Lines)

        func documents(at now: Timestamp) -> [DocumentStore.Stored] {
            switch self {
            case .stored(let documents): documents
            case .kept(let lines): lines.newestFirst(at: now)
            }
        }
    }

    private let content = Mutex(Content())
    private let changes = Atomic<UInt64>(0)
    private let observers = Mutex<[@Sendable (String) -> Void]>([])
    private let clock: @Sendable () -> Timestamp

    /// - Parameter clock: Tells which documents were issued in the future: any other of their version is newer.
    package init(clock: @escaping @Sendable () -> Timestamp) { self.clock = clock }

    /// The current document of an app.
    package subscript(_ app: AppID) -> PublishedDocument? { self[named: app.text] }

    /// The current document of the app of this name; nil where there is none, or only one that is held back. The first
    /// look-up after a start verifies it: some hundred microseconds, and more for a large one.
    package subscript(named name: String) -> PublishedDocument? {
        self.settle(name) { content in content.documents[name].flatMap { content.isCurrent($0) ? $0 : nil } }
    }

    /// The newest document of an app that this node has, also where it is held back.
    func held(_ app: AppID) -> PublishedDocument? { self.settle(app.text) { $0.documents[app.text] } }

    /// The result of `find` once the app's stored document is verified.
    private func settle(_ name: String, _ find: (Content) -> PublishedDocument?) -> PublishedDocument? {
        let (document, unchecked, judge, adoptions) = self.content.withLock {
            (find($0), $0.unchecked[name], $0.judge, $0.adoptions)
        }
        guard let unchecked else { return document }
        // Outside the lock. Two callers at once judge the same, and neither finds it missing meanwhile.
        var sound: [PublishedDocument] = []
        var refused: [DocumentStore.Signed] = []
        for stored in unchecked.documents(at: self.clock()) where sound.isEmpty {
            switch judge(stored) {
            case .serve: sound.append(stored.document.published)
            case .wait: break
            case .refuse: refused.append(stored.document)
            }
        }
        let isSettled = self.put(sound) { content in
            guard content.adoptions == adoptions else { return false }
            content.unchecked[name] = nil
            for document in refused { content.rejected[name] = (document.version, document.issuedAt) }
            return true
        }
        // Others were taken in meanwhile.
        guard isSettled else { return self.settle(name, find) }
        return self.content.withLock { find($0) }
    }

    /// Whether a stored document is newer than the present one of its app, verified or not, and was not rejected. One that is only
    /// issued in the future may be damaged, so it is to be judged, too.
    func wants(_ app: AppID, _ version: Int64, _ issuedAt: Timestamp) -> Bool {
        let now = self.clock()
        let stored = Issuance(version: version, issuedAt: issuedAt, at: now)
        return self.content.withLock { content in
            if let rejected = content.rejected[app.text], rejected == (version, issuedAt) { return false }
            if let held = content.documents[app.text]?.issuance(at: now), stored <= held {
                return stored.version == held.version && stored.isAhead && !held.isAhead
            }
            let unchecked = content.unchecked[app.text]?.documents(at: now) ?? []
            return !unchecked.contains { stored <= $0.document.issuance(at: now) }
        }
    }

    /// Notes that a stored document must not be served.
    func reject(_ document: DocumentStore.Signed) {
        self.content.withLock { $0.rejected[document.app.text] = (document.version, document.issuedAt) }
    }

    /// A number that grows with every change. A document looked up after the number was read is current for as long as
    /// the number stays.
    package var generation: UInt64 { self.changes.load(ordering: .acquiring) }

    /// Calls `observer` with an app's name whenever its document has changed, by any cause: it must return quickly.
    package func observe(_ observer: @escaping @Sendable (String) -> Void) {
        self.observers.withLock { $0.append(observer) }
    }

    private func tell(of apps: some Sequence<String>) {
        for observer in self.observers.withLock({ $0 }) {
            for app in apps { observer(app) }
        }
    }

    /// Puts documents in place as ``put(_:)`` does, if they are still to be.
    ///
    /// - Parameter isDue: Changes what belongs to it, or says that nothing is to be put in place any more.
    /// - Returns: What `isDue` says.
    @discardableResult
    private func put(_ new: [PublishedDocument], isDue: (inout Content) -> Bool) -> Bool {
        var contradictions: [(held: PublishedDocument, new: PublishedDocument)] = []
        let now = self.clock()
        let onContradiction: (@Sendable (PublishedDocument, PublishedDocument) -> Void)? = self.content.withLock {
            content in
            guard isDue(&content) else { return nil }
            for document in new {
                let name = document.app.text
                guard content.mayFollow(document.remembered, of: document.app) else {
                    content.rejected[name] = (document.version, document.issuedAt)
                    continue
                }
                if let old = content.documents[name] {
                    if document.contradicts(old) { contradictions.append((old, document)) }
                    guard document.supersedes(old, at: now) else { continue }
                }
                content.documents[name] = document
                content.hasServed = true
                if content.isCurrent(document) { content.floors[name] = nil }
            }
            // Before the lock is released: a reader that saw the old number saw the old documents.
            self.changes.wrappingAdd(1, ordering: .releasing)
            return content.onContradiction
        }
        guard let onContradiction else { return false }
        for pair in contradictions { onContradiction(pair.held, pair.new) }
        self.tell(of: new.lazy.map(\.app.text))
        return true
    }

    /// Puts documents in place, except where a newer one stands there, or one of its version with other content.
    package func put(_ new: [PublishedDocument]) { self.put(new) { _ in true } }

    /// The verified documents that are not held back, and whether those are all that the node can have.
    package var current: (documents: [PublishedDocument], isComplete: Bool) {
        // Outside the lock: requests do not wait for it.
        let content = self.content.withLock { $0 }
        return (
            content.documents.values.filter { content.isCurrent($0) },
            content.isAdopted && content.unchecked.isEmpty && !content.awaitsKept
        )
    }

    // MARK: At the start

    /// Serves nothing older than these documents from now on, and no other content in their versions: clients would be taken
    /// back. Called before documents are taken in.
    ///
    /// - Parameter isStrict: Whether nothing newer is served either. For a node whose database has lost what it has served.
    package func remember(_ documents: [AppID: NodeMemory.Document], isStrict: Bool) {
        self.content.withLock { content in
            content.remembered = Dictionary(uniqueKeysWithValues: documents.map { ($0.key.text, $0.value) })
            content.servesOnlyRemembered = isStrict
        }
    }

    /// Has what is kept stay as it is: it cannot be read now, and may hold documents that the table lacks.
    package func leaveKept() { self.content.withLock { $0.leavesKept = true } }

    /// True after ``leaveKept()``.
    var leavesKept: Bool { self.content.withLock { $0.leavesKept } }

    /// Counts what there is as incomplete until ``takeKept(_:)``.
    func awaitKept() { self.content.withLock { $0.awaitsKept = true } }

    /// The apps whose document the node has served before, and of which it has none now, verified or not.
    var missing: Set<String> {
        self.content.withLock { content in
            Set(content.remembered?.keys.filter { content.documents[$0] == nil && content.unchecked[$0] == nil } ?? [])
        }
    }

    /// Takes in documents that the node has kept, which are still to be verified, of apps that have none.
    func takeKept(_ kept: [DocumentStore.Stored]) {
        self.content.withLock { content in
            content.awaitsKept = false
            for stored in kept {
                let name = stored.document.app.text
                guard content.documents[name] == nil, content.unchecked[name] == nil else { continue }
                content.unchecked[name] = .stored([stored])
            }
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// Takes in stored documents, which are still to be verified, in place of all documents that were taken in before, and serves
    /// nothing older than those. Where an app has several, the newest counts that may follow what was served before and that
    /// `judge` lets be served; of two that were issued at the same time, the later in the list.
    ///
    /// - Parameter isEarly: Whether the ledger is still to be read, and the documents are to be taken in once more then.
    /// - Returns: The highest position of the ledger at which a document in place before was made; 0 where there was none.
    @discardableResult
    func adopt(
        _ stored: [DocumentStore.Stored], isEarly: Bool = false,
        judge: @escaping @Sendable (DocumentStore.Stored) -> DocumentJudge.Ruling,
        onContradiction: @escaping @Sendable (PublishedDocument, PublishedDocument) -> Void
    ) -> Int64 {
        let now = self.clock()
        return self.content.withLock { content in
            let position = content.documents.values.lazy.map(\.position).max() ?? 0
            content.isAdopted = !isEarly
            content.adoptions += 1
            content.judge = judge
            content.onContradiction = onContradiction
            for (name, document) in content.documents
            where content.remembered?[name].map({ $0.version < document.version }) ?? true {
                content.remembered?[name] = document.remembered
            }
            (content.documents, content.rejected) = ([:], [:])
            content.unchecked = Dictionary(grouping: stored.reversed()) { $0.document.app.text }.mapValues { several in
                guard several.count > 1 else { return .stored(several) }
                let sorted = several.sorted { one, other in
                    let (first, second) = (one.document, other.document)
                    let follow = (
                        content.mayFollow(first.remembered, of: first.app),
                        content.mayFollow(second.remembered, of: second.app)
                    )
                    guard follow.0 == follow.1 else { return follow.0 }
                    return second.issuance(at: now) < first.issuance(at: now)
                }
                return .stored(sorted)
            }
            self.changes.wrappingAdd(1, ordering: .releasing)
            return position
        }
    }

    /// Takes in the documents that an edge has kept, which are parsed, and verified by `keys`, when they are first looked up, or by
    /// ``checkAll()``: an edge serves the first of ten thousand at once. The newest sound one of an app counts.
    ///
    /// - Parameter onRefusal: Called with a document that is not, and with the reason.
    package func adopt(
        _ kept: [KeptDocuments.Lines], trusting keys: TrustedKeys,
        onRefusal: @escaping @Sendable (PublishedDocument, TrustedKeys.Unverified) -> Void
    ) {
        self.adopt([]) { stored in
            do throws(TrustedKeys.Unverified) {
                _ = try keys.verify(stored.document.body, of: stored.document.app)
                return .serve
            } catch {
                onRefusal(stored.document.published, error)
                return .refuse("\(error)")
            }
        } onContradiction: { _, _ in
        }
        self.content.withLock { content in
            for lines in kept { content.unchecked[lines.app] = .kept(lines) }
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// Serves no document any more that a key outside `keys` has signed, and forgets their versions: who stole a key may have signed
    /// high ones.
    ///
    /// - Returns: The documents that are gone.
    package func drop(signedOutside keys: Set<String>) -> [PublishedDocument] {
        let dropped = self.content.withLock { content in
            let dropped = content.documents.values.filter { !keys.contains($0.keyID) }
            guard !dropped.isEmpty else { return dropped }
            for document in dropped { content.documents[document.app.text] = nil }
            self.changes.wrappingAdd(1, ordering: .releasing)
            return dropped
        }
        self.tell(of: dropped.lazy.map(\.app.text))
        return dropped
    }

    /// Holds back documents that are older than `versions` requires, until newer ones are put in place.
    ///
    /// - Returns: The apps whose documents are held back or missing.
    func holdBack(below versions: [AppID: Int64]) -> Set<AppID> {
        let now = self.clock()
        return self.content.withLock { content in
            let behind = versions.filter { app, version in
                let held = content.documents[app.text]?.version ?? 0
                let unchecked = content.unchecked[app.text]?.documents(at: now).map(\.document.version).max()
                return max(held, unchecked ?? 0) < version
            }
            for (app, version) in behind { content.floors[app.text] = version }
            self.changes.wrappingAdd(1, ordering: .releasing)
            return Set(behind.keys)
        }
    }

    /// Serves the held-back documents again: nothing newer will come.
    func holdBackNothing() {
        let released = self.content.withLock { content in
            defer { content.floors = [:] }
            self.changes.wrappingAdd(1, ordering: .releasing)
            return content.floors
        }
        self.tell(of: released.keys)
    }

    /// Verifies the documents that have not been looked up yet, yielding in between.
    package func checkAll() async {
        for (count, name) in self.content.withLock({ Array($0.unchecked.keys) }).enumerated() {
            if count % 20 == 19 { await Task.yield() }
            guard !Task.isCancelled else { return }
            _ = self[named: name]
        }
    }

    /// Forgets which stored documents must not be served: more keys are known by now.
    func forgetRejected() { self.content.withLock { $0.rejected = [:] } }

    /// Whether an app has had a document that may be served: verifies documents until one is found.
    package func servesAny() async -> Bool {
        for name in self.content.withLock({ Array($0.unchecked.keys) }) {
            guard !self.hasServed, !Task.isCancelled else { break }
            await Task.yield()
            _ = self[named: name]
        }
        return self.hasServed
    }

    /// Whether a verified document was in place since the node started.
    package var hasServed: Bool { self.content.withLock { $0.hasServed } }

    /// True where the node has served documents before, and has none now.
    package var lacksAll: Bool {
        self.content.withLock { content in
            content.documents.isEmpty && content.unchecked.isEmpty && content.remembered?.isEmpty == false
        }
    }

    /// The number of apps with a document.
    package var count: Int {
        self.content.withLock { content in
            content.documents.count + content.unchecked.keys.count { content.documents[$0] == nil }
        }
    }
}

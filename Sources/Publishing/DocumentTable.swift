package import PinWire
import Synchronization

/// The documents a node serves, by app: what the request path looks up.
///
/// Those that were read from the database at the start are verified when they are first looked up, or a moment later by
/// ``checkAll()``: a node with ten thousand documents need not verify all of them before it serves one.
package final class DocumentTable: Sendable {
    private struct Content {
        /// By the app's name, so that the text of a request target finds its document.
        var documents: [String: PublishedDocument] = [:]
        /// Read, and not verified yet.
        var unchecked: [String: DocumentStore.Signed] = [:]
        /// Version and issue time of what was read and is not fit to be served: it need not be read again.
        var rejected: [String: (version: Int64, issuedAt: Timestamp)] = [:]
        /// Whether a stored document may be served.
        var judge: @Sendable (DocumentStore.Signed) -> Bool = { _ in false }
    }

    private let content = Mutex(Content())
    private let changes = Atomic<UInt64>(0)
    private let observers = Mutex<[@Sendable (String) -> Void]>([])

    package init() {}

    /// The current document of an app.
    package subscript(_ app: AppID) -> PublishedDocument? { self[named: app.text] }

    /// The current document of the app of this name. The first look-up after a start verifies it: some hundred
    /// microseconds.
    package subscript(named name: String) -> PublishedDocument? {
        let (document, unchecked, judge) = self.content.withLock { ($0.documents[name], $0.unchecked[name], $0.judge) }
        guard let unchecked else { return document }
        // Outside the lock. Two that come at once judge the same, and none finds it missing meanwhile.
        if judge(unchecked) { self.put([unchecked.published]) } else { self.reject(unchecked) }
        return self.content.withLock { content in
            content.unchecked[name] = nil
            return content.documents[name]
        }
    }

    /// Whether a stored document is newer than what there is for its app, verified or not, and was not found unfit.
    func wants(_ app: AppID, _ version: Int64, _ issuedAt: Timestamp) -> Bool {
        self.content.withLock { content in
            let stored = (version, issuedAt)
            if let rejected = content.rejected[app.text], rejected == stored { return false }
            if let held = content.documents[app.text], stored <= (held.version, held.issuedAt) { return false }
            if let unchecked = content.unchecked[app.text], stored <= (unchecked.version, unchecked.issuedAt) {
                return false
            }
            return true
        }
    }

    /// Notes that a stored document is not fit to be served.
    func reject(_ document: DocumentStore.Signed) {
        self.content.withLock { $0.rejected[document.app.text] = (document.version, document.issuedAt) }
    }

    /// A number that grows with every change. A document looked up after the number was read is current for as long as
    /// the number stays.
    package var generation: UInt64 { self.changes.load(ordering: .acquiring) }

    /// Has `observer` called with an app's name whenever its document has changed, by whoever changed it: it must not
    /// take long.
    package func observe(_ observer: @escaping @Sendable (String) -> Void) {
        self.observers.withLock { $0.append(observer) }
    }

    private func tell(of documents: [PublishedDocument]) {
        for observer in self.observers.withLock({ $0 }) {
            for document in documents { observer(document.app.text) }
        }
    }

    /// Puts documents in place, each unless a newer one stands there.
    func put(_ new: [PublishedDocument]) {
        self.content.withLock { content in
            for document in new {
                if let old = content.documents[document.app.text], !document.supersedes(old) { continue }
                content.documents[document.app.text] = document
            }
            // Before the lock is given back: whoever sees the old number saw the old documents.
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
        self.tell(of: new)
    }

    /// Puts a document in the place of another one of its version, or where there is none.
    func replace(_ document: PublishedDocument) {
        self.content.withLock { content in
            guard content.documents[document.app.text].map({ $0.version == document.version }) ?? true else { return }
            content.documents[document.app.text] = document
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
        self.tell(of: [document])
    }

    /// Takes in stored documents that are still to be verified.
    func adopt(_ stored: [DocumentStore.Signed], judge: @escaping @Sendable (DocumentStore.Signed) -> Bool) {
        self.content.withLock { content in
            content.judge = judge
            for document in stored { content.unchecked[document.app.text] = document }
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// Verifies what nobody has looked up yet, giving way to others.
    func checkAll() async {
        for (count, name) in self.content.withLock({ Array($0.unchecked.keys) }).enumerated() {
            if count % 20 == 19 { await Task.yield() }
            guard !Task.isCancelled else { return }
            _ = self[named: name]
        }
    }

    /// How many apps have a document.
    package var count: Int {
        self.content.withLock { content in
            content.documents.count + content.unchecked.keys.count { content.documents[$0] == nil }
        }
    }
}

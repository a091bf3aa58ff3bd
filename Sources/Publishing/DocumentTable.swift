package import PinWire
import Synchronization

/// The documents a node serves, by app: what the request path looks up.
package final class DocumentTable: Sendable {
    /// By the app's name, so that the text of a request target finds its document.
    private let documents = Mutex<[String: PublishedDocument]>([:])
    private let changes = Atomic<UInt64>(0)

    package init() {}

    /// The current document of an app.
    package subscript(_ app: AppID) -> PublishedDocument? { self[named: app.text] }

    /// The current document of the app of this name.
    package subscript(named name: String) -> PublishedDocument? { self.documents.withLock { $0[name] } }

    /// A number that grows with every change. A document looked up after the number was read is current for as long as
    /// the number stays.
    package var generation: UInt64 { self.changes.load(ordering: .acquiring) }

    /// Puts documents in place, each unless a newer one stands there.
    func put(_ new: [PublishedDocument]) {
        self.documents.withLock { documents in
            for document in new {
                if let old = documents[document.app.text], !document.supersedes(old) { continue }
                documents[document.app.text] = document
            }
            // Before the lock is given back: whoever sees the old number saw the old documents.
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// Puts a document in place whatever stands there.
    func replace(_ document: PublishedDocument) {
        self.documents.withLock { documents in
            documents[document.app.text] = document
            self.changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// All documents.
    package var all: [PublishedDocument] { self.documents.withLock { Array($0.values) } }

    /// How many apps have a document.
    package var count: Int { self.documents.withLock { $0.count } }
}

package import PinWire
import Synchronization

/// The documents a node serves, by app: what the request path looks up.
package final class DocumentTable: Sendable {
    private let documents = Mutex<[AppID: PublishedDocument]>([:])

    package init() {}

    /// The current document of an app.
    package subscript(_ app: AppID) -> PublishedDocument? { self.documents.withLock { $0[app] } }

    /// Puts documents in place, each unless a newer one stands there.
    func put(_ new: [PublishedDocument]) {
        self.documents.withLock { documents in
            for document in new {
                if let old = documents[document.app], !document.supersedes(old) { continue }
                documents[document.app] = document
            }
        }
    }

    /// Puts a document in place whatever stands there.
    func replace(_ document: PublishedDocument) {
        self.documents.withLock { $0[document.app] = document }
    }

    /// All documents.
    package var all: [PublishedDocument] { self.documents.withLock { Array($0.values) } }

    /// How many apps have a document.
    package var count: Int { self.documents.withLock { $0.count } }
}

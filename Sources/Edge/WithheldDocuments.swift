package import PinWire
package import Publishing
import Synchronization

/// Documents that an edge keeps and does not serve, because their key is not among the trusted ones at the moment.
///
/// A key that is missing from the file by mistake comes back, and with it what it has signed: until then nothing of that is lost, also
/// across a restart. It keeps the newest of each app and key.
package final class WithheldDocuments: Sendable {
    private struct Key: Hashable {
        var app: AppID
        var keyID: String
    }

    private let documents = Mutex<[Key: PublishedDocument]>([:])

    package init() {}

    /// All of them, unverified.
    package var all: [PublishedDocument] { self.documents.withLock { Array($0.values) } }

    package var count: Int { self.documents.withLock { $0.count } }

    package func keep(_ new: [PublishedDocument], at now: Timestamp) {
        self.documents.withLock { documents in
            for document in new {
                let key = Key(app: document.app, keyID: document.keyID)
                if let known = documents[key], !document.supersedes(known, at: now) { continue }
                documents[key] = document
            }
        }
    }

    /// Takes out those of keys that are trusted now.
    func release(_ ids: Set<String>) -> [PublishedDocument] {
        self.documents.withLock { documents in
            let released = documents.filter { ids.contains($0.key.keyID) }
            for key in released.keys { documents[key] = nil }
            return Array(released.values)
        }
    }
}

import NIOCore
import PinWire
import Publishing
import Synchronization

/// The documents of all apps for those who serve them on, edges: the list of them, and news of each.
///
/// A reader that is slow is told of an app once, with the document that is current by then, however often that has changed: what waits
/// for a reader is bounded by the number of apps.
final class DocumentFeed: Sendable {
    /// One reader of the news.
    final class Reader: Sendable {
        private let changed = Mutex<Set<String>>([])
        let wakeups: AsyncStream<Void>
        private let wakeup: AsyncStream<Void>.Continuation

        fileprivate init() {
            (self.wakeups, self.wakeup) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        fileprivate func tell(_ app: String) {
            let isFirst = self.changed.withLock { changed in
                defer { changed.insert(app) }
                return changed.isEmpty
            }
            if isFirst { self.wakeup.yield() }
        }

        /// The apps whose documents have changed since this was last asked.
        func take() -> Set<String> {
            self.changed.withLock { changed in
                defer { changed = [] }
                return changed
            }
        }
    }

    let table: DocumentTable
    private let readers = Mutex<[ObjectIdentifier: Reader]>([:])

    init(table: DocumentTable) {
        self.table = table
        table.observe { [weak self] app in
            guard let self else { return }
            for reader in self.readers.withLock({ Array($0.values) }) { reader.tell(app) }
        }
    }

    /// A reader, which misses nothing that is published from now on. It MUST ``close(_:)``.
    func open() -> Reader {
        let reader = Reader()
        self.readers.withLock { $0[ObjectIdentifier(reader)] = reader }
        return reader
    }

    func close(_ reader: Reader) { self.readers.withLock { $0[ObjectIdentifier(reader)] = nil } }

    /// The list of the documents that a caller may see, in the order of the apps' names.
    func list(_ sees: (AppID) -> Bool) -> JSON {
        let documents = self.table.current.documents.filter { sees($0.app) }.sorted { $0.app.text < $1.app.text }
        return ["documents": .array(documents.map { .object(Self.facts($0)) })]
    }

    private static func facts(_ document: PublishedDocument) -> [String: JSON] {
        [
            "app": .string(document.app.text), "version": .integer(document.version),
            "etag": .string(document.body.identity.tag),
        ]
    }

    /// What the stream says of an app's document, as one server-sent event; nil where it has none.
    ///
    /// A document that a stream of its app carries (``DocumentEvent/documentLimit``) is in it.
    func event(of app: String) -> (app: AppID, text: [UInt8])? {
        guard let document = self.table[named: app] else { return nil }
        var members = Self.facts(document)
        let body = document.body.identity.bytes
        if body.readableBytes <= DocumentEvent.documentLimit {
            // A compact JWS is ASCII.
            members["document"] = .string(String(decoding: body.readableBytesView, as: UTF8.self))
        }
        return (document.app, Array("event: document\ndata: ".utf8) + JSON.object(members).canonicalBytes + [10, 10])
    }
}

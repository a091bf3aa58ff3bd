import Addresses
import Concurrency
import NIOCore
import Publishing
import Signals
import Synchronization

/// What a stream of documents counts for besides the total.
enum StreamSharer: Hashable, Sendable {
    /// By its other end. HTTP/2 lets a client open many streams on one.
    case connection(SocketAddress)
    case network(ClientNetwork)
}

/// What carries new documents to the open streams of clients: it knows who waits for which app, and wakes them.
///
/// Nothing is queued anywhere: a woken stream takes the document that is current by then, so that a client gets the
/// newest, however many it was too slow for.
final class DocumentPush: Sendable {
    private let limiter: ConcurrencyLimiter<StreamSharer>
    /// The longest time between two signs of life of streams that the router answers, in milliseconds.
    let heartbeat: Int
    private let table: DocumentTable
    private let intake: AdoptionIntake?
    /// Where proxies are whose word on clients' addresses is taken.
    private let trustedProxies: TrustedProxies
    /// Events that are kept ready, of as many apps.
    private let events = Mutex(BoundedCache<String, DocumentEvent>(entries: 1000))
    private let listeners = Mutex<[@Sendable (String) -> Void]>([])
    private let waiting = Mutex<(next: Int, continuations: [String: [Int: AsyncStream<Void>.Continuation]])>((0, [:]))

    /// Streams that one connection may have: an app has one, and few have several.
    static let connectionLimit = 20

    /// - Parameters:
    ///   - limit: Streams at once.
    ///   - networkLimit: Streams at once of one network.
    ///   - intake: Where clients are counted; nil to count none.
    init(
        table: DocumentTable, limit: Int, networkLimit: Int = .max, heartbeat: Int = DocumentEvent.heartbeat,
        intake: AdoptionIntake? = nil, trustedProxies: TrustedProxies = TrustedProxies()
    ) {
        self.table = table
        self.intake = intake
        self.trustedProxies = trustedProxies
        self.limiter = ConcurrencyLimiter(limit: limit) { sharer in
            switch sharer {
            case .connection: Self.connectionLimit
            case .network: networkLimit
            }
        }
        self.heartbeat = heartbeat
        table.observe { [weak self] app in self?.tell(app) }
    }

    /// How many streams are open.
    var count: Int { self.limiter.count }

    /// A place for a stream; nil where all are taken, or all that the connection or its network may have.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection, address and port; nil where it has no more than one stream.
    ///   - network: Where the client is; nil where that is not limited.
    func slot(
        on peer: SocketAddress? = nil, in network: ClientNetwork? = nil
    ) -> ConcurrencyLimiter<StreamSharer>.Place? {
        self.limiter.take(
            for: [network.map(StreamSharer.network), peer.map(StreamSharer.connection)].compactMap(\.self))
    }

    /// The network that a stream counts for; nil for one of a trusted proxy that does not say for whom it asks.
    func network(of peer: SocketAddress?, forwardedFor: String?) -> ClientNetwork? {
        ClientNetwork(of: peer, forwardedFor: forwardedFor, trusted: self.trustedProxies.networks)
    }

    /// The app's current document; nil where there is none.
    func event(of app: String) -> DocumentEvent? {
        guard let document = self.table[named: app] else { return nil }
        if let known = self.events.withLock({ $0[app] }), known.body.isSame(as: document.body) { return known }
        let event = DocumentEvent(document)
        self.events.withLock { $0.keep(event, for: app) }
        return event
    }

    /// Counts a client whose stream begins, as if it had asked for the document, where it says which one it holds. Nothing is
    /// concluded where it does not: a client with its first stream has fetched the document before.
    ///
    /// - Parameters:
    ///   - event: The app's current document.
    ///   - last: The value of `Last-Event-ID`.
    ///   - report: The value of `Pinledger-Client`.
    func count(_ event: DocumentEvent, last: String?, report: String?) {
        guard let intake, let last else { return }
        intake.count(
            intake.sighting(
                at: intake.index(of: event.app), current: event.version, isCurrent: last == event.id,
                condition: "\"\(last)\"", report: report
            )
        )
    }

    /// Has `listener` called with the app's name after each new document, on whatever thread published it.
    func listen(_ listener: @escaping @Sendable (String) -> Void) { self.listeners.withLock { $0.append(listener) } }

    /// Wakes up after each new document of an app; several that come before it is asked for the next are one.
    func wakeups(of app: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = self.waiting.withLock { waiting in
            waiting.next += 1
            waiting.continuations[app, default: [:]][waiting.next] = continuation
            return waiting.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.waiting.withLock { waiting in
                waiting.continuations[app]?[number] = nil
                if waiting.continuations[app]?.isEmpty == true { waiting.continuations[app] = nil }
            }
        }
        return stream
    }

    private func tell(_ app: String) {
        for listener in self.listeners.withLock({ $0 }) { listener(app) }
        for continuation in self.waiting.withLock({ Array(($0.continuations[app] ?? [:]).values) }) {
            continuation.yield()
        }
    }
}

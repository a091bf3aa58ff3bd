import PinWire

/// The documents of other nodes that are still to be fetched, by what notifications say.
///
/// Any login of the database may notify, with any text and as often as it likes. So a notification only has a node look, and
/// all that come in between have it look once: at the apps that they name or, where those are many, at the table's list of changes. Beyond
/// some notifications a second their texts are not read any more, and the list of changes alone says what is new.
struct DocumentNews {
    /// The next look.
    enum Look: Hashable {
        case nothing
        case apps([AppID])
        /// The list of changes.
        case everything
    }

    private var apps: Set<AppID> = []
    private var isEverything = false
    /// How many notifications are read now, and until when.
    private var budget = Self.perSecond
    private var refill = ContinuousClock.now

    /// Has an element where there is something to look at.
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    /// The most notifications whose texts are read in a second.
    static let perSecond = 100
    /// The most apps that are fetched by their names; for more, the list of changes is read.
    static let appLimit = 200

    init() {
        (self.arrivals, self.arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes in a notification.
    mutating func note(_ payload: String, _ table: DocumentTable, at now: ContinuousClock.Instant = .now) {
        if self.refill <= now { (self.budget, self.refill) = (Self.perSecond, now + .seconds(1)) }
        guard self.budget > 0 else { return self.noteLook() }
        self.budget -= 1
        guard let news = DocumentStore.News.list(payload) else { return self.noteLook() }
        self.apps.formUnion(news.filter { $0.isNews(to: table) }.map(\.app))
        if self.apps.count > Self.appLimit { return self.noteLook() }
        if !self.apps.isEmpty { self.arrival.yield() }
    }

    /// Has the list of changes be read next.
    mutating func noteLook() {
        self.isEverything = true
        self.arrival.yield()
    }

    /// The look at everything that was noted.
    mutating func take() -> Look {
        defer { (self.apps, self.isEverything) = ([], false) }
        return self.isEverything ? .everything : self.apps.isEmpty ? .nothing : .apps(Array(self.apps))
    }
}

/// The life of a listening thread: connect, LISTEN, pass notifications on, and after a loss wait and start over.
final class ListenerLoop {
    private let configuration: PostgresConfiguration
    private let channels: [String]
    private let pollInterval: Duration
    private let stop: WakeUp
    private let yield: (PostgresListenerEvent) -> Void
    private var backoff: Backoff
    private var nextTick: ContinuousClock.Instant

    init(
        configuration: PostgresConfiguration,
        channels: [String],
        pollInterval: Duration,
        retryLimit: Duration,
        stop: WakeUp,
        yield: @escaping (PostgresListenerEvent) -> Void
    ) {
        self.configuration = configuration
        self.channels = channels
        self.pollInterval = pollInterval
        self.stop = stop
        self.backoff = Backoff(longest: retryLimit)
        self.yield = yield
        self.nextTick = ContinuousClock.now + pollInterval
    }

    /// Returns once `stop` is signalled.
    func run() {
        while !self.stop.isSignalled {
            let session = LibpqSession(configuration: self.configuration, stop: self.stop)
            var connected: ContinuousClock.Instant?
            do throws(PostgresError) {
                try session.open()
                for channel in self.channels {
                    _ = try session.query("LISTEN \(Self.quoted(channel))", [])
                }
                connected = .now
                self.yield(.connected)
                try self.listen(session)
            } catch {
                if self.stop.isSignalled { return }
                self.yield(.disconnected(error))
            }
            session.close()
            self.sleep(self.backoff.next(lived: connected?.duration(to: .now) ?? .zero))
        }
    }

    private func listen(_ session: LibpqSession) throws(PostgresError) {
        while !self.stop.isSignalled {
            for notification in session.takeNotifications() {
                self.yield(.notification(channel: notification.channel, payload: notification.payload))
            }
            try session.waitForNotifications(until: self.nextTick)
            self.tickIfDue()
        }
    }

    private func sleep(_ duration: Duration) {
        let end = ContinuousClock.now + duration
        while ContinuousClock.now < end {
            if self.stop.wait(for: ContinuousClock.now.duration(to: min(end, self.nextTick))) { return }
            self.tickIfDue()
        }
    }

    private func tickIfDue() {
        guard ContinuousClock.now >= self.nextTick else { return }
        self.nextTick = ContinuousClock.now + self.pollInterval
        self.yield(.tick)
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

/// Pauses between attempts: 10 ms after a loss, then 50 ms, doubling up to the longest, each shortened at random by up to a half
/// so that the nodes of a cluster do not come back all at once.
struct Backoff {
    private let longest: Duration
    private var current = Self.first

    private static let first = Duration.milliseconds(10)
    private static let shortest = Duration.milliseconds(50)
    /// Connections that lived for less count as failed attempts.
    private static let lifetime = Duration.milliseconds(100)

    init(longest: Duration = .seconds(5)) { self.longest = longest }

    /// - Parameter lived: How long the lost connection had been in place.
    mutating func next(lived: Duration = .zero) -> Duration {
        if lived >= Self.lifetime { self.current = Self.first }
        defer { self.current = min(max(self.current * 2, Self.shortest), self.longest) }
        return self.current * Double.random(in: 0.5...1)
    }
}

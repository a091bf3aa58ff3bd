import NIOCore
import Synchronization

/// The open streams of one event loop, by app. Used only on that loop, except for its ``LoopWakeup``.
final class LoopStreams {
    let push: DocumentPush
    private let wakeup: LoopWakeup
    private var streams: [String: ContiguousArray<ClientStream>] = [:]
    /// Apps of which some streams are still to get the new document, with their number.
    private var rest: [(app: String, count: Int)] = []
    private var isRunning = false

    /// The most streams that are written to before the loop handles anything else.
    private static let share = 100

    init(push: DocumentPush, wakeup: LoopWakeup) {
        self.push = push
        self.wakeup = wakeup
    }

    /// Adds a stream, which from then on misses no document that is published.
    func add(_ stream: ClientStream) {
        stream.place = self.streams[stream.app, default: []].count
        self.streams[stream.app, default: []].append(stream)
        self.wakeup.watch(stream.app)
    }

    func remove(_ stream: ClientStream) {
        guard let place = stream.place, let last = self.streams[stream.app]?.last else { return }
        stream.place = nil
        self.streams[stream.app]?[place] = last
        if last !== stream { last.place = place }
        self.streams[stream.app]?.removeLast()
        if self.streams[stream.app]?.isEmpty == true { self.streams[stream.app] = nil }
        self.wakeup.unwatch(stream.app)
    }

    /// Has the streams of the apps that have changed get their documents.
    func wake(on loop: any EventLoop) {
        for app in self.wakeup.take() {
            self.rest.removeAll { $0.app == app }
            if let count = self.streams[app]?.count { self.rest.append((app, count)) }
        }
        guard !self.isRunning else { return }
        self.run(on: loop)
    }

    /// Writes to some streams, and to the rest of them in the loop's next round.
    private func run(on loop: any EventLoop) {
        var left = Self.share
        while left > 0, let (app, count) = self.rest.first {
            guard count > 0, let event = self.push.event(of: app) else {
                self.rest.removeFirst()
                continue
            }
            // From the end: the place of one that closes meanwhile is taken by another that was handled already.
            let place = count - 1
            self.rest[0].count = place
            left -= 1
            if let streams = self.streams[app], place < streams.count { streams[place].send(event) }
        }
        self.isRunning = !self.rest.isEmpty
        if self.isRunning { loop.assumeIsolated().execute { self.run(on: loop) } }
    }
}

/// The messages of other threads to an event loop: the apps of its streams that have a new document.
final class LoopWakeup: Sendable {
    private struct State {
        /// Streams of each app.
        var watched: [String: Int] = [:]
        var changed: Set<String> = []
    }

    private let state = Mutex(State())

    func watch(_ app: String) { self.state.withLock { $0.watched[app, default: 0] += 1 } }

    func unwatch(_ app: String) {
        self.state.withLock { state in
            let count = state.watched[app, default: 0] - 1
            state.watched[app] = count > 0 ? count : nil
        }
    }

    /// Notes that an app has a new document; whether the loop has to be woken for it.
    func tell(_ app: String) -> Bool {
        self.state.withLock { state in
            guard state.watched[app] != nil else { return false }
            let isFirst = state.changed.isEmpty
            state.changed.insert(app)
            return isFirst
        }
    }

    /// The apps announced since this was last asked.
    func take() -> Set<String> {
        self.state.withLock { state in
            defer { state.changed = [] }
            return state.changed
        }
    }
}

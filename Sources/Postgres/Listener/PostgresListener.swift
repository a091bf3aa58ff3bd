import Concurrency

/// What a listener saw.
package enum PostgresListenerEvent: Sendable, Hashable {
    case notification(channel: String, payload: String)
    /// Time to look without a notification: notifications are a hint, not a promise.
    case tick
    /// LISTEN is in effect from here on. Earlier notifications may have been missed: look now.
    case connected
    /// The connection is gone or did not come about; the listener tries again by itself.
    case disconnected(PostgresError)
}

/// Receives a database's notifications, on a connection and a thread of its own for each stream of events.
///
/// A notification may be lost: between two connections, and when the reader falls behind (the oldest events are dropped
/// first). So a reader MUST treat each event, `tick` and `connected` too, as a reason to look for itself, from the
/// position it has reached. Behind a transaction pooler LISTEN does not work: the configuration must lead to the server
/// itself. A standby does not know LISTEN at all.
package final class PostgresListener: Sendable {
    private let configuration: PostgresConfiguration
    private let channels: [String]
    private let pollInterval: Duration
    private let bufferLimit: Int
    private let retryLimit: Duration

    /// - Parameters:
    ///   - channels: Names as in NOTIFY, case-sensitive.
    ///   - pollInterval: How often a `tick` comes, connected or not.
    ///   - bufferLimit: How many events may wait for the reader.
    ///   - retryLimit: The longest pause between attempts to connect. They come at growing intervals.
    package init(
        configuration: PostgresConfiguration,
        channels: [String],
        pollInterval: Duration = .seconds(1),
        bufferLimit: Int = 256,
        retryLimit: Duration = .seconds(5)
    ) {
        self.configuration = configuration
        self.channels = channels
        self.pollInterval = pollInterval
        self.bufferLimit = bufferLimit
        self.retryLimit = retryLimit
    }

    /// Starts listening; ends when the reading task is cancelled or drops the stream.
    ///
    /// - Parameter channel: The only one of the channels to listen to: a reader of one is not kept busy by notifications of another.
    package func events(on channel: String? = nil) -> AsyncStream<PostgresListenerEvent> {
        let channels = channel.map { [$0] } ?? self.channels
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresListenerEvent.self,
            bufferingPolicy: .bufferingNewest(self.bufferLimit)
        )
        do throws(PostgresError) {
            let stop = try WakeUp()
            continuation.onTermination = { _ in stop.signal() }
            try DetachedThread.startForConnection { [configuration, pollInterval, retryLimit] in
                let loop = ListenerLoop(
                    configuration: configuration,
                    channels: channels,
                    pollInterval: pollInterval,
                    retryLimit: retryLimit,
                    stop: stop
                ) { continuation.yield($0) }
                loop.run()
                continuation.finish()
            }
        } catch {
            continuation.yield(.disconnected(error))
            continuation.finish()
        }
        return stream
    }
}

/// What a listener saw.
package enum PostgresListenerEvent: Sendable, Hashable {
    case notification(channel: String, payload: String)
    /// Time to look by oneself: notifications are a hint, not a promise.
    case tick
    /// LISTEN is in effect from here on. What was notified before may have been missed: look now.
    case connected
    /// The connection is gone or did not come about; the listener tries again by itself.
    case disconnected(PostgresError)
}

/// Hears what a database's NOTIFY says, on a connection and a thread of its own for each stream of events.
///
/// A notification may be lost: between two connections, and when the reader falls behind (the oldest events go first).
/// So whoever reads MUST treat each event, `tick` and `connected` too, as a reason to look for himself, from the
/// position he has reached. Behind a transaction pooler LISTEN does not work: the configuration must lead to the server
/// itself.
package final class PostgresListener: Sendable {
    private let configuration: PostgresConfiguration
    private let channels: [String]
    private let pollInterval: Duration
    private let bufferLimit: Int

    /// - Parameters:
    ///   - channels: names as NOTIFY has them, case-sensitive.
    ///   - pollInterval: how often a `tick` comes, connected or not.
    ///   - bufferLimit: how many events may wait for the reader.
    package init(
        configuration: PostgresConfiguration,
        channels: [String],
        pollInterval: Duration = .seconds(1),
        bufferLimit: Int = 256
    ) {
        self.configuration = configuration
        self.channels = channels
        self.pollInterval = pollInterval
        self.bufferLimit = bufferLimit
    }

    /// Starts listening; ends when the reading task is cancelled or lets go of the stream.
    package func events() -> AsyncStream<PostgresListenerEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresListenerEvent.self,
            bufferingPolicy: .bufferingNewest(self.bufferLimit)
        )
        do throws(PostgresError) {
            let stop = try WakeUp()
            continuation.onTermination = { _ in stop.signal() }
            try DetachedThread.start { [configuration, channels, pollInterval] in
                let loop = ListenerLoop(
                    configuration: configuration,
                    channels: channels,
                    pollInterval: pollInterval,
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

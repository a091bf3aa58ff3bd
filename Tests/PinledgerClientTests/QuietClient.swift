import PinWire

@testable import PinledgerClient

extension PinledgerClient {
    /// A client whose failures are of no interest.
    init(
        _ configuration: ClientConfiguration, store: any ClientStore, transport: any DocumentTransport,
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now,
        random: @escaping @Sendable (Range<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.init(
            configuration, store: store, transport: transport, onFailure: { _ in }, clock: clock, random: random)
    }
}

package import PinWire

/// Whether the keys that servers present are among an arm's pins, as this service's own probes saw them, which no
/// report can forge.
package enum GroundTruth: String, Sendable, Hashable {
    /// Every seen key is pinned: failures are caused by interception, or by the client.
    case pinned
    /// No seen key is pinned, from as many places as there are, up to two, and recently: the pins are wrong.
    case unpinned
    /// Some are, and some are not.
    case split
    /// There are no probes, or none recently, or from too few places.
    case unknown

    /// How old an observation may be that speaks against the pins: an hour, some four rounds of probes. An observation for them
    /// counts for as long as it counts anywhere.
    package static let freshSeconds: Int64 = 3600
    /// The number of places in the network from which the same has to be seen.
    package static let places = 2

    /// - Parameter known: Places from which the host was ever seen within a week.
    init(_ live: [LiveKey], pins: Set<Pin>, known: Int, isComplete: Bool, at now: Timestamp) {
        let pinned = live.filter { !pins.isDisjoint(with: $0.pins) }
        guard !live.isEmpty else {
            self = .unknown
            return
        }
        guard pinned.isEmpty else {
            self = pinned.count == live.count ? .pinned : .split
            return
        }
        let fresh = live.filter { now < $0.lastSeen.adding(seconds: Self.freshSeconds) }
        let isEnough = Set(fresh.map(\.vantage)).count >= min(Self.places, max(1, known))
        self = isEnough && isComplete ? .unpinned : .unknown
    }
}

/// The chains of one address, seen from one place.
package struct LiveKey: Hashable, Sendable {
    package var endpoint: Endpoint
    package var address: String
    package var vantage: String
    package var lastSeen: Timestamp
    package var pins: [Pin]

    package init(endpoint: Endpoint, address: String, vantage: String, lastSeen: Timestamp, pins: [Pin]) {
        self.endpoint = endpoint
        self.address = address
        self.vantage = vantage
        self.lastSeen = lastSeen
        self.pins = pins
    }
}

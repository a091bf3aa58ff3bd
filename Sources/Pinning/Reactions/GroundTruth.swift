package import PinWire

/// Whether the keys that servers present are in an arm's pins, as probes of this service itself saw it: what no report
/// can forge.
package enum GroundTruth: String, Sendable, Hashable {
    /// Every key that was seen is pinned: what fails is intercepted, or a fault of the client.
    case pinned
    /// None of them is, from as many places as there are, up to two, and lately: the pins are wrong.
    case unpinned
    /// Some are, and some are not.
    case split
    /// Nobody looked, or not lately, or from too few places.
    case unknown

    /// How long ago a key may have been seen to speak against the pins: an hour, some four rounds of probes. What speaks
    /// for them counts for as long as it counts anywhere.
    package static let freshSeconds: Int64 = 3600
    /// Places in the network from which the same has to be seen.
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

/// What one address presents, seen from one place.
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

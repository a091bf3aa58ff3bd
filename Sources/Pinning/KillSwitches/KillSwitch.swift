package import PinWire

/// An operator's statement that pinning is off for a scope until it is released or expires.
package struct KillSwitch: Hashable, Sendable {
    package var engagedAt: Timestamp
    package var expiresAt: Timestamp

    /// The longest time a kill switch may stand before it has to be engaged again: 7 days.
    package static let longestSeconds: Int64 = 7 * 86_400

    package init(engagedAt: Timestamp, expiresAt: Timestamp) {
        self.engagedAt = engagedAt
        self.expiresAt = expiresAt
    }

    /// Whether it turns pinning off at `now`: not before it was engaged, which one is that a wrong clock has dated ahead.
    package func isInForce(at now: Timestamp) -> Bool { self.engagedAt.wholeSeconds <= now && now < self.expiresAt }

    /// When it ended, released at `time`: no later than by itself.
    func end(releasedAt time: Timestamp) -> Timestamp { min(time, self.expiresAt) }

    static func check(expiry: Timestamp, at now: Timestamp) throws(Refusal) {
        guard now < expiry else { throw .expiryNotAhead(expiry) }
        let limit = now.adding(seconds: self.longestSeconds)
        guard expiry <= limit else { throw .expiryTooFar(expiry, limit: limit) }
    }
}

/// The scope of a kill switch.
package enum KillSwitchScope: Hashable, Sendable, CustomStringConvertible {
    case everything
    case app(AppID)
    case host(AppID, HostPattern)
    case versions(AppID, VersionRange)

    package var description: String {
        switch self {
        case .everything: "everything"
        case .app(let app): "the app \(app)"
        case .host(let app, let host): "the host \(host) of \(app)"
        case .versions(let app, let versions): "the versions \(versions) of \(app)"
        }
    }
}

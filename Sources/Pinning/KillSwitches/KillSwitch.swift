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

    /// True while it turns pinning off: not before it was engaged, as clients read it. A clock that was ahead may have dated that later
    /// than the present.
    package func isInForce(at now: Timestamp) -> Bool { self.engagedAt.wholeSeconds <= now && !self.isOver(at: now) }

    /// True once its time is over, and it will never turn pinning off again.
    package func isOver(at now: Timestamp) -> Bool { self.expiresAt <= now }

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

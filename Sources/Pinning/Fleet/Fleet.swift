package import PinWire

/// The settings for every app: the state of the stream `fleet`.
package struct Fleet: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    package var killSwitch: KillSwitch?
    /// When the last one ended that was released; nil where none was.
    package var switchEndedAt: Timestamp?
    /// The issuer of documents: the `iss` of every one of them.
    package var issuer: String = "pinledger"
    /// Guard rails that only warn, for every app.
    package var loweredRails: Set<GuardRail> = []

    package init() {}

    package mutating func evolve(_ event: FleetEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .killSwitchEngaged(let expiresAt): self.killSwitch = KillSwitch(engagedAt: time, expiresAt: expiresAt)
        case .killSwitchReleased:
            if let ended = self.killSwitch?.end(releasedAt: time) { self.switchEndedAt = ended }
            self.killSwitch = nil
        case .issuerSet(let issuer): self.issuer = issuer
        case .guardRailSet(let rail, let isLowered):
            if isLowered { self.loweredRails.insert(rail) } else { self.loweredRails.remove(rail) }
        case .railsOverridden: break
        }
    }

    package func decide(_ command: FleetCommand, in context: DecisionContext) throws(Refusal) -> [FleetEvent] {
        switch command {
        case .engageKillSwitch(let expiresAt):
            try context.requireReason("it turns pinning off")
            try KillSwitch.check(expiry: expiresAt, at: context.now)
            return [.killSwitchEngaged(expiresAt: expiresAt)]
        case .releaseKillSwitch:
            guard self.killSwitch != nil else { throw .killSwitchNotEngaged(.everything) }
            return [.killSwitchReleased]
        case .setIssuer(let issuer): return issuer == self.issuer ? [] : [.issuerSet(issuer)]
        case .setGuardRail(let rail, let isLowered):
            guard rail.isAdjustable else { throw .guardRailFixed(rail) }
            guard self.loweredRails.contains(rail) != isLowered else { return [] }
            if isLowered { try context.requireReason("it lowers a guard rail for every app") }
            return [.guardRailSet(rail, isLowered: isLowered)]
        }
    }
}

/// A fact that holds for every app.
package enum FleetEvent: Hashable, Sendable {
    case killSwitchEngaged(expiresAt: Timestamp)
    case killSwitchReleased
    case issuerSet(String)
    case guardRailSet(GuardRail, isLowered: Bool)
    /// The findings that were overridden in the same change.
    case railsOverridden([OverriddenFinding])
}

/// A command for every app.
package enum FleetCommand: Hashable, Sendable {
    case engageKillSwitch(expiresAt: Timestamp)
    case releaseKillSwitch
    /// Printable ASCII, like everything in a document.
    case setIssuer(String)
    /// With `isLowered`, the rail only warns from now on.
    case setGuardRail(GuardRail, isLowered: Bool)
}

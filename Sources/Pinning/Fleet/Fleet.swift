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
    /// The epochs after the first, the oldest first; none where no event was ever lost.
    package private(set) var epochs: [Epoch] = []
    /// What losses have raised every document's version by.
    package private(set) var raisedBy: Int64 = 0
    /// What the programs have to know that share the ledger.
    package var featureLevel = FeatureLevel.first

    package init() {}

    /// A fleet with these epochs, from a snapshot.
    init(epochs: [Epoch], raisedBy: Int64) {
        self.epochs = epochs
        self.raisedBy = raisedBy
    }

    /// The number of the present epoch.
    package var epoch: Int64 { self.epochs.last?.number ?? 0 }

    /// The number of the epoch in which the event at a position was recorded.
    package func epoch(at position: Int64) -> Int64 {
        self.epochs.last { $0.firstPosition <= position }?.number ?? 0
    }

    /// Whether a history was ended by a recovery that knew how far it had gone: what remembers it gives way to the ledger.
    ///
    /// - Parameters:
    ///   - position: The number of its events.
    ///   - epoch: The number of its last epoch; nil where that is not known.
    package func hasEnded(historyOf position: Int64, in epoch: Int64?) -> Bool {
        self.epochs.contains { $0.number > (epoch ?? 0) && ($0.lostSize ?? -1) >= position }
    }

    /// Where a reader goes on that has seen the event of this number: behind it, or where what it has seen was lost, at the
    /// first event of the epoch that followed.
    package func position(after seen: EpochNumber) -> Int64 {
        let next = self.epochs.first { $0.number > seen.epoch }?.firstPosition
        return min(seen.number + 1, next ?? .max)
    }

    /// What every document's version has beyond the number of its app's events: the fleet's events, each of which can
    /// change every document, and the raises.
    package var versionOffset: Int64 { self.version + self.raisedBy }

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
        case .historyRestored(let restoration):
            // A number that does not grow, which `decide` never makes, would make two epochs one.
            if restoration.epoch > self.epoch {
                self.epochs.append(
                    Epoch(
                        number: restoration.epoch, firstPosition: restoration.keptSize, beganAt: time,
                        lostSize: restoration.lost?.size))
            }
            // The database adds up the same, and takes no event that goes beyond the limit.
            self.raisedBy = min(
                self.raisedBy.addingReportingOverflow(restoration.raisedBy).partialValue,
                HistoryRestoration.largestRaise)
        case .featureLevelRaised(let level): self.featureLevel = max(self.featureLevel, level)
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
        case .restoreHistory(let restoration):
            try context.requireReason("it begins a new epoch of the history")
            guard restoration.epoch > self.epoch else { throw .epochNotAhead(restoration.epoch, present: self.epoch) }
            let limit = HistoryRestoration.largestRaise - self.raisedBy
            guard restoration.raisedBy >= 1, restoration.raisedBy <= limit else {
                throw .raiseOutOfRange(restoration.raisedBy, limit: limit)
            }
            return [.historyRestored(restoration)]
        case .raiseFeatureLevel(let level):
            guard level <= context.knownLevel else { throw .featureLevelUnknown(level, known: context.knownLevel) }
            guard level >= self.featureLevel else { throw .featureLevelPassed(level, present: self.featureLevel) }
            return level == self.featureLevel ? [] : [.featureLevelRaised(level)]
        }
    }
}

/// A fact that holds for every app.
package enum FleetEvent: Hashable, Sendable {
    case killSwitchEngaged(expiresAt: Timestamp)
    case killSwitchReleased
    case issuerSet(String)
    case guardRailSet(GuardRail, isLowered: Bool)
    /// Events were lost, and the history goes on in a new epoch.
    case historyRestored(HistoryRestoration)
    /// The findings that were overridden in the same change.
    case railsOverridden([OverriddenFinding])
    /// What begins at this ``FeatureLevel`` may be recorded from now on.
    case featureLevelRaised(Int64)
}

/// A command for every app.
package enum FleetCommand: Hashable, Sendable {
    case engageKillSwitch(expiresAt: Timestamp)
    case releaseKillSwitch
    /// Printable ASCII, like everything in a document.
    case setIssuer(String)
    /// With `isLowered`, the rail only warns from now on.
    case setGuardRail(GuardRail, isLowered: Bool)
    /// Goes on after a loss. Only `pinledger recover` does this, at the database.
    case restoreHistory(HistoryRestoration)
    /// Irrevocable: programs that do not know the ``FeatureLevel`` pause.
    case raiseFeatureLevel(Int64)
}

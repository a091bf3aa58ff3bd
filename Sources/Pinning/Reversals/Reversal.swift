package import PinWire

/// The way back from a recorded change: the commands that give each part of the app that the change set the value that
/// it had before.
///
/// It compares three states of the app: before the change, after it, and now. A part that is now as the change left it
/// is put back; one that is already as it was before needs nothing; one that a later change set to something else is a
/// conflict. Parts that the change did not touch stay as they are. Times, versions and salts that follow from them are
/// not put back: they only grow.
package struct Reversal: Hashable, Sendable {
    /// A part that stays as the change left it, because no command puts it back.
    package struct Kept: Hashable, Sendable {
        package enum Cause: String, Hashable, Sendable {
            /// A revoked pin is never used again.
            case revoked
            /// The time until which it would hold has passed.
            case expired
            /// A plan is not resumed; set one.
            case planEnded = "plan_ended"
            /// A client's key is set, and not put back.
            case keyRemoved = "key_removed"
            /// A rotation is not resumed; start one.
            case rotationEnded = "rotation_ended"
        }

        package var part: ChangedPart
        package var cause: Cause

        package init(part: ChangedPart, cause: Cause) {
            self.part = part
            self.cause = cause
        }
    }

    /// Why a whole change cannot be put back.
    package enum Obstacle: Hashable, Sendable {
        /// It created the app, which stays.
        case createsApp
        /// It unarchived the app, which is archived again instead.
        case unarchives
        /// It belongs to a rotation, which is aborted instead.
        case rotation(String)
        /// It is a step of a rollout's plan, or pauses, resumes, rolls back or replaces it.
        case plan(HostPattern?)
        /// It set the key that signs a format: installs have its public half built in.
        case clientKey(ClientKind)
        /// The host had the pins that are built into the app, which no command gives back.
        case builtinBaseline(HostPattern)
        /// All that it set is kept.
        case nothingLeft(Kept)
        /// It changed no setting.
        case noSettings
    }

    /// In an order in which they can be decided.
    package internal(set) var commands: [AppCommand] = []
    package internal(set) var conflicts: [ChangedPart] = []
    package internal(set) var kept: [Kept] = []
    let now: Timestamp
    /// The pins that can never be used again.
    let revoked: Set<Pin>

    /// Finds the way back.
    ///
    /// - Parameters:
    ///   - present: The app now.
    ///   - now: The present time: kill switches and dates that have passed since are not set again.
    /// - Throws: ``Refusal/notRevertible(_:)`` for a change that cannot be put back as a whole.
    package init(of change: PastChange, in present: App, at now: Timestamp) throws(Refusal) {
        self.now = now
        self.revoked = present.revokedPins
        guard let before = change.before else { throw .notRevertible(.createsApp) }
        // An archiving ends plans and rotations too, and is put back without them.
        let isArchiving = change.events.contains(.appArchived)
        if !isArchiving, let obstacle = change.events.lazy.compactMap(\.obstacle).first {
            throw .notRevertible(obstacle)
        }
        guard !change.events.allSatisfy(\.isRemark) else { throw .notRevertible(.noSettings) }
        let after = change.after
        self.addSettings(before, after, present)
        self.addKillSwitches(before, after, present)
        self.addClients(before, after, present)
        if isArchiving { self.keepEnded(before) }
        let hosts = Set(before.hosts.keys).union(after.hosts.keys)
        for pattern in hosts.sorted() {
            try self.addHost(pattern, before.hosts[pattern], after.hosts[pattern], present.hosts[pattern])
        }
    }

    /// Puts a part back, where it is now as the change left it.
    mutating func put<Value: Equatable>(
        _ part: ChangedPart, _ before: Value, _ after: Value, _ present: Value, _ command: (Value) -> AppCommand
    ) {
        guard self.isToPut(part, before, after, present) else { return }
        self.commands.append(command(before))
    }

    /// Whether a part is to be put back. Notes a conflict.
    mutating func isToPut<Value: Equatable>(
        _ part: ChangedPart, _ before: Value, _ after: Value, _ present: Value
    ) -> Bool {
        guard before != after, present != before else { return false }
        guard present == after else {
            self.conflicts.append(part)
            return false
        }
        return true
    }

    /// Notes the app's plan and the rotations that an archiving ended.
    private mutating func keepEnded(_ before: App) {
        if before.plan?.isUnderWay == true { self.keep(.plan(nil), .planEnded) }
        for rotation in before.rotations where !rotation.phase.isOver {
            self.keep(.rotation(rotation.id), .rotationEnded)
        }
    }

    mutating func keep(_ part: ChangedPart, _ cause: Kept.Cause) { self.kept.append(Kept(part: part, cause: cause)) }

    private mutating func addSettings(_ before: App, _ after: App, _ present: App) {
        // First, because an archived app takes nothing else.
        self.put(.archive, before.archivedAt, after.archivedAt, present.archivedAt) { _ in .unarchive }
        self.put(.displayName, before.displayName, after.displayName, present.displayName) { .rename($0) }
        self.put(.versionGate, before.versionGate, after.versionGate, present.versionGate) { .setVersionGate($0) }
        self.putRollout(
            nil, Exposure(before.rollout, before.rolledBackAt), Exposure(after.rollout, after.rolledBackAt),
            Exposure(present.rollout, present.rolledBackAt)
        ) { .setRollout($0) }
        self.put(.fallback, before.fallback, after.fallback, present.fallback) { .setFallback($0) }
        self.put(.monitoring, before.monitoring, after.monitoring, present.monitoring) { .setMonitoring($0) }
        if let until = before.pinsValidUntil, until <= self.now, until != after.pinsValidUntil {
            self.keep(.pinsValidUntil, .expired)
        } else {
            self.put(.pinsValidUntil, before.pinsValidUntil, after.pinsValidUntil, present.pinsValidUntil) {
                .setPinsValidUntil($0)
            }
        }
        for rail in before.loweredRails.symmetricDifference(after.loweredRails).sorted() {
            let (was, became) = (before.loweredRails.contains(rail), after.loweredRails.contains(rail))
            self.put(.guardRail(rail), was, became, present.loweredRails.contains(rail)) {
                .setGuardRail(rail, isLowered: $0)
            }
        }
    }

    mutating func putRollout(
        _ pattern: HostPattern?, _ before: Exposure, _ after: Exposure, _ present: Exposure,
        _ set: (Rollout?) -> AppCommand
    ) {
        guard self.isToPut(.rollout(pattern), before, after, present) else { return }
        self.commands.append(set(before.rollout))
        if before.isRolledBack { self.commands.append(.rollout(pattern, .rollBack(.requested, detail: nil))) }
    }

    private mutating func addKillSwitches(_ before: App, _ after: App, _ present: App) {
        self.putKillSwitch(
            .killSwitch(nil), before.killSwitch, after.killSwitch, present.killSwitch,
            { .engageKillSwitch(nil, expiresAt: $0) },
            .releaseKillSwitch(nil))
        var ranges = before.versionKillSwitches.map(\.versions)
        ranges += after.versionKillSwitches.map(\.versions).filter { !ranges.contains($0) }
        for range in ranges {
            self.putKillSwitch(
                .versionKillSwitch(range), before.killSwitch(for: range), after.killSwitch(for: range),
                present.killSwitch(for: range), { .engageVersionKillSwitch(range, expiresAt: $0) },
                .releaseVersionKillSwitch(range))
        }
    }

    /// A kill switch is the same as long as it ends at the same time.
    mutating func putKillSwitch(
        _ part: ChangedPart, _ before: KillSwitch?, _ after: KillSwitch?, _ present: KillSwitch?,
        _ engage: (Timestamp) -> AppCommand, _ release: AppCommand
    ) {
        guard self.isToPut(part, before?.expiresAt, after?.expiresAt, present?.expiresAt) else { return }
        if let before, before.isInForce(at: self.now) {
            self.commands.append(engage(before.expiresAt))
        } else if present != nil {
            self.commands.append(release)
        } else {
            self.keep(part, .expired)
        }
    }

    private mutating func addClients(_ before: App, _ after: App, _ present: App) {
        for kind in Set(before.clients.keys).union(after.clients.keys).sorted() {
            let (was, became, now) = (before.clients[kind], after.clients[kind], present.clients[kind])
            // A key that was set later relies on the declaration.
            if was == nil, let became, let now, now.settings == became.settings, now.key != became.key {
                self.conflicts.append(.clientKey(kind))
                continue
            }
            self.put(.client(kind), was?.settings, became?.settings, now?.settings) { settings in
                settings.map { .setClient(kind, $0) } ?? .removeClient(kind)
            }
            if was?.key != nil, became == nil, now?.key == nil { self.keep(.clientKey(kind), .keyRemoved) }
        }
    }
}

/// What devices get of a candidate: a rollout, and whether it stands rolled back.
struct Exposure: Hashable {
    let rollout: Rollout?
    let isRolledBack: Bool

    init(_ rollout: Rollout?, _ rolledBackAt: Timestamp?) {
        self.rollout = rollout
        self.isRolledBack = rolledBackAt != nil
    }
}

extension AppEvent {
    /// Why a change with this event cannot be put back; nil where it can.
    fileprivate var obstacle: Reversal.Obstacle? {
        switch self {
        case .appCreated: .createsApp
        case .rotationStarted(let rotation): .rotation(rotation.id)
        case .rotationAdvanced(let id, _), .rotationAborted(let id): .rotation(id)
        case .rolloutPlanSet(let host, _), .rolloutPlanCleared(let host), .rolloutStepTaken(let host, _, _),
            .rolloutStepApproved(let host, _), .rolloutSampleReached(let host, _, _), .rolloutStepExtended(let host, _),
            .rolloutBakeStarted(let host), .rolloutPlanFinished(let host), .rolloutPaused(let host, _, _),
            .rolloutResumed(let host), .rolloutRolledBack(let host, _, _):
            .plan(host)
        case .clientKeySet(let kind, _): .clientKey(kind)
        case .appUnarchived: .unarchives
        case .appRenamed, .versionGateSet, .appRolloutSet, .fallbackSet, .monitoringSet, .pinsValidUntilSet,
            .appArchived,
            .hostAdded, .hostSubdomainsSet, .hostRemoved, .modeSet, .candidateStarted, .candidatePromoted,
            .candidateDropped, .hostRolloutSet, .pinStaged, .pinActivated, .pinRoleSet, .pinRetired, .pinRevoked,
            .killSwitchEngaged, .killSwitchReleased, .versionKillSwitchEngaged, .versionKillSwitchReleased,
            .endpointsSet, .keyDescribed, .guardRailSet, .guardRailsOverridden, .changeReverted, .telemetryReacted,
            .clientSet, .clientRemoved, .builtInPinsNoted:
            nil
        }
    }
}

extension AppEvent {
    /// Whether it records something beside the app's settings.
    fileprivate var isRemark: Bool {
        switch self {
        case .keyDescribed, .guardRailsOverridden, .telemetryReacted, .changeReverted, .builtInPinsNoted: true
        case .appCreated, .appRenamed, .versionGateSet, .appRolloutSet, .fallbackSet, .monitoringSet,
            .pinsValidUntilSet,
            .appArchived, .appUnarchived, .hostAdded, .hostSubdomainsSet, .hostRemoved, .modeSet, .candidateStarted,
            .candidatePromoted, .candidateDropped, .hostRolloutSet, .pinStaged, .pinActivated, .pinRoleSet, .pinRetired,
            .pinRevoked, .killSwitchEngaged, .killSwitchReleased, .versionKillSwitchEngaged,
            .versionKillSwitchReleased, .endpointsSet, .guardRailSet, .rotationStarted, .rotationAdvanced,
            .rotationAborted, .rolloutPlanSet, .rolloutPlanCleared, .rolloutStepTaken, .rolloutStepApproved,
            .rolloutSampleReached, .rolloutStepExtended, .rolloutBakeStarted, .rolloutPlanFinished, .rolloutPaused,
            .rolloutResumed, .rolloutRolledBack, .clientSet, .clientRemoved, .clientKeySet:
            false
        }
    }
}

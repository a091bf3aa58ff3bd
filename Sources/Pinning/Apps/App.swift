package import PinWire

/// One client population: the state of its stream.
package struct App: Hashable, Sendable {
    package let id: AppID
    package var displayName: String
    package let createdAt: Timestamp
    package var updatedAt: Timestamp
    /// Since when the app pins nothing and takes no change, for good or until it is unarchived; nil while it is in use.
    package var archivedAt: Timestamp?
    /// The number of events in the app's stream.
    package var version: Int64
    package var hosts: SortedMap<HostPattern, Host>
    package var rollout: Rollout?
    package var rolloutRevision: Int64
    /// The plan that the rollout follows, or the last one that it followed.
    package var plan: RolloutPlan?
    /// Since when the rollout stands rolled back; nil where it does not.
    package var rolledBackAt: Timestamp?
    package var versionGate: VersionGate?
    package var fallback: Fallback
    package var monitoring: Monitoring
    package var pinsValidUntil: Timestamp?
    package var killSwitch: KillSwitch?
    /// In the order in which they were first engaged.
    package var versionKillSwitches: [VersionKillSwitch]
    /// When the last kill switch of the app, or of versions of it, ended that was released; nil where none was.
    package var switchEndedAt: Timestamp?
    /// Every pin that was ever revoked in one of the app's policies, whatever became of the policy since.
    package var revokedPins: Set<Pin>
    /// The facts about keys whose certificates, requests or public halves were uploaded.
    package var keys: SortedMap<Pin, KeyKnowledge>
    /// In order of their start: all rotations under way, and the last of those that are over.
    package var rotations: [Rotation]
    /// The server's recent reactions to clients' reports, the oldest first.
    package var reactionsTaken: [Reaction.Taken]
    /// The kinds of client software that the app's installs use, besides this project's own.
    package var clients: [ClientKind: Client]
    /// Guard rails that only warn for this app.
    package var loweredRails: Set<GuardRail>
    /// When the last risky changes were made, at most ``riskyLimit``.
    package var riskyChanges: [Timestamp]
    /// The service's own warnings. They are in another stream; nothing of it is published.
    package var watch: Watch

    /// The most hosts of one app.
    package static let hostLimit = 1000
    /// The most bytes of an app's document before it is signed, by what is added to it: 1 MiB. A change that makes a
    /// document smaller is never refused for its size, and neither is a kill switch: a thousand of them fit above the
    /// limit.
    package static let documentLimit = 1 << 20
    /// The most pins of one policy, retired ones included.
    package static let pinLimit = 100
    /// The most keys of which an app remembers more than the pin; of further ones only the pin is kept.
    package static let keyLimit = 2000
    /// The most risky changes whose time is remembered.
    package static let riskyLimit = 8

    package init(id: AppID, displayName: String, createdAt: Timestamp) {
        self.id = id
        self.displayName = displayName
        self.createdAt = createdAt
        self.updatedAt = createdAt
        self.archivedAt = nil
        self.version = 0
        self.hosts = [:]
        self.rollout = nil
        self.rolloutRevision = 0
        self.plan = nil
        self.rolledBackAt = nil
        self.versionGate = nil
        self.fallback = Fallback()
        self.monitoring = Monitoring()
        self.pinsValidUntil = nil
        self.killSwitch = nil
        self.versionKillSwitches = []
        self.switchEndedAt = nil
        self.revokedPins = []
        self.keys = [:]
        self.rotations = []
        self.reactionsTaken = []
        self.clients = [:]
        self.loweredRails = []
        self.riskyChanges = []
        self.watch = Watch()
    }
}

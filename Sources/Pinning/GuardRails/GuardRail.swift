/// A named rule that keeps a change from locking clients out or opening them to an attacker.
///
/// The codes never change: a page explains each (`pinledger explain G07`), and they stand in findings and in the event
/// that records an override.
package enum GuardRail: String, CaseIterable, Sendable, Hashable, Comparable {
    case twoPins = "G01"
    case backupNotServed = "G02"
    case digestOfRightLength = "G03"
    case placeholder = "G04"
    case boundedLifetime = "G05"
    case outlivesItsPins = "G06"
    case stillServed = "G07"
    case lastLivePin = "G08"
    case liveChainUnmatched = "G09"
    case notDelivered = "G10"
    case oldKeyTooSoon = "G11"
    case rollbackPossible = "G12"
    case unprovenPin = "G13"
    case wildcard = "G14"
    case hostName = "G15"
    case wrongHash = "G16"
    case intermediateAlone = "G17"
    case rootAlone = "G18"
    case oneAuthority = "G19"
    case managedCertificate = "G20"
    case weakKey = "G21"
    case certificateUnfit = "G22"
    case expiryLadder = "G23"
    case vantagePoints = "G24"
    case oldClients = "G25"
    case tooManyRiskyChanges = "G26"
    case changeFreeze = "G27"
    case canary = "G28"
    case killSwitchAlone = "G29"
    case signedResponse = "G30"
    case signingKeyOverlap = "G31"
    case bootstrapLoop = "G32"
    case restoredBackup = "G33"
    case removalWhileInUse = "G34"
    case stalePlan = "G35"
    case massChange = "G36"
    case telemetryWeakens = "G37"
    case reproducibleBuckets = "G38"
    case unknownFields = "G39"
    case fingerprintPin = "G40"
    case backupIsPrimary = "G41"
    case armWithoutServedKey = "G42"
    case notSeenServed = "G43"

    /// The effect of breaking the rule.
    package enum Severity: String, CaseIterable, Sendable, Hashable, Comparable {
        /// A warning, which is not recorded.
        case warn
        /// Refused without force (`force`) and a reason; both are recorded.
        case override
        /// Refused in every case.
        case block

        package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
        private var rank: Int {
            switch self {
            case .warn: 0
            case .override: 1
            case .block: 2
            }
        }
    }

    package static func < (left: GuardRail, right: GuardRail) -> Bool { left.rawValue < right.rawValue }

    package var code: String { self.rawValue }

    /// The rule in a few words, its usual severity, and how it is held.
    package var entry: (title: String, severity: Severity, holding: Holding) {
        switch self {
        case .twoPins: ("Enforcing takes two pins", .block, .judged)
        case .backupNotServed: ("One pin is in reserve and not served", .override, .judged)
        case .digestOfRightLength: ("A pin is the SHA-256 of a key", .block, .parsed)
        case .placeholder: ("A pin is not an example from documentation", .block, .judged)
        case .boundedLifetime: ("Pins end within sixty days without contact", .block, .judged)
        case .outlivesItsPins: ("Pins are not enforced after their certificates expire", .override, .judged)
        case .stillServed: ("A pin that is served stays", .override, .judged)
        case .lastLivePin: ("The last pin that matches the server stays", .block, .judged)
        case .liveChainUnmatched: ("Published pins match the server", .block, .judged)
        case .notDelivered: ("Clients have a key before it is served", .override, .judged)
        case .oldKeyTooSoon: ("The old key stays until the new one has proved itself", .override, .judged)
        case .rollbackPossible: ("Rolling back is always possible", .block, .built)
        case .unprovenPin: ("A key is uploaded, not only its hash", .override, .judged)
        case .wildcard: ("Wildcards cover one name of one owner", .block, .parsed)
        case .hostName: ("A host has one spelling", .block, .parsed)
        case .wrongHash: ("The hash is that of a SubjectPublicKeyInfo", .block, .judged)
        case .intermediateAlone: ("An intermediate authority is not pinned alone", .override, .judged)
        case .rootAlone: ("A root authority is not pinned alone", .warn, .judged)
        case .oneAuthority: ("Keys depend on more than one authority", .warn, .judged)
        case .managedCertificate: ("Short-lived certificates reuse their key", .warn, .judged)
        case .weakKey: ("The key is strong", .block, .judged)
        case .certificateUnfit: ("The certificate fits its host and its time", .override, .judged)
        case .expiryLadder: ("Expiries are announced", .warn, .judged)
        case .vantagePoints: ("Two vantage points have probed", .warn, .judged)
        case .oldClients: ("Deployed clients support the change", .override, .judged)
        case .tooManyRiskyChanges: ("Risky changes are few", .override, .judged)
        case .changeFreeze: ("Risky changes happen on working days", .warn, .judged)
        case .canary: ("Risky changes reach few devices first", .override, .needsTelemetry)
        case .killSwitchAlone: ("A kill switch stands alone and ends soon", .override, .judged)
        case .signedResponse: ("Signed content names its purpose", .block, .built)
        case .signingKeyOverlap: ("Signing keys overlap", .override, .judged)
        case .bootstrapLoop: ("This service is not pinned by itself alone", .warn, .judged)
        case .restoredBackup: ("Versions never decrease, even after a restore", .block, .needsCheckpoints)
        case .removalWhileInUse: ("A host in use is not removed", .override, .judged)
        case .stalePlan: ("The recorded change is the one shown", .block, .judged)
        case .massChange: ("Mass changes are intended", .override, .judged)
        case .telemetryWeakens: ("Reports never weaken protection", .block, .judged)
        case .reproducibleBuckets: ("Percentages are reproducible", .block, .built)
        case .unknownFields: ("Unknown members are refused", .block, .parsed)
        case .fingerprintPin: ("A certificate's fingerprint is not a pin", .block, .parsed)
        case .backupIsPrimary: ("The backup is another key", .block, .judged)
        case .armWithoutServedKey: ("Both policies of a rollout hold the served key", .override, .judged)
        case .notSeenServed: ("A key counts as served when it is seen served", .override, .judged)
        }
    }

    /// How a rule is held.
    package enum Holding: String, Sendable, Hashable {
        /// By a check of each change.
        case judged
        /// Where input is read: a violation never becomes a command.
        case parsed
        /// By construction.
        case built
        /// By a check that has no data until clients report.
        case needsTelemetry = "needs_telemetry"
        /// By a check that has no data until checkpoints are kept outside the database.
        case needsCheckpoints = "needs_checkpoints"
    }

    /// Whether operators may lower it to a warning for an app or for everything: a rule that can be overridden once can
    /// be allowed permanently.
    package var isAdjustable: Bool { self.entry.severity == .override }
}

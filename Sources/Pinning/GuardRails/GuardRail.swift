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

    /// What is declared about a rule.
    package struct Declaration: Sendable {
        /// The rule in a few words.
        package let title: String
        /// The usual severity: a single finding may have another.
        package let severity: Severity
        package let holding: Holding
        /// The checks that judge it; empty where the rule holds by construction or where input is read, and for G35, which
        /// the writer compares.
        let checks: [RailChecks]

        fileprivate init(
            _ title: String, _ severity: Severity, _ holding: Holding = .judged, by checks: RailChecks...
        ) {
            self.title = title
            self.severity = severity
            self.holding = holding
            self.checks = checks
        }
    }

    /// How a rule is held.
    package enum Holding: String, Sendable, Hashable {
        /// By a check of each change; a plan that is out of date (G35) by the writer, before it decides.
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

    /// The rule's declaration; its code is the case's, its page the handbook's.
    package var entry: Declaration {
        switch self {
        case .twoPins: .init("Enforcing takes two pins", .block, by: .policy)
        case .backupNotServed: .init("One pin is in reserve and not served", .override, by: .policy, .live, .delivery)
        case .digestOfRightLength: .init("A pin is the SHA-256 of a key", .block, .parsed)
        case .placeholder: .init("A pin is not an example from documentation", .block, by: .commands, .policy)
        case .boundedLifetime: .init("Pins end within sixty days without contact", .block, by: .policy)
        case .outlivesItsPins:
            .init("Pins are not enforced after their certificates expire", .override, by: .certificates)
        case .stillServed: .init("A pin that is served stays", .override, by: .live)
        case .lastLivePin: .init("The last pin that matches the server stays", .block, by: .live)
        case .liveChainUnmatched: .init("Published pins match the server", .block, by: .live, .reach, .fleet)
        case .notDelivered: .init("Clients have a key before it is served", .override, by: .delivery)
        case .oldKeyTooSoon: .init("The old key stays until the new one has proved itself", .override, by: .delivery)
        case .rollbackPossible: .init("Rolling back is always possible", .block, .built)
        case .unprovenPin: .init("A key is uploaded, not only its hash", .override, by: .policy)
        case .wildcard: .init("Wildcards cover one name of one owner", .block, .parsed, by: .commands)
        case .hostName: .init("A host has one spelling", .block, .parsed, by: .change)
        case .wrongHash: .init("The hash is that of a SubjectPublicKeyInfo", .block, by: .certificates)
        case .intermediateAlone: .init("An intermediate authority is not pinned alone", .override, by: .authorities)
        case .rootAlone: .init("A root authority is not pinned alone", .warn, by: .authorities)
        case .oneAuthority: .init("Keys depend on more than one authority", .warn, by: .authorities)
        case .managedCertificate: .init("Short-lived certificates reuse their key", .warn, by: .certificates)
        case .weakKey: .init("The key is strong", .block, by: .certificates)
        case .certificateUnfit: .init("The certificate fits its host and its time", .override, by: .certificates)
        case .expiryLadder: .init("Expiries are announced", .warn, by: .certificates)
        case .vantagePoints: .init("Two vantage points have probed", .warn, by: .live)
        case .oldClients: .init("Deployed clients support the change", .override, by: .clients, .fleet)
        case .tooManyRiskyChanges: .init("Risky changes are few", .override, by: .change)
        case .changeFreeze: .init("Risky changes happen on working days", .warn, by: .change)
        case .canary: .init("Risky changes reach few devices first", .override, .needsTelemetry, by: .change)
        case .killSwitchAlone: .init("A kill switch stands alone and ends soon", .override, by: .change)
        case .signedResponse: .init("Signed content names its purpose", .block, .built)
        case .signingKeyOverlap: .init("Signing keys overlap", .override, by: .signingKeys)
        case .bootstrapLoop: .init("This service is not pinned by itself alone", .warn, by: .change)
        case .restoredBackup:
            .init("Versions never decrease, even after a restore", .block, .needsCheckpoints, by: .change)
        case .removalWhileInUse: .init("A host in use is not removed", .override, by: .delivery)
        case .stalePlan: .init("The recorded change is the one shown", .block)
        case .massChange: .init("Mass changes are intended", .override, by: .change)
        case .telemetryWeakens: .init("Reports never weaken protection", .block, by: .change)
        case .reproducibleBuckets: .init("Percentages are reproducible", .block, .built)
        case .unknownFields: .init("Unknown members are refused", .block, .parsed)
        case .fingerprintPin: .init("A certificate's fingerprint is not a pin", .block, .parsed)
        case .backupIsPrimary: .init("The backup is another key", .block, by: .commands, .policy)
        case .armWithoutServedKey:
            .init("Both policies of a rollout hold the served key", .override, by: .policy, .live)
        case .notSeenServed: .init("A key counts as served when it is seen served", .override, by: .delivery)
        }
    }

    /// Whether operators may lower it to a warning for an app or for everything: a rule that can be overridden once can
    /// be allowed permanently.
    package var isAdjustable: Bool { self.entry.severity == .override }
}

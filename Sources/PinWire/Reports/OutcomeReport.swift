/// A client's report of one TLS connection that it judged by its pins.
public struct OutcomeReport: Hashable, Sendable {
    /// The name that the client connected to, in lower case and without a trailing dot.
    public var host: String
    public var outcome: ConnectionOutcome
    /// The presented keys, the leaf's first.
    public var servedPins: [Pin]
    public var arm: PolicyArm?
    /// The version of the document that the client held; 0 for none.
    public var documentVersion: Int64
    public var release: AppRelease?
    public var platform: ClientPlatform?
    /// Nil where the client has no such id: only in the formats of other libraries.
    public var install: InstallID?
    /// The time by the client's clock, which is only a claim.
    public var time: Timestamp?
    /// The number of connections with this outcome.
    public var count: Int64
    /// The client's id of the report, so that one that is sent twice counts once.
    public var id: String?

    /// The most connections that one report may stand for.
    public static let largestCount: Int64 = 1_000_000
    /// The most presented keys of a report.
    public static let pinLimit = 10
    /// The most bytes of a report's id.
    public static let idLimit = 64

    public init(
        host: String, outcome: ConnectionOutcome, servedPins: [Pin] = [], arm: PolicyArm? = nil,
        documentVersion: Int64 = 0, release: AppRelease? = nil, platform: ClientPlatform? = nil,
        install: InstallID? = nil, time: Timestamp? = nil, count: Int64 = 1, id: String? = nil
    ) {
        self.host = host
        self.outcome = outcome
        self.servedPins = servedPins
        self.arm = arm
        self.documentVersion = documentVersion
        self.release = release
        self.platform = platform
        self.install = install
        self.time = time
        self.count = count
        self.id = id
    }
}

/// What became of a connection.
public enum ConnectionOutcome: Hashable, Sendable {
    /// It has matched the pins.
    case success
    /// The document's pins had ended, and it went on without. It says nothing of the server's keys, so no statistic counts it beside the
    /// others.
    case unpinned
    case failure(OutcomeReason)

    public var isFailure: Bool { if case .failure = self { true } else { false } }
}

/// Why a connection was not made, or would not have been if pins had been enforced. The names are stable; an unknown
/// name reads as ``other``.
public enum OutcomeReason: String, CaseIterable, Sendable, Hashable {
    /// No key of the validated chain is among the pins.
    case pinMismatch = "pin_mismatch"
    /// The same where the policy only reports: the connection went on.
    case reportOnlyMismatch = "report_only_mismatch"
    /// The system does not trust the chain.
    case chainInvalid = "chain_invalid"
    /// The certificate is for other names.
    case hostMismatch = "host_mismatch"
    /// The client's pins had expired, and it refuses to connect without.
    case expiredPins = "expired_pins"
    case other
}

/// Several reports, as one request carries them.
///
///     {"install": "…", "platform": "ios", "app_version": "3.1.2", "document_version": 12,
///      "outcomes": [{"host": "api.example.com", "outcome": "failure", "reason": "pin_mismatch", …}]}
///
/// Members beside `outcomes` apply to every outcome that does not have them itself. Unknown members are ignored,
/// whatever they hold: clients are in the field for years, and some are newer than the server. Known members must be
/// right: an outcome with a known member of a wrong type or an impossible value is refused alone; a text that is not
/// JSON is refused as a whole.
public struct ReportBatch: Hashable, Sendable {
    /// Why one outcome is refused.
    public enum Refusal: String, CaseIterable, Sendable, Hashable {
        /// A member has a wrong type or an impossible value, or stands there twice.
        case malformed
        /// `host`, `outcome` or `install` is missing.
        case incomplete
        /// The app has no such host.
        case hostUnknown = "host_unknown"
        /// The app has no such version yet.
        case versionUnknown = "version_unknown"
        /// There is no room for another host in this hour, even with all versions counted together.
        case noRoom = "no_room"
    }

    public var outcomes: [OutcomeReport]
    public var refusals: [Refusal: Int]
    /// What the members beside the outcomes say of the sender: its install and the version that it holds. Nil where one of them is
    /// missing.
    public var sender: ClientReport?

    /// Outcomes that one batch may have.
    public static let limit = 500

    public init(_ outcomes: [OutcomeReport] = [], refusals: [Refusal: Int] = [:], sender: ClientReport? = nil) {
        self.outcomes = outcomes
        self.refusals = refusals
        self.sender = sender
    }
}

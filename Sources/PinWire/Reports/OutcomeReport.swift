/// What became of one TLS connection that a client judged by its pins, as the client tells it.
public struct OutcomeReport: Hashable, Sendable {
    /// The name that the client connected to, in lower case and without a trailing dot.
    public var host: String
    public var outcome: ConnectionOutcome
    /// The keys that the client was shown, the leaf's first.
    public var servedPins: [Pin]
    public var arm: PolicyArm?
    /// Of the document that the client held; 0 for none.
    public var documentVersion: Int64
    public var release: AppRelease?
    public var platform: ClientPlatform?
    /// Nil where the client has no such id: only in the formats of other libraries.
    public var install: InstallID?
    /// By the client's clock, which is only a claim.
    public var time: Timestamp?
    /// How many connections with this outcome the report stands for.
    public var count: Int64
    /// What the client calls the report, so that one that is sent twice counts once.
    public var id: String?

    public static let largestCount: Int64 = 1_000_000
    public static let pinLimit = 10
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

/// Whether a connection came about.
public enum ConnectionOutcome: Hashable, Sendable {
    case success
    case failure(OutcomeReason)

    public var isFailure: Bool { self != .success }
}

/// Why a connection did not come about, or would not have if pins had been enforced. The names are stable; a name that is
/// not known reads as ``other``.
public enum OutcomeReason: String, CaseIterable, Sendable, Hashable {
    /// No key of the validated chain is among the pins.
    case pinMismatch = "pin_mismatch"
    /// The same where the policy only reports: the connection went on.
    case reportOnlyMismatch = "report_only_mismatch"
    /// The system does not trust the chain.
    case chainInvalid = "chain_invalid"
    /// The certificate is for other names.
    case hostMismatch = "host_mismatch"
    /// The client's pins had run out, and it refuses to connect without.
    case expiredPins = "expired_pins"
    case other
}

/// Several reports, as one request carries them.
///
///     {"install": "…", "platform": "ios", "app_version": "3.1.2", "document_version": 12,
///      "outcomes": [{"host": "api.example.com", "outcome": "failure", "reason": "pin_mismatch", …}]}
///
/// What stands beside `outcomes` holds for every outcome that does not say it itself. Members that are not known are
/// passed over, whatever they hold: clients are in the field for years, and some are newer than the server. What is
/// known must be right: an outcome with a known member of a wrong type or an impossible value is refused, alone; a text
/// that is not JSON is refused as a whole.
public struct ReportBatch: Hashable, Sendable {
    /// Why one outcome is not taken.
    public enum Refusal: String, CaseIterable, Sendable, Hashable {
        /// A member has a wrong type or an impossible value, or stands there twice.
        case malformed
        /// `host`, `outcome` or `install` is missing.
        case incomplete
        /// The app has no such host.
        case hostUnknown = "host_unknown"
        /// The app has no such version yet.
        case versionUnknown = "version_unknown"
        /// There is no room for another host in this hour, however few versions are told apart.
        case noRoom = "no_room"
    }

    public var outcomes: [OutcomeReport]
    public var refusals: [Refusal: Int]

    /// Outcomes that one batch may have.
    public static let limit = 500

    public init(_ outcomes: [OutcomeReport] = [], refusals: [Refusal: Int] = [:]) {
        self.outcomes = outcomes
        self.refusals = refusals
    }
}

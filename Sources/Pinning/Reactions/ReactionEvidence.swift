package import PinWire

/// All inputs of a verdict on one host, arm and version of the document, and nothing else: anyone who has it can
/// compute the same verdict (``ReactionVerdict/init(_:)``).
package struct ReactionEvidence: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    package var version: Int64
    /// When it was judged.
    package var judgedAt: Timestamp
    package var isAuthenticated: Bool
    /// Whether the app has a key in use that signs reports.
    package var expectsSignatures: Bool
    /// The share of failing installs above which the server reacts, in basis points.
    package var threshold: Int
    package var autoDisables: Bool

    // The reports.
    package var sample: Sample
    /// The outcomes since the sum of the change-point detector was last 0.
    package var excursion: Count
    /// The largest shares of failing installs by network, and how many networks there are.
    package var networks: [NetworkShare]
    package var networkCount: Int
    package var releases: [ReleaseShare]
    /// The reports of devices of the baseline with the same version of the document; for a candidate.
    package var baselineReports: Count?
    /// The share of devices that should be in the candidate's arm, in basis points; nil where it does not follow from the
    /// rollouts alone.
    package var expectedShare: Int?
    /// The approximate number of the app's installs; nil where it is unknown.
    package var fleet: Int?
    /// The approximate number of installs that reported in the hour with the most, where only a sample of them was
    /// counted.
    package var reporting: Int?

    // The ledger's facts.
    package var policy: Arm
    /// The policy that would replace the candidate's; nil where the arm is not the candidate.
    package var alternative: Arm?
    /// Whether the arm's pins are newer than the version, or the version newer than any existing one.
    package var isOlder: Bool
    package var isUnheardOf: Bool
    package var hasCandidate: Bool
    /// Whether the candidate reaches some devices, and whether it could reach more.
    package var isExposed: Bool
    package var isRamping: Bool
    package var isKilled: Bool
    /// The last time that the server did more than hold because of this host's reports.
    package var last: Done?
    /// The reports since an operator resumed a rollout that reports had held; nil where none did.
    package var review: Review?

    // The probes' facts.
    package var live: [LiveKey]
    package var knownVantages: Int
    package var isComplete: Bool

    package static let liveLimit = 24
    /// More installs than there are devices.
    package static let largestCount = 1 << 40

    /// A number of installs, and the number of failed ones.
    package struct Count: Hashable, Sendable {
        package var installs: Int
        package var failing: Int

        package init(installs: Int, failing: Int) {
            self.installs = installs
            self.failing = failing
        }
    }

    /// The detectors' input: outcomes of a span of time.
    package struct Window: Hashable, Sendable {
        package var sample: Count
        /// The outcomes since the sum of the change-point detector was last 0.
        package var excursion: Count
        /// The reports of devices of the baseline with the same version of the document; for a candidate.
        package var baseline: Count?
    }

    /// A resumption by an operator, and the reports since.
    package struct Review: Hashable, Sendable {
        package var at: Timestamp
        package var window: Window
    }

    /// All reports, in the detectors' form.
    var window: Window {
        Window(
            sample: Count(installs: self.sample.installs, failing: self.sample.failing), excursion: self.excursion,
            baseline: self.baselineReports)
    }

    /// The outcomes of an arm.
    package struct Sample: Hashable, Sendable {
        package var installs: Int
        package var failing: Int
        /// The most of each in one hour: within an hour no install counts twice, so that there are at least as many.
        package var distinctInstalls: Int
        package var distinctFailing: Int
        /// Hours with failures, and seconds from the first minute with one to the end of the last.
        package var windows: Int
        package var seconds: Int64
        package var firstMinute: Timestamp?
    }

    /// A policy of devices: no mode where the pins are built into the app.
    package struct Arm: Hashable, Sendable {
        package var mode: PinMode?
        package var pins: [Pin]

        /// Pins that are built into an app are meant to be enforced.
        var strength: Int { (self.mode ?? .enforce).strength }
    }

    /// A past reaction of the server.
    package struct Done: Hashable, Sendable {
        package var arm: PolicySlot?
        package var step: ReactionStep
        package var at: Timestamp

        package init(arm: PolicySlot?, step: ReactionStep, at: Timestamp) {
            self.arm = arm
            self.step = step
            self.at = at
        }
    }
}

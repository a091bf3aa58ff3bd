package import PinWire

/// All that a verdict on one host, arm and version of the document is made from, and nothing else: who has it can come to
/// the same verdict (``ReactionVerdict/init(_:)``).
package struct ReactionEvidence: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    package var version: Int64
    /// When it was judged.
    package var judgedAt: Timestamp
    package var isAuthenticated: Bool
    /// Whether the app has a key in use that reports are signed with.
    package var expectsSignatures: Bool
    /// The share of failing installs above which the server reacts, in basis points.
    package var threshold: Int
    package var autoDisables: Bool

    // What was reported.
    package var sample: Sample
    /// The outcomes since the sum of the change-point detector last was 0.
    package var excursion: Count
    /// The largest shares of failing installs by network, and how many networks there are.
    package var networks: [NetworkShare]
    package var networkCount: Int
    package var releases: [ReleaseShare]
    /// What devices of the baseline reported that hold the same version of the document; for a candidate.
    package var baselineReports: Count?
    /// The share of devices that should be in the candidate's arm, in basis points; nil where it does not follow from the
    /// rollouts alone.
    package var expectedShare: Int?
    /// About how many installs the app has; nil where nobody knows.
    package var fleet: Int?
    /// About how many installs reported in the hour with the most, where only a sample of them was counted.
    package var reporting: Int?

    // What stands in the ledger.
    package var policy: Arm
    /// What the candidate's devices get instead; nil where the arm is not the candidate.
    package var alternative: Arm?
    /// Whether the arm's pins are newer than the version, or the version newer than any that was made.
    package var isOlder: Bool
    package var isUnheardOf: Bool
    package var hasCandidate: Bool
    /// Whether the candidate reaches some devices, and whether it could reach more.
    package var isExposed: Bool
    package var isRamping: Bool
    package var isKilled: Bool
    /// The last time that the server did more than hold because of this host's reports.
    package var last: Done?
    /// What was reported since somebody went on although reports had held a rollout; nil where nobody did.
    package var review: Review?

    // What probes saw.
    package var live: [LiveKey]
    package var knownVantages: Int
    package var isComplete: Bool

    package static let liveLimit = 24
    /// More installs than there are devices.
    package static let largestCount = 1 << 40

    /// So many installs, and how many of them failed.
    package struct Count: Hashable, Sendable {
        package var installs: Int
        package var failing: Int

        package init(installs: Int, failing: Int) {
            self.installs = installs
            self.failing = failing
        }
    }

    /// What the detectors look at: outcomes of a span of time.
    package struct Window: Hashable, Sendable {
        package var sample: Count
        /// The outcomes since the sum of the change-point detector last was 0.
        package var excursion: Count
        /// What devices of the baseline reported that hold the same version of the document; for a candidate.
        package var baseline: Count?
    }

    /// That somebody went on, and what was reported since.
    package struct Review: Hashable, Sendable {
        package var at: Timestamp
        package var window: Window
    }

    /// All that was reported, as the detectors look at it.
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

    /// A policy that devices get: no mode where the pins are built into the app.
    package struct Arm: Hashable, Sendable {
        package var mode: PinMode?
        package var pins: [Pin]

        /// Pins that somebody built into an app are there to be enforced.
        var strength: Int { (self.mode ?? .enforce).strength }
    }

    /// Something that the server did.
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

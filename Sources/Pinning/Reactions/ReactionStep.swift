/// How far the server's reaction to clients' reports goes: the steps in order, the smallest first. Never an app, and
/// never everything. Each except the first raises an alert as well.
package enum ReactionStep: String, CaseIterable, Sendable, Hashable, Comparable {
    case none
    /// An alert, and nothing else.
    case page
    /// The candidate reaches no further devices.
    case hold
    /// The candidate's devices get the baseline again.
    case rollBack = "roll_back"
    /// The arm lets connections through and reports them.
    case reportOnly = "report_only"
    /// Pinning is off for the host, for ``Reaction/killSeconds``.
    case killSwitch = "kill_switch"

    package static func < (left: ReactionStep, right: ReactionStep) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Why a step was taken, or no greater one. Stable codes.
package enum ReactionReason: String, CaseIterable, Sendable, Hashable {
    // The detectors' results.
    case stageTest = "stage_test"
    case twoArmTest = "two_arm_test"
    case changePoint = "change_point"
    case sampleRatio = "sample_ratio"
    // The probes' results.
    case livePinned = "live_key_pinned"
    case liveUnpinned = "live_key_unpinned"
    case liveSplit = "live_key_split"
    case liveUnknown = "live_key_unknown"
    // The limits of the step.
    /// The reports are not signed.
    case advisory
    /// The same for an app that has a key to sign them with: nothing is held because of reports that others may have
    /// made.
    case signedExpected = "signed_expected"
    case tooFewInstalls = "too_few_installs"
    case tooFewFailures = "too_few_failures"
    case tooFewNetworks = "too_few_networks"
    case tooShort = "too_short"
    case oneNetwork = "one_network"
    case oneRelease = "one_release"
    case olderPins = "older_pins"
    case versionUnknown = "version_unknown"
    case armUnsaid = "arm_unsaid"
    case spent
    case cooldown
    case notEnforced = "not_enforced"
    case nothingToHold = "nothing_to_hold"
    case notExposed = "not_exposed"
    case baselineWeaker = "baseline_weaker"
    case baselineFailsToo = "baseline_fails_too"
    /// The candidate lets every connection through, and the baseline may not.
    case baselineStricter = "baseline_stricter"
    /// An operator resumed with this knowledge, and no later report adds to it.
    case reviewed
    case noAutoDisable = "no_auto_disable"
    /// Too small a part of the app's installs, or their number is unknown.
    case fewReport = "few_report"
    /// Only one place in the network has probed it.
    case onePlace = "one_place"
}

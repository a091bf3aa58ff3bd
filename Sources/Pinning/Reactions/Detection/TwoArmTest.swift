/// Detector D2: an exact test of whether the candidate's devices fail more often than those that keep the baseline.
///
/// Conditional on a failure, it comes from the candidate's arm with the probability that is the arm's share of
/// exposures, if there is no difference (Lindon & Malek, NeurIPS 2022). So the same e-process counts failures only,
/// with that share as its threshold and even weights. Failures that do not depend on the pins (captive portals,
/// inspecting proxies) affect both arms alike, and cancel.
///
/// The share is that of the installs that reported. Given both counts of installs, the failures of the candidate's arm
/// are hypergeometric if there is no difference, and the mean of a convex function of such a count is at most that of
/// the binomial count that the e-process assumes (Hoeffding, J. Am. Stat. Assoc. 1963, theorem 4): counting the
/// exposures instead of knowing them costs no false alarms.
package struct TwoArmTest: Hashable, Sendable {
    /// The candidate's share of exposures.
    package var share: Double
    /// The test fires falsely at most once in so many.
    package var oneIn: Int

    package init(share: Double, oneIn: Int = 1000) {
        self.share = share
        self.oneIn = oneIn
    }

    /// The test for so many installs that reported; nil while one of the arms has none.
    package init?(candidate: Int, baseline: Int, oneIn: Int = 1000) {
        guard candidate > 0, baseline > 0 else { return nil }
        self.init(share: Double(candidate) / (Double(candidate) + Double(baseline)), oneIn: oneIn)
    }

    private var process: EProcess { EProcess(threshold: self.share, a: 1, b: 1, oneIn: self.oneIn) }

    /// ln(1/α).
    package var limit: Double { self.process.limit }

    /// ln E, where so many of the candidate's installs failed, and so many of both arms.
    package func lnEvidence(candidateFailing: Int, allFailing: Int) -> Double {
        self.process.lnEvidence(failing: candidateFailing, of: allFailing)
    }

    package func fires(candidateFailing: Int, allFailing: Int) -> Bool {
        self.process.fires(failing: candidateFailing, of: allFailing)
    }
}

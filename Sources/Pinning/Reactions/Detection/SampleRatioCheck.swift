import Glibc

/// Whether as many installs report from the candidate's arm as belong there: Pearson's chi-square with one degree of
/// freedom, of the two counts against the expected share (Kohavi, Tang & Xu, "Trustworthy Online Controlled Experiments",
/// 2020, chapter 21).
///
/// Otherwise the counting is broken, or one arm cannot report, and shares of failures mean nothing.
package struct SampleRatioCheck: Hashable, Sendable {
    /// Installs that reported.
    package var candidate: Int
    package var baseline: Int
    /// The share of devices that should be in the candidate's arm.
    package var expected: Double

    /// The probability below which a mismatch does not count as accidental.
    package static let limit = 1e-4

    package init(candidate: Int, baseline: Int, expected: Double) {
        self.candidate = candidate
        self.baseline = baseline
        self.expected = expected
    }

    package var chiSquare: Double {
        let all = Double(self.candidate) + Double(self.baseline)
        guard all > 0 else { return 0 }
        let difference = Double(self.candidate) - all * self.expected
        guard difference != 0 else { return 0 }
        return difference * difference / (all * self.expected * (1 - self.expected))
    }

    /// The probability of a difference at least as large by accident.
    package var probability: Double { erfc((self.chiSquare / 2).squareRoot()) }

    /// Whether the counts contradict the share. False where fewer than five installs are expected in an arm.
    package var isMismatch: Bool {
        let all = Double(self.candidate) + Double(self.baseline)
        guard min(all * self.expected, all * (1 - self.expected)) >= 5 else { return false }
        return self.probability < Self.limit
    }
}

import Glibc

/// Detector D3: a cumulative sum that sees a share of failures rise from p₀ to p₁, however long all was well before.
///
/// Page (Biometrika 1954), for single outcomes Reynolds & Stoumbos (J. Quality Technology 1999):
///
///     S ← max(0, S + (failed ? ln(p₁/p₀) : ln((1−p₁)/(1−p₀)))),  and it fires at S ≥ h
///
/// A sum over a whole life, as the e-process is one, is drowned by a long good past; this one forgets it.
package struct BernoulliCUSUM: Hashable, Sendable {
    /// The share that needs no reaction, and the one that is to be detected soon: 0 < p₀ < p₁ < 1.
    package let accepted: Double
    package let suspected: Double
    /// h. Between two false alarms lie about eʰ installs and more, at a share of p₀; far more below it.
    package let limit: Double
    /// S.
    package private(set) var sum: Double = 0
    /// The outcomes since the sum was last 0, from which it is computed: k ln(p₁/p₀) + (n − k) ln((1−p₁)/(1−p₀)).
    package private(set) var installs = 0
    package private(set) var failing = 0

    /// The increment of a failure, and that of a success, which is below 0.
    package var failureStep: Double { log(self.suspected / self.accepted) }
    package var successStep: Double { log1p(-self.suspected) - log1p(-self.accepted) }

    package init(accepted: Double, suspected: Double, limit: Double) {
        self.accepted = accepted
        self.suspected = suspected
        self.limit = limit
    }

    /// Parameters that detect twice the threshold soon (above a third: the middle between it and 1), and give about one
    /// false alarm in `oneIn` installs or more at the threshold itself.
    package init(threshold: Double, oneIn: Int = 100_000) {
        self.init(
            accepted: threshold, suspected: min(2 * threshold, (1 + threshold) / 2), limit: log(Double(oneIn)))
    }

    package var fires: Bool { self.sum >= self.limit }

    package mutating func add(isFailure: Bool) { self.add(failing: isFailure ? 1 : 0, of: 1) }

    /// Takes in outcomes of unknown order, such as those of one minute.
    ///
    /// It assumes that the failures came first. No order leads to a smaller sum, so that where it fires, every order
    /// would have fired.
    package mutating func add(failing: Int, of installs: Int) {
        guard installs > 0, failing >= 0, failing <= installs else { return }
        self.installs += installs
        self.failing += failing
        self.sum = self.sum(failing: self.failing, of: self.installs)
        guard self.sum <= 0 else { return }
        (self.sum, self.installs, self.failing) = (0, 0, 0)
    }

    /// The sum over so many outcomes without a return to 0.
    package func sum(failing: Int, of installs: Int) -> Double {
        Double(failing) * self.failureStep + Double(installs - failing) * self.successStep
    }
}

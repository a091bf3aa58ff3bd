import Glibc

/// Detector D1: an exact test, valid at any time, of whether a share of installs fails that is larger than p₀.
///
/// The mixture sequential probability ratio test of Robbins (Ann. Math. Stat. 1970), one-sided: the likelihood of k
/// failures among n, averaged over shares above p₀ with the weights of a beta distribution, against that of p₀ itself:
///
///     ln E(k, n) = ln B(k+a, n−k+b) + ln Q(p₀; k+a, n−k+b) − ln B(a, b) − ln Q(p₀; a, b) − k ln p₀ − (n−k) ln(1−p₀)
///
/// For every true share up to p₀, E is a supermartingale that begins at 1, so that by Ville's inequality the probability
/// that it *ever* reaches N is at most 1/N, however often it is computed (Howard et al., Ann. Stat. 2021). For k/n far
/// below p₀ the tail Q is smaller than any `Double`; it stays a logarithm, and −∞ stays −∞: a clamped one made a third of all
/// runs false alarms.
package struct EProcess: Hashable, Sendable {
    /// The largest share that needs no reaction: p₀, between 0 and 1.
    package var threshold: Double
    /// The weights' beta distribution: the expected shares above the threshold.
    package var a: Double
    package var b: Double
    /// The test fires falsely at most once in so many: 1/α.
    package var oneIn: Int

    package init(threshold: Double, a: Double = 1, b: Double = 9, oneIn: Int = 1000) {
        self.threshold = threshold
        self.a = a
        self.b = b
        self.oneIn = oneIn
    }

    /// ln(1/α).
    package var limit: Double { log(Double(self.oneIn)) }

    /// ln E after k of n installs failed; −∞ where E is zero, never not-a-number.
    ///
    /// - Parameters:
    ///   - k: At least 0 and at most `n`; a value outside counts as the nearest bound.
    package func lnEvidence(failing k: Int, of n: Int) -> Double {
        let n = max(0, n)
        let k = min(max(0, k), n)
        guard n > 0 else { return 0 }
        // No share is above 1. And where no failure at all is allowed, one failure is conclusive.
        guard self.threshold < 1 else { return -.infinity }
        guard self.threshold > 0 else { return k > 0 ? .infinity : self.lnMixture(0, Double(n)) }
        let (failed, passed) = (Double(k), Double(n - k))
        return self.lnMixture(failed, passed) - failed * log(self.threshold) - passed * log1p(-self.threshold)
    }

    /// The logarithm of the averaged likelihood.
    private func lnMixture(_ failed: Double, _ passed: Double) -> Double {
        let p = self.threshold
        let tail = IncompleteBeta.lnUpper(p, failed + self.a, passed + self.b)
        guard tail > -.infinity else { return -.infinity }
        return lnBeta(failed + self.a, passed + self.b) + tail - lnBeta(self.a, self.b)
            - IncompleteBeta.lnUpper(p, self.a, self.b)
    }

    /// Whether the evidence is enough for the test to fire.
    package func fires(failing k: Int, of n: Int) -> Bool { self.lnEvidence(failing: k, of: n) >= self.limit }

    /// The fewest failures among n installs at which the test fires; nil where all of them would be too few.
    package func fewestFiring(of n: Int) -> Int? {
        guard n > 0, self.fires(failing: n, of: n) else { return nil }
        var (silent, firing) = (-1, n)
        while firing - silent > 1 {
            let middle = (silent + firing) / 2
            if self.fires(failing: middle, of: n) { firing = middle } else { silent = middle }
        }
        return firing
    }
}

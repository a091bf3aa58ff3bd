import Glibc

/// The probability of at least k failures among n installs that fail independently with probability p.
package enum BinomialTail {
    /// Its logarithm; 0 for k = 0, and −∞ for an impossible k.
    package static func ln(atLeast k: Int, of n: Int, p: Double) -> Double {
        guard k > 0 else { return 0 }
        guard k <= n, p > 0 else { return -.infinity }
        guard p < 1 else { return 0 }
        return IncompleteBeta.lnLower(p, Double(k), Double(n - k) + 1)
    }

    /// The probability itself; 0 where it is too small for a `Double`.
    package static func probability(atLeast k: Int, of n: Int, p: Double) -> Double {
        exp(self.ln(atLeast: k, of: n, p: p))
    }
}

import Glibc

/// The exact lower bound of a share by Clopper and Pearson (Biometrika 1934), one-sided.
package struct ClopperPearson: Hashable, Sendable {
    /// The probability of being wrong.
    package var alpha: Double

    package init(alpha: Double) { self.alpha = alpha }

    /// The share at which so many failures or more have the probability ``alpha``; 0 where nothing failed.
    ///
    /// Found by bisection of the share's logarithm, so that a share of one in a million has as many digits as any.
    package func lower(failing k: Int, of n: Int) -> Double {
        guard n > 0, k > 0 else { return 0 }
        guard k < n else { return exp(log(self.alpha) / Double(n)) }
        let wanted = log(self.alpha)
        var (low, high) = (-750.0, log(Double(k) / Double(n)))
        for _ in 0..<64 {
            let middle = (low + high) / 2
            if BinomialTail.ln(atLeast: k, of: n, p: exp(middle)) < wanted { low = middle } else { high = middle }
        }
        return exp(low)
    }
}

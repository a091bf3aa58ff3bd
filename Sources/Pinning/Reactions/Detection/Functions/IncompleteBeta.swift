import Glibc

/// The regularised incomplete beta function I_x(a, b), in logarithms throughout, for positive a and b.
///
/// It is the probability that a quantity with the beta distribution of a and b is at most x. The continued fraction
/// (NIST DLMF 8.17.22) is evaluated by the modified method of Lentz (Thompson & Barnett, J. Comput. Phys. 1986), on the
/// side of the mean where it converges in O(√max(a, b)) steps; the other side is one minus that. A tail that is too
/// small for a `Double` still has its logarithm, and an empty one has −∞: neither is ever replaced by a smallest
/// number, which would invent evidence.
package enum IncompleteBeta {
    /// ln I_x(a, b).
    package static func lnLower(_ x: Double, _ a: Double, _ b: Double) -> Double { self.ln(x, 1 - x, a, b) }

    /// ln Q(x; a, b), where Q = 1 − I_x(a, b).
    package static func lnUpper(_ x: Double, _ a: Double, _ b: Double) -> Double { self.ln(1 - x, x, b, a) }

    /// The same where the complement of x is known better than by subtraction.
    private static func ln(_ x: Double, _ complement: Double, _ a: Double, _ b: Double) -> Double {
        guard x > 0 else { return -.infinity }
        guard complement > 0 else { return 0 }
        guard x > (a + 1) / (a + b + 2) else { return self.lnTail(x, complement, a, b) }
        return log1p(-exp(min(0, self.lnTail(complement, x, b, a))))
    }

    /// ln I_x(a, b) where x is not above the mean, about.
    private static func lnTail(_ x: Double, _ complement: Double, _ a: Double, _ b: Double) -> Double {
        let lnX = x < 0.5 ? Glibc.log(x) : log1p(-complement)
        let lnComplement = complement < 0.5 ? Glibc.log(complement) : log1p(-x)
        return a * lnX + b * lnComplement - lnBeta(a, b) - Glibc.log(a) + Glibc.log(self.fraction(x, a, b))
    }

    /// Far more steps than any arguments up to 10⁹ need.
    private static let stepLimit = 200_000

    private static func fraction(_ x: Double, _ a: Double, _ b: Double) -> Double {
        // A tiny number, below every rounding error, keeps Lentz's method from dividing by zero.
        let nothing = 1e-300
        func kept(_ value: Double) -> Double { abs(value) < nothing ? nothing : value }
        var c = 1.0
        var d = 1 / kept(1 - (a + b) * x / (a + 1))
        var result = d
        for step in 1...self.stepLimit {
            let m = Double(step)
            let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            d = 1 / kept(1 + even * d)
            c = kept(1 + even / c)
            result *= d * c
            let odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d = 1 / kept(1 + odd * d)
            c = kept(1 + odd / c)
            result *= d * c
            if abs(d * c - 1) < 1e-15 { break }
        }
        return result
    }
}

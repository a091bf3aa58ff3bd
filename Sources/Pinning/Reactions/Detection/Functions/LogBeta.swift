import Glibc

/// The natural logarithm of Euler's beta function, B(a, b) = Γ(a) Γ(b) / Γ(a + b), for positive a and b.
///
/// Where an argument is at least 10 its logarithm of the gamma function is never formed: for a million observations it is
/// some ten millions, and the difference of such numbers has lost the digits that matter. Stirling's series is used
/// instead, of which the large terms cancel on paper.
func lnBeta(_ a: Double, _ b: Double) -> Double {
    let small = min(a, b)
    let large = max(a, b)
    let sum = small + large
    if large < 10 { return lgamma(small) + lgamma(large) - lgamma(sum) }
    // ln Γ(large) − ln Γ(sum), without the terms of `small` alone.
    let ratio = (large - 0.5) * -log1p(small / large) - small * log(sum) + small
    if small < 10 { return lgamma(small) + ratio + stirling(large) - stirling(sum) }
    return (small - 0.5) * log(small / sum) - large * log1p(small / large) - 0.5 * log(large)
        + 0.5 * log(2 * Double.pi) + stirling(small) + stirling(large) - stirling(sum)
}

/// The remainder of Stirling's formula (x − ½) ln x − x + ½ ln 2π for ln Γ(x), for x of at least 10: the first six
/// terms of its series, of which the next is below 10⁻¹⁵.
private func stirling(_ x: Double) -> Double {
    let square = 1 / (x * x)
    let terms: [Double] = [1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360_360]
    return terms.reversed().reduce(0) { $0 * square + $1 } / x
}

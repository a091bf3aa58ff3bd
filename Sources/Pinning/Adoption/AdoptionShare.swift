/// Which share of an app's clients holds a version of its document or a newer one, as far as that is known.
///
/// It covers *sightings*: a client that was not seen in the window, or only through a cache, is in no figure here. The
/// bounds are those of a two-sided interval of 95 %:
///
/// - By installs: among the ``InstallComparison/reached`` registers of the sketch of all installs,
///   ``InstallComparison/behind`` have their highest rank from an install that was never seen with the version.
///   Wilson's interval of that proportion is turned into one of the share (``InstallComparison/share(whenBehind:)``).
///   That holds both the sketch's own error, 1.04/√m of a count for m registers, and the sampling of few installs; and
///   near 1, where it matters, it is far narrower than the quotient of two counts would be.
/// - By requests and reports: Wilson's interval of the proportion of those that came from holders. Those that say nothing
///   of a version count as non-holders in the lower bound and as holders in the upper one. Busy clients count for more,
///   and repeated requests are no fresh evidence, so that the truth may lie outside more often than once in twenty.
///
/// Where installs are known only for a part of the sightings, the lower bound is the lower and the upper the higher of
/// both.
package struct AdoptionShare: Hashable, Sendable {
    package enum Basis: String, Sendable {
        /// Distinct installs.
        case installs
        /// Requests and reports.
        case requests
        /// There are no sightings that say anything.
        case unknown
    }

    package let basis: Basis
    /// Nil where nothing is known.
    package let basisPoints: Int?
    /// 0 where nothing is known.
    package let lowerBasisPoints: Int
    /// 10000 where nothing is known.
    package let upperBasisPoints: Int
    /// The number of installs, or of requests and reports, behind the share.
    package let sample: Int64

    package static let unknown = AdoptionShare(
        basis: .unknown, basisPoints: nil, lowerBasisPoints: 0, upperBasisPoints: 10_000, sample: 0)

    private init(
        basis: Basis, basisPoints: Int?, lowerBasisPoints: Int, upperBasisPoints: Int, sample: Int64
    ) {
        self.basis = basis
        self.basisPoints = basisPoints
        self.lowerBasisPoints = lowerBasisPoints
        self.upperBasisPoints = upperBasisPoints
        self.sample = sample
    }

    /// A share between two bounds, of which the lower is also the estimate.
    package init(basis: Basis, low: Int, high: Int, sample: Int64) {
        self.init(
            basis: basis, basisPoints: basis == .unknown ? nil : low, lowerBasisPoints: low, upperBasisPoints: high,
            sample: sample
        )
    }

    /// The share by installs.
    init(_ comparison: InstallComparison) {
        let behind = Proportion(comparison.behind, of: comparison.reached)
        self.init(
            .installs, comparison.share(whenBehind: behind.estimate), from: comparison.share(whenBehind: behind.upper),
            to: comparison.share(whenBehind: behind.lower), sample: Int64(comparison.installs.rounded())
        )
    }

    /// The share by requests and reports.
    ///
    /// - Parameter unclear: How many of `all`, none of which is among the holders, state no version.
    init(holders: Int64, unclear: Int64, of all: Int64) {
        self.init(
            .requests, Proportion(holders, of: all - unclear).estimate, from: Proportion(holders, of: all).lower,
            to: Proportion(holders + unclear, of: all).upper, sample: all
        )
    }

    private init(_ basis: Basis, _ share: Double, from lower: Double, to upper: Double, sample: Int64) {
        self.init(
            basis: basis, basisPoints: Int((share * 10_000).rounded()),
            lowerBasisPoints: Int((min(lower, share) * 10_000).rounded(.down)),
            upperBasisPoints: Int((max(upper, share) * 10_000).rounded(.up)), sample: sample
        )
    }

    /// The same with bounds that hold those of another share.
    func widened(to other: AdoptionShare) -> AdoptionShare {
        AdoptionShare(
            basis: self.basis, basisPoints: self.basisPoints,
            lowerBasisPoints: min(self.lowerBasisPoints, other.lowerBasisPoints),
            upperBasisPoints: max(self.upperBasisPoints, other.upperBasisPoints), sample: self.sample
        )
    }
}

/// A proportion with Wilson's interval of 95 % (Wilson 1927).
struct Proportion: Hashable, Sendable {
    let estimate: Double
    let lower: Double
    let upper: Double

    /// Without any, every share is possible.
    init(_ count: some BinaryInteger, of all: some BinaryInteger) {
        guard all > 0 else {
            (self.estimate, self.lower, self.upper) = (0, 0, 1)
            return
        }
        let n = Double(all)
        let p = Double(count) / n
        let z = 1.959_964
        let centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        let half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        self.estimate = p
        self.lower = count == 0 ? 0 : max(0, centre - half)
        self.upper = count == all ? 1 : min(1, centre + half)
    }
}

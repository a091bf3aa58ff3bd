/// The lower bound of a share by Wilson (JASA 1927), one-sided: for dashboards, and for windows of a fixed length.
///
/// Do not use it after every report: each use is one more chance to be wrong, and at the threshold itself half of all
/// runs are (95 %, from 20 installs on).
package struct WilsonBound: Hashable, Sendable {
    /// The quantile of the normal distribution: 1.6448536 is wrong once in 20 looks, 3.2905267 once in 2000.
    package var z: Double

    package init(z: Double) { self.z = z }

    /// One that is wrong once in 2000 looks.
    package static let strict = WilsonBound(z: 3.290_526_7)

    /// The least share that so many failures are compatible with; 0 where nothing was seen.
    package func lower(failing k: Int, of n: Int) -> Double {
        guard n > 0, k > 0 else { return 0 }
        let count = Double(n)
        let share = Double(min(k, n)) / count
        let square = self.z * self.z
        let half = self.z * (share * (1 - share) / count + square / (4 * count * count)).squareRoot()
        return max(0, (share + square / (2 * count) - half) / (1 + square / count))
    }
}

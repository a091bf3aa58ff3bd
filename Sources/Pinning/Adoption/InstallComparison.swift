import Glibc

/// How the installs that hold a version or a newer one compare with all installs of the app, register by register.
package struct InstallComparison: Hashable, Sendable {
    /// The approximate number of all installs.
    package let installs: Double
    /// Registers that any install has set.
    package let reached: Int
    /// The registers among these whose highest rank no holder has.
    package let behind: Int

    /// - Parameter holders: The sketch of a part of the installs of `all`.
    package init(of holders: InstallSketch, in all: InstallSketch) {
        self.installs = all.estimate
        self.reached = all.reached
        self.behind = zip(holders.registers, all.registers).count { $0 < $1 }
    }

    /// The share of holders at which this part of the reached registers is expected to be behind.
    ///
    /// With λ installs for each register, a register's rank is at most k with probability exp(−λ·2⁻ᵏ). One is behind
    /// where the others' rank is higher than the holders', and the probability of that falls with the share of holders
    /// from 1 to 0; found by bisection.
    func share(whenBehind part: Double) -> Double {
        guard part > 0 else { return 1 }
        guard part < 1 else { return 0 }
        var (low, high) = (0.0, 1.0)
        for _ in 0..<17 {
            let middle = (low + high) / 2
            if self.partBehind(at: middle) > part { low = middle } else { high = middle }
        }
        return (low + high) / 2
    }

    /// The part of the reached registers that is expected to be behind where this share holds the version.
    func partBehind(at share: Double) -> Double {
        let density = self.installs / Double(InstallSketch.size)
        guard density > 0 else { return 0 }
        let (holders, others) = (density * share, density * (1 - share))
        var behind = 0.0
        var before = 0.0
        for rank in 0...(64 - InstallSketch.precision) {
            let scale = 1 / Double(UInt64(1) << UInt64(rank))
            let atMost = exp(-holders * scale)
            behind += (atMost - before) * -expm1(-others * scale)
            before = atMost
        }
        return behind / -expm1(-density)
    }
}

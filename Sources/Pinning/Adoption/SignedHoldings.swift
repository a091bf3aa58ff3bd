/// The versions held by the installs that signed their reports, which gates use.
package struct SignedHoldings: Hashable, Sendable {
    /// Those that hold a version or a newer one, beside all of them.
    package struct Holding: Hashable, Sendable {
        package var held: HeldVersion
        package var comparison: InstallComparison
    }

    /// The newest first.
    package let holdings: [Holding]

    /// - Parameter sketches: Sketches of installs that were seen with a version, all hashed with the same salt.
    package init(_ sketches: [HeldVersion: InstallSketch] = [:]) {
        let all = sketches.values.reduce(into: InstallSketch()) { $0.formUnion($1) }
        var holders = InstallSketch()
        self.holdings = sketches.keys.sorted(by: >).compactMap { held in
            guard let sketch = sketches[held] else { return nil }
            holders.formUnion(sketch)
            return Holding(held: held, comparison: InstallComparison(of: holders, in: all))
        }
    }

    /// The approximate number of installs with signed reports; nil where there are none.
    package var installs: Int64? { self.holdings.first.map { Int64($0.comparison.installs.rounded()) } }

    /// The share of them that holds the version or a newer one.
    package func share(holdingAtLeast version: Int64) -> AdoptionShare {
        guard let all = self.holdings.first?.comparison, all.reached > 0 else { return .unknown }
        // The holding just above the version stands for it: no client was seen in between.
        let holders = self.holdings.last { $0.held.number >= version }?.comparison
        return AdoptionShare(holders ?? all.withoutHolders)
    }
}

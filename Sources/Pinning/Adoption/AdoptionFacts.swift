package import PinWire

/// The facts about the versions that an app's clients hold, at a time and over a window before it: the small form.
///
/// Clients' statements serve people (``share(holdingAtLeast:)``) and warnings (``claims``); rules use ``signed``.
package struct AdoptionFacts: Hashable, Sendable {
    /// The clients that hold a version.
    package struct Holding: Hashable, Sendable {
        package var held: HeldVersion
        package var count: AdoptionCount
        /// The approximate number of distinct installs that stated it, at any time in the window.
        package var installs: Int64
        /// Those that hold it or a newer one, among all; nil where no install is known.
        package var comparison: InstallComparison?

        package init(
            held: HeldVersion, count: AdoptionCount, installs: Int64 = 0, comparison: InstallComparison? = nil
        ) {
            self.held = held
            self.count = count
            self.installs = installs
            self.comparison = comparison
        }
    }

    package let measuredAt: Timestamp
    /// How far back it goes.
    package let windowSeconds: Int64
    /// The newest first, then unknown and impossible ones.
    package let holdings: [Holding]
    /// The signed reports' part.
    package let signed: SignedHoldings

    package init(
        measuredAt: Timestamp, windowSeconds: Int64, holdings: [Holding], signed: SignedHoldings = SignedHoldings()
    ) {
        self.measuredAt = measuredAt
        self.windowSeconds = windowSeconds
        self.holdings = holdings.sorted { $0.held > $1.held }
        self.signed = signed
    }

    /// All sightings.
    package var total: AdoptionCount { self.holdings.reduce(into: AdoptionCount()) { $0 += $1.count } }

    /// The approximate number of distinct installs; nil where none stated an id.
    package var installs: Int64? {
        self.holdings.lazy.compactMap(\.comparison).first.map { Int64($0.installs.rounded()) }
    }

    /// The share that states the version or a newer one. Anyone can state it: no rule uses it.
    ///
    /// Because versions only grow on a client, an install that was ever seen with one holds it or a newer one. It
    /// counts installs where at least half of the sightings came with an id.
    package func share(holdingAtLeast version: Int64) -> AdoptionShare {
        let total = self.total
        guard total.sightings > 0 else { return .unknown }
        let byCount = self.shareByCount(version, of: total)
        guard total.identified * 2 >= total.sightings, let byInstalls = self.shareByInstalls(version) else {
            return byCount ?? .unknown
        }
        // Clients without an id may well be those that have not been updated for long.
        return total.identified * 20 >= total.sightings * 19
            ? byInstalls : byCount.map(byInstalls.widened) ?? byInstalls
    }

    private func shareByInstalls(_ version: Int64) -> AdoptionShare? {
        guard let all = self.holdings.lazy.compactMap(\.comparison).first else { return nil }
        // The holding just above the version stands for it: no client was seen in between.
        let holders = self.holdings.last { $0.held.number >= version && $0.comparison != nil }?.comparison
        return AdoptionShare(holders ?? all.withoutHolders)
    }

    private func shareByCount(_ version: Int64, of total: AdoptionCount) -> AdoptionShare? {
        // Requests that all come without a document say nothing of what clients keep: caches ask so, and clients that
        // keep nothing.
        let countsRequests = self.holdings.contains { $0.held != .nothing && $0.count.requests > 0 }
        func count(_ isCounted: (Holding) -> Bool) -> Int64 {
            self.holdings.lazy.filter(isCounted).reduce(0) {
                $0 + (countsRequests ? $1.count.sightings : $1.count.reports)
            }
        }
        let all = count { _ in true }
        guard all > 0 else { return nil }
        let unclear = count { $0.held == .unknown || $0.held.isAhead }
        guard unclear < all else { return nil }
        return AdoptionShare(
            holders: count { $0.held.number >= max(0, version) }, unclear: unclear, of: all)
    }

    /// The limits of these figures.
    package var gaps: [AdoptionGap] { AdoptionGap.all(of: self) }
}

extension InstallComparison {
    /// The same without any holder.
    var withoutHolders: InstallComparison {
        InstallComparison(installs: self.installs, reached: self.reached, behind: self.reached)
    }

    private init(installs: Double, reached: Int, behind: Int) {
        self.installs = installs
        self.reached = reached
        self.behind = behind
    }
}

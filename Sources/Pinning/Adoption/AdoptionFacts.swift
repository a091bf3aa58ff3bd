package import PinWire

/// What is known of the versions that an app's clients hold, at a time and over a window before it: the small form.
///
/// What clients say of themselves is for people (``share(holdingAtLeast:)``) and for warnings (``claims``); rules go by
/// ``signed``.
package struct AdoptionFacts: Hashable, Sendable {
    /// Who holds a version.
    package struct Holding: Hashable, Sendable {
        package var held: HeldVersion
        package var count: AdoptionCount
        /// About how many distinct installs said that they hold it, at whatever time in the window.
        package var installs: Int64
        /// Those that hold it or a newer one, beside all; nil where no install is known.
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
    /// The newest first, then what is unknown and what cannot be.
    package let holdings: [Holding]
    /// What signed reports tell.
    package let signed: SignedHoldings

    package init(
        measuredAt: Timestamp, windowSeconds: Int64, holdings: [Holding], signed: SignedHoldings = SignedHoldings()
    ) {
        self.measuredAt = measuredAt
        self.windowSeconds = windowSeconds
        self.holdings = holdings.sorted { $0.held > $1.held }
        self.signed = signed
    }

    /// Everything that was seen.
    package var total: AdoptionCount { self.holdings.reduce(into: AdoptionCount()) { $0 += $1.count } }

    /// About how many distinct installs were seen; nil where none said who it is.
    package var installs: Int64? {
        self.holdings.lazy.compactMap(\.comparison).first.map { Int64($0.installs.rounded()) }
    }

    /// Which share says that it holds the version or a newer one. Anybody can say so: no rule goes by it.
    ///
    /// Because versions only grow on a client, an install that was ever seen with one holds it or a newer one. By
    /// installs where at least half of what was seen came with an id.
    package func share(holdingAtLeast version: Int64) -> AdoptionShare {
        let total = self.total
        guard total.sightings > 0 else { return .unknown }
        let byCount = self.shareByCount(version, of: total)
        guard total.identified * 2 >= total.sightings, let byInstalls = self.shareByInstalls(version) else {
            return byCount ?? .unknown
        }
        // Who sends no id may well be who has not been updated for long.
        return total.identified * 20 >= total.sightings * 19
            ? byInstalls : byCount.map(byInstalls.widened) ?? byInstalls
    }

    private func shareByInstalls(_ version: Int64) -> AdoptionShare? {
        guard let all = self.holdings.lazy.compactMap(\.comparison).first else { return nil }
        // The holding just above the version stands for it: in between, nobody was seen.
        let holders = self.holdings.last { $0.held.number >= version && $0.comparison != nil }?.comparison
        return AdoptionShare(holders ?? all.withoutHolders)
    }

    private func shareByCount(_ version: Int64, of total: AdoptionCount) -> AdoptionShare? {
        // Requests that all come with nothing in hand say nothing of what clients keep: caches ask so, and clients that
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

    /// What the figures do not say.
    package var gaps: [AdoptionGap] { AdoptionGap.all(of: self) }
}

extension InstallComparison {
    /// The same where nobody is a holder.
    var withoutHolders: InstallComparison {
        InstallComparison(installs: self.installs, reached: self.reached, behind: self.reached)
    }

    private init(installs: Double, reached: Int, behind: Int) {
        self.installs = installs
        self.reached = reached
        self.behind = behind
    }
}

package import PinWire

/// Who is out there, as far as it decides what a device gets: kinds of devices and how many there are of each.
package struct Population: Hashable, Sendable {
    /// Where it is known from.
    package enum Source: String, Sendable, CaseIterable {
        /// What clients say of themselves when they fetch.
        case known
        /// Whoever asked has described it.
        case given
        /// Nothing is known: devices of which no version, platform and country is known.
        case assumed
    }

    /// Devices that are alike but for their ids.
    package struct Cohort: Hashable, Sendable {
        package var appVersion: String?
        package var build: Int64?
        package var platform: ClientPlatform?
        package var country: String?
        /// How many there are, in whatever unit: only shares count.
        package var weight: Int64

        package init(
            appVersion: String? = nil, build: Int64? = nil, platform: ClientPlatform? = nil, country: String? = nil,
            weight: Int64
        ) {
            self.appVersion = appVersion
            self.build = build
            self.platform = platform
            self.country = country
            self.weight = weight
        }
    }

    /// What gates and rollouts go by, besides ids.
    package enum Trait: String, Sendable, CaseIterable {
        case appVersion = "app_version"
        case build
        case country
    }

    package var source: Source
    package var cohorts: [Cohort]

    /// Cohorts one population may have.
    package static let cohortLimit = 1000
    /// What one cohort may weigh, so that the sum of all is a number.
    package static let weightLimit: Int64 = 1_000_000_000_000

    package init(source: Source, cohorts: [Cohort]) {
        self.source = source
        self.cohorts = cohorts
    }

    package static let assumed = Population(source: .assumed, cohorts: [Cohort(weight: 1)])

    /// What is known of no device: it is decided on all of them as on devices that do not tell.
    package var blindSpots: [Trait] {
        Trait.allCases.filter { trait in
            self.cohorts.allSatisfy { cohort in
                switch trait {
                case .appVersion: cohort.appVersion == nil
                case .build: cohort.build == nil
                case .country: cohort.country == nil
                }
            }
        }
    }

    /// How many of `sample` devices each cohort has: by largest remainder, so that they are `sample` in all.
    package func sizes(of sample: Int) -> [Int] {
        let total = self.cohorts.reduce(Int64(0)) { $0 + $1.weight }
        guard total > 0 else { return self.cohorts.map { _ in 0 } }
        let exact = self.cohorts.map { Double($0.weight) / Double(total) * Double(sample) }
        var sizes = exact.map { Int($0.rounded(.down)) }
        let order = exact.indices.sorted {
            (exact[$1] - exact[$1].rounded(.down), $0) < (exact[$0] - exact[$0].rounded(.down), $1)
        }
        for place in order.prefix(max(0, sample - sizes.reduce(0, +))) { sizes[place] += 1 }
        return sizes
    }
}

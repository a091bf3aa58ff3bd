package import PinWire

/// A population, as far as it decides what devices get: kinds of devices and the number of each.
package struct Population: Hashable, Sendable {
    /// The source of a population.
    package enum Source: String, Sendable, CaseIterable {
        /// Clients' statements when they fetch.
        case known
        /// The caller's description.
        case given
        /// Unknown: devices without a known version, platform or country.
        case assumed
    }

    /// Devices that are alike but for their ids.
    package struct Cohort: Hashable, Sendable {
        package var appVersion: String?
        package var build: Int64?
        package var platform: ClientPlatform?
        package var country: String?
        /// The number, in any unit: only shares count.
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

    /// The inputs of gates and rollouts, besides ids.
    package enum Trait: String, Sendable, CaseIterable {
        case appVersion = "app_version"
        case build
        case country
    }

    package var source: Source
    package var cohorts: [Cohort]

    /// The most cohorts of one population.
    package static let cohortLimit = 1000
    /// The largest weight of one cohort, so that the sum of all is a number.
    package static let weightLimit: Int64 = 1_000_000_000_000

    package init(source: Source, cohorts: [Cohort]) {
        self.source = source
        self.cohorts = cohorts
    }

    package static let assumed = Population(source: .assumed, cohorts: [Cohort(weight: 1)])

    /// Attributes that no device has: it is evaluated as devices that do not state them.
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

    /// The number of `sample` devices of each cohort: by largest remainder, so that there are `sample` in all.
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

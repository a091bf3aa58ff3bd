package import PinWire

/// The effect of a change, computed on a sample: each device of it is evaluated before and after.
///
/// The sample's ids are invented, the same in every run, and spread over the buckets as real ones are; they match no id
/// on whitelists and exclusion lists.
package struct Simulation: Sendable {
    /// A device's result for a host.
    package struct Lot: Hashable, Sendable {
        package var outcome: DeviceDecision.Outcome
        /// The one of the two policies that it is; nil where it is neither.
        package var arm: PolicyArm?
        package var pins: [Pin]
    }

    /// Devices with one result before and another, or the same, afterwards.
    package struct Move: Hashable, Sendable {
        package var from: Lot
        package var to: Lot
        package var devices: Int

        package var isMove: Bool { self.from != self.to }
    }

    /// The number of devices of a kind, and how many of them get another result for at least one host.
    package struct Share: Hashable, Sendable {
        package var devices: Int
        package var moved: Int

        package init(devices: Int = 0, moved: Int = 0) {
            self.devices = devices
            self.moved = moved
        }
    }

    /// The effect on the devices that connect to one host.
    package struct HostMoves: Hashable, Sendable {
        package var host: String
        /// The most frequent first.
        package var moves: [Move]
    }

    /// The result of a simulation.
    package struct Result: Hashable, Sendable {
        package var sample = Share()
        /// How many devices judge some connection to at least one host differently.
        package var judgingDifferently = 0
        /// In the order of the request.
        package var hosts: [HostMoves] = []
        package var appVersions: [String?: Share] = [:]
        package var platforms: [ClientPlatform?: Share] = [:]
        /// The devices that may judge connections to the hosts differently, and of which the sample has none.
        package var unsampled: [Unsampled] = []
    }

    private let before: Evaluator
    private let after: Evaluator
    private let hosts: [String]
    private let time: Timestamp

    /// The most devices of one sample, and the most decisions of one simulation.
    package static let sampleLimit = 100_000
    package static let decisionLimit = 2_000_000

    /// - Parameters:
    ///   - hosts: The names that devices connect to.
    ///   - time: The instant at which they do.
    package init(from before: Document, to after: Document, hosts: [String], at time: Timestamp) {
        self.before = Evaluator(before)
        self.after = Evaluator(after)
        self.hosts = hosts
        self.time = time
    }

    /// Evaluates `sample` devices of a population. Takes about two microseconds for each device and host.
    package func run(on population: Population, sample: Int) -> Result {
        var result = Result()
        var tallies = [[Kinds: Tally]](repeating: [:], count: self.hosts.count)
        var number = 0
        for (cohort, size) in zip(population.cohorts, population.sizes(of: sample)) {
            for _ in 0..<size {
                let device = Self.device(number, of: cohort)
                number += 1
                var (hasMoved, judgesDifferently) = (false, false)
                for (place, host) in self.hosts.enumerated() {
                    let before = self.before.decide(host, for: device, at: self.time)
                    let after = self.after.decide(host, for: device, at: self.time)
                    let kinds = Kinds(from: Kind(before), to: Kind(after))
                    var tally = tallies[place][kinds] ?? Tally(from: Lot(before), to: Lot(after))
                    tally.devices += 1
                    tallies[place][kinds] = tally
                    if tally.isMove { hasMoved = true }
                    if tally.judgesDifferently { judgesDifferently = true }
                }
                result.sample.add(hasMoved)
                if judgesDifferently { result.judgingDifferently += 1 }
                result.appVersions[cohort.appVersion, default: Share()].add(hasMoved)
                result.platforms[cohort.platform, default: Share()].add(hasMoved)
            }
        }
        result.hosts = zip(self.hosts, tallies).map { host, tallies in
            let all = tallies.values.map { Move(from: $0.from, to: $0.to, devices: $0.devices) }
            return HostMoves(host: host, moves: all.sorted { ($1.devices, $0.order) < ($0.devices, $1.order) })
        }
        let unsampled = self.unsampled(result.hosts, blindSpots: population.blindSpots)
        result.unsampled = Unsampled.allCases.filter(unsampled.contains)
        return result
    }

    private func unsampled(_ hosts: [HostMoves], blindSpots: [Population.Trait]) -> Set<Unsampled> {
        let (before, after) = (self.before.document, self.after.document)
        let (old, new) = (HostIndex(before), HostIndex(after))
        var unsampled: Set<Unsampled> = []
        for host in hosts {
            let now = SampledName(host.host, after, new, at: self.time)
            unsampled.formUnion(
                SampledName(host.host, before, old, at: self.time)
                    .unsampled(to: now, host.moves, blindSpots: blindSpots))
        }
        return unsampled
    }

    /// The key that identifies the results of one host and one document: the pins follow from it.
    private struct Kind: Hashable {
        var outcome: DeviceDecision.Outcome
        var arm: PolicyArm?

        init(_ decision: DeviceDecision) {
            self.outcome = decision.outcome
            self.arm = decision.arm
        }
    }

    private struct Kinds: Hashable {
        var from: Kind
        var to: Kind
    }

    /// The devices of one host with the same result before and the same afterwards.
    private struct Tally {
        let from: Lot
        let to: Lot
        let isMove: Bool
        let judgesDifferently: Bool
        var devices = 0

        init(from: Lot, to: Lot) {
            self.from = from
            self.to = to
            self.isMove = from != to
            self.judgesDifferently = !Move(from: from, to: to, devices: 0).judgementChanges.isEmpty
        }
    }

    private static func device(_ number: Int, of cohort: Population.Cohort) -> Device {
        var ids: [Rollout.Seed: String] = [:]
        for seed in Rollout.Seed.allCases { ids[seed] = "simulated-\(seed.rawValue)-\(number)" }
        return Device(ids: ids, appVersion: cohort.appVersion, build: cohort.build, country: cohort.country)
    }
}

extension Simulation.Lot {
    fileprivate init(_ decision: DeviceDecision) {
        self.init(outcome: decision.outcome, arm: decision.arm, pins: decision.pins.map(\.pin).sorted())
    }

    fileprivate var order: String {
        "\(self.outcome.rawValue) \(self.arm?.rawValue ?? "") \(self.pins.map(\.base64).joined())"
    }
}

extension Simulation.Move {
    /// Orders equally frequent elements, the same in every run.
    fileprivate var order: String { "\(self.from.order) \(self.to.order)" }
}

extension Simulation.Share {
    fileprivate mutating func add(_ hasMoved: Bool) {
        self.devices += 1
        if hasMoved { self.moved += 1 }
    }
}

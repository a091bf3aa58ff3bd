package import PinWire

/// What a change moves, found out on a sample: each device of it is decided on before and after.
///
/// The sample's ids are made up, the same in every run, and spread over the buckets as real ones are; ids on whitelists
/// and exclusion lists are nobody's here.
package struct Simulation: Sendable {
    /// What a device gets for a host.
    package struct Lot: Hashable, Sendable {
        package var outcome: DeviceDecision.Outcome
        /// Of the two policies, the one that it is; nil where it is neither.
        package var arm: PolicyArm?
        package var pins: [Pin]
    }

    /// Devices that get one thing before and another, or the same, afterwards.
    package struct Move: Hashable, Sendable {
        package var from: Lot
        package var to: Lot
        package var devices: Int

        package var isMove: Bool { self.from != self.to }
    }

    /// How many devices there are of a kind, and how many of them get something else for at least one host.
    package struct Share: Hashable, Sendable {
        package var devices: Int
        package var moved: Int

        package init(devices: Int = 0, moved: Int = 0) {
            self.devices = devices
            self.moved = moved
        }
    }

    /// What becomes of the devices that connect to one host.
    package struct HostMoves: Hashable, Sendable {
        package var host: String
        /// The most frequent first.
        package var moves: [Move]
    }

    /// What comes of it.
    package struct Result: Hashable, Sendable {
        package var sample = Share()
        /// In the order asked for.
        package var hosts: [HostMoves] = []
        package var appVersions: [String?: Share] = [:]
        package var platforms: [ClientPlatform?: Share] = [:]
    }

    private let before: Evaluator
    private let after: Evaluator
    private let hosts: [String]
    private let time: Timestamp

    /// Devices of one sample, and decisions that one simulation may take.
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

    /// Decides on `sample` devices of a population. Takes about two microseconds for each device and host.
    package func run(on population: Population, sample: Int) -> Result {
        var result = Result()
        var tallies = [[Kinds: Tally]](repeating: [:], count: self.hosts.count)
        var number = 0
        for (cohort, size) in zip(population.cohorts, population.sizes(of: sample)) {
            for _ in 0..<size {
                let device = Self.device(number, of: cohort)
                number += 1
                var hasMoved = false
                for (place, host) in self.hosts.enumerated() {
                    let before = self.before.decide(host, for: device, at: self.time)
                    let after = self.after.decide(host, for: device, at: self.time)
                    let kinds = Kinds(from: Kind(before), to: Kind(after))
                    var tally = tallies[place][kinds] ?? Tally(from: Lot(before), to: Lot(after))
                    tally.devices += 1
                    tallies[place][kinds] = tally
                    if tally.isMove { hasMoved = true }
                }
                result.sample.add(hasMoved)
                result.appVersions[cohort.appVersion, default: Share()].add(hasMoved)
                result.platforms[cohort.platform, default: Share()].add(hasMoved)
            }
        }
        result.hosts = zip(self.hosts, tallies).map { host, tallies in
            let all = tallies.values.map { Move(from: $0.from, to: $0.to, devices: $0.devices) }
            return HostMoves(host: host, moves: all.sorted { ($1.devices, $0.order) < ($0.devices, $1.order) })
        }
        return result
    }

    /// What tells the lots of one host and one document apart: the pins follow from it.
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

    /// The devices of one host that get the same before and the same afterwards.
    private struct Tally {
        let from: Lot
        let to: Lot
        let isMove: Bool
        var devices = 0

        init(from: Lot, to: Lot) {
            self.from = from
            self.to = to
            self.isMove = from != to
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
    /// Orders what is equally frequent, the same in every run.
    fileprivate var order: String { "\(self.from.order) \(self.to.order)" }
}

extension Simulation.Share {
    fileprivate mutating func add(_ hasMoved: Bool) {
        self.devices += 1
        if hasMoved { self.moved += 1 }
    }
}

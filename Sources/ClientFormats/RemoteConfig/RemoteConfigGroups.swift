import PinWire
import Pinning

/// The groups of devices that result from an app's rollouts, as far as conditions have to distinguish them.
///
/// Rollouts with draws of their own divide devices independently: each has as many levels as it has shares, and a level
/// for devices outside. A group is one level of each. The groups are ordered with each level before the wider ones, and
/// a device belongs to the first whose tests hold: a device within 10 % is also within 50 %, and the group of 10 %
/// comes first.
struct RemoteConfigGroups: Sendable {
    struct Group: Sendable {
        /// Any of these lists, of which all tests must hold.
        var alternatives: [[RemoteConfigTest]]
        /// By host, in the hosts' order.
        var exposures: [RemoteConfigExposure]
        /// The hosts whose candidate the draws give to devices, in order. No two groups have the same ones.
        var chosen: [HostPattern]
    }

    /// In the order in which they are to be tried.
    private(set) var inside: [Group] = []
    /// The policy of devices outside of the app's gate and rollout.
    let outside: [RemoteConfigExposure]

    /// A draw that several hosts' rollouts may share.
    private struct Lot: Hashable {
        var seed: String
        var countries: [String]
    }

    /// - Parameter isWithholding: Whether no device is chosen, so that all that would have to be get the baseline.
    init(
        _ hosts: [RemoteConfigHost], _ document: Document, _ schema: RemoteConfigSchema, isWithholding: Bool
    ) throws(RemoteConfigRefusal) {
        let gate = document.versionGate.flatMap { $0.isOpen ? nil : $0 }
        let app = document.rollout
        // The simple schema has no candidate's pins; there remains the part of the devices that is not chosen.
        let isAdvanced = schema == .advanced
        var exposures = hosts.map { host -> RemoteConfigExposure in
            let isForAll =
                host.candidate != nil && !host.isSwitchedOff && gate == nil && app == nil && host.rollout == nil
            return isForAll ? .candidate : .baseline
        }
        self.outside = exposures
        let waiting = hosts.indices.filter { hosts[$0].candidate != nil && !hosts[$0].isSwitchedOff }
        guard isAdvanced, !waiting.isEmpty, app?.isDrawable ?? true, app?.basisPoints != 0 else { return }
        var lots: [Lot: Set<Int>] = [:]
        var drawn: [Int: (lot: Lot, points: Int)] = [:]
        for place in waiting {
            let host = hosts[place]
            guard let rollout = host.rollout else {
                exposures[place] = .candidate
                continue
            }
            let points = rollout.basisPoints
            guard rollout.isDrawable, points > 0 else { continue }
            let countries = rollout.method == .geography ? Set(rollout.countries).sorted() : []
            if rollout.isForAll {
                exposures[place] = .candidate
            } else if countries.isEmpty, host.carriesShares,
                let percent = RemoteConfigShare.wholePercent(app: 10_000, host: points)
            {
                exposures[place] = .share(percent)
            } else if !isWithholding {
                let lot = Lot(
                    seed: FirebasePercent.seed(salt: rollout.salt ?? "host:\(host.pattern)"), countries: countries)
                lots[lot, default: []].insert(points)
                drawn[place] = (lot, points)
            }
        }
        let levels = lots.map { (lot: $0.key, shares: $0.value.sorted()) }.sorted {
            ($0.lot.seed, $0.lot.countries.joined()) < ($1.lot.seed, $1.lot.countries.joined())
        }
        // Far above the limit the exact number does not matter.
        let count = levels.reduce(1) { min($0 * ($1.shares.count + 1), 1 << 20) }
        guard count <= RemoteConfigRules.groupLimit else {
            throw .tooManyRollouts(values: count, limit: RemoteConfigRules.groupLimit)
        }
        let common = Self.tests(app, seed: FirebasePercent.seed(salt: app?.salt ?? "app:\(document.app)"))
        let gates = gate.map(RemoteConfigTest.alternatives) ?? [[]]
        for number in 0..<count {
            // The number's digits are the levels, the first draw's the most significant.
            var rest = number
            var level: [Lot: Int] = [:]
            for one in levels.reversed() {
                level[one.lot] = rest % (one.shares.count + 1)
                rest /= one.shares.count + 1
            }
            var tests = common
            for one in levels {
                guard let place = level[one.lot], place < one.shares.count else { continue }
                if !one.lot.countries.isEmpty { tests.append(.country(one.lot.countries)) }
                if one.shares[place] < 10_000 { tests.append(.share(one.shares[place], seed: one.lot.seed)) }
            }
            var here = exposures
            var chosen: [HostPattern] = []
            for (host, draw) in drawn.sorted(by: { $0.key < $1.key }) {
                guard let one = levels.first(where: { $0.lot == draw.lot }), let place = level[draw.lot],
                    place < one.shares.count, one.shares[place] <= draw.points
                else { continue }
                here[host] = .candidate
                chosen.append(hosts[host].pattern)
            }
            self.inside.append(Group(alternatives: gates.map { $0 + tests }, exposures: here, chosen: chosen))
        }
    }

    /// A rollout's test of a device.
    private static func tests(_ rollout: Rollout?, seed: String) -> [RemoteConfigTest] {
        guard let rollout else { return [] }
        var tests: [RemoteConfigTest] = []
        if rollout.method == .geography { tests.append(.country(Set(rollout.countries).sorted())) }
        if rollout.basisPoints < 10_000 { tests.append(.share(rollout.basisPoints, seed: seed)) }
        return tests
    }
}

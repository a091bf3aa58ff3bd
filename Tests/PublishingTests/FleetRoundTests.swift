import PinWire
import Testing

@testable import Publishing

/// The order in which a publisher gives all apps their turn.
@Suite struct FleetRoundTests {
    private static let apps = (0..<100).compactMap { try? AppID("app\($0)") }

    private static func round(_ apps: some Sequence<AppID> = Self.apps, seed: UInt64 = 7) -> FleetRound {
        var round = FleetRound(seed: seed)
        round.take(order: FleetRound.order(apps, seed: seed))
        return round
    }

    private static func take(_ count: Int, of round: inout FleetRound) -> [AppID] {
        (0..<count).compactMap { _ in round.take() }
    }

    @Test func `each app has one turn, in another order on each node`() {
        var orders: [[AppID]] = []
        for seed: UInt64 in 1...2 {
            var round = Self.round(seed: seed)
            #expect(round.isDone)
            #expect(Self.take(1, of: &round).isEmpty)
            round.ask(through: 5)
            #expect(!round.isDone)
            round.begin()
            orders.append(Self.take(1000, of: &round))
            let ends = [round.finish(), round.finish()]
            #expect(round.isDone && ends == [5, nil])
        }
        #expect(
            orders.allSatisfy { Set($0) == Set(Self.apps) && $0.count == Self.apps.count } && orders[0] != orders[1])
    }

    @Test(arguments: [2, 3])
    func `nodes that learn of each other's documents later sign each about once in all`(nodes: Int) throws {
        let apps = try (0..<5_000).map { try AppID("com.example.app\($0)") }
        /// The time, in turns, at which the first of the nodes has signed an app's document.
        var signed: [AppID: Int] = [:]
        var count = 0
        var rounds = (0..<nodes).map { Self.round(apps, seed: UInt64($0) + 11) }
        for index in rounds.indices {
            rounds[index].ask()
            rounds[index].begin()
        }
        var time = 0
        while !rounds.allSatisfy(\.isDone) {
            for index in rounds.indices {
                // What is known by now is passed over in no time.
                while let app = rounds[index].take() {
                    guard let other = signed[app], other + 100 < time else {
                        count += 1
                        signed[app] = min(signed[app] ?? time, time)
                        break
                    }
                }
            }
            time += 1
        }
        #expect(signed.count == apps.count && count < apps.count * 13 / 10, "\(count) signatures")
    }

    @Test func `a fleet that is changed again and again keeps no app from its turn, and each change ends`() {
        var round = Self.round()
        var ended: [Int64] = []
        var turns: [AppID: Int] = [:]
        for position: Int64 in 1...30 {
            round.ask(through: position)
            round.begin()
            for app in Self.take(10, of: &round) { turns[app, default: 0] += 1 }
            if let end = round.finish() { ended.append(end) }
        }
        #expect(ended == Array(1...21) && Set(turns.values) == [3])
        // Those that are left end after one round at the most.
        _ = Self.take(100, of: &round)
        let end = round.finish()
        #expect(round.isDone && end == 30)
    }

    @Test func `an app that is added in the middle of a round has its turn in the changes after it`() throws {
        var round = Self.round()
        round.ask(through: 1)
        round.begin()
        _ = Self.take(60, of: &round)
        let new = try (0..<20).map { try AppID("new\($0)") }
        round.ask(through: 2)
        #expect(round.isShort(of: 120) && !round.isShort(of: 100))
        round.take(order: FleetRound.order(Self.apps + new, seed: 7))
        round.begin()
        let rest = Self.take(1000, of: &round)
        let end = round.finish()
        #expect(Set(rest) == Set(Self.apps + new) && rest.count == 120 && end == 2)
    }

    @Test func `a look takes the next apps, and gives way to a change of everything`() {
        var round = Self.round()
        round.ask(for: 30)
        round.begin()
        let first = Self.take(1000, of: &round)
        round.ask(for: 80)
        round.begin()
        let second = Self.take(1000, of: &round)
        let end = round.finish()
        #expect(first.count == 30 && second.count == 80 && Set(first + second) == Set(Self.apps) && end == nil)
        round.ask(through: 3)
        round.ask(for: 10)
        round.begin()
        let all = Self.take(1000, of: &round)
        #expect(all.count == 100)
    }

    @Test func `a position is passed when every change of everything before it is done`() {
        var round = Self.round()
        var passed = [round.pass(1)]
        round.ask(through: 2)
        passed.append(round.pass(3))
        round.begin()
        _ = Self.take(50, of: &round)
        passed.append(round.pass(4))
        var ends = [round.finish()]
        _ = Self.take(50, of: &round)
        ends.append(round.finish())
        passed.append(round.pass(5))
        round.ask(through: 6)
        ends.append(round.abandon())
        passed.append(round.pass(7))
        #expect(passed == [true, false, false, true, true] && ends == [nil, 4, 6] && round.isDone)
    }
}

import Keys
import PinWire
import Pinning
import Testing

@testable import Signals

let shop = appID("com.example.shop")
let api = host("api.example.com")
let noon = Timestamp(seconds: 1_769_860_800)
let served = pin(7)

func appID(_ text: String) -> AppID {
    guard let id = try? AppID(text) else { preconditionFailure("\(text) is no app") }
    return id
}

func host(_ text: String) -> HostPattern {
    guard let host = try? HostPattern(text) else { preconditionFailure("\(text) is no host") }
    return host
}

func pin(_ number: UInt8) -> Pin {
    guard let pin = Pin(bytes: sha256([number])) else { preconditionFailure("a hash is a pin") }
    return pin
}

func install(_ number: Int) -> InstallID {
    guard let id = InstallID(bytes: Array(sha256(Array("install \(number)".utf8)).prefix(16))) else {
        preconditionFailure("sixteen bytes are an id")
    }
    return id
}

/// What one node counts, and reads again.
struct Counting {
    var tally: TelemetryTally
    var rows: [TelemetryRow] = []

    init(limits: TelemetryTally.Limits = .init()) { self.tally = TelemetryTally(limits: limits) }

    @discardableResult
    mutating func report(
        _ number: Int, _ outcome: ConnectionOutcome = .success, network: UInt32 = 1, at time: Timestamp = noon,
        arm: PolicySlot? = .candidate, version: Int64 = 3, newest: Int64 = 3, isSigned: Bool = true,
        claimed: Timestamp? = nil, release: AppRelease? = AppRelease(major: 3, minor: 1, patch: 0), app: AppID = shop,
        pin: Pin = served
    ) -> Bool {
        let report = OutcomeReport(
            host: api.text, outcome: outcome, servedPins: [pin], documentVersion: version, release: release,
            platform: .ios, install: install(number), time: claimed)
        return self.tally.add(
            report, as: OutcomeKey(host: api, arm: arm, version: version),
            of: InstallMark(install(number), of: shop, salt: [1, 2, 3]), in: network,
            by: TelemetryTally.Account(app: app, isAuthenticated: isSigned), newest: newest, at: time)
    }

    mutating func take(at time: Timestamp = noon) {
        for row in self.tally.take(at: time).map(\.row) {
            self.rows.removeAll { $0.name == row.name }
            self.rows.append(row)
        }
    }

    /// What was recorded of an app's hour.
    func hour(of app: AppID = shop) -> OutcomeHour { OutcomeHour(self.rows.filter { $0.app == app }) }
}

func cell(_ hour: OutcomeHour, isSigned: Bool = true, arm: PolicySlot? = .candidate) throws -> OutcomeSummary {
    try #require(hour.cells[OutcomeCellKey(OutcomeKey(host: api, arm: arm, version: 3), isAuthenticated: isSigned)])
}

/// What clients report, counted and put together again.
struct TallyTests {
    @Test func `an install counts once an hour, with what it reported first`() throws {
        var node = Counting()
        node.report(1, .failure(.pinMismatch))
        node.report(1)
        node.report(1, .failure(.pinMismatch))
        node.report(2)
        node.report(2, .failure(.chainInvalid))
        node.take()
        let summary = try cell(OutcomeHour(node.rows))
        #expect((summary.total.installs, summary.total.failing) == (2, 1))
        #expect((summary.reports, summary.failures) == (5, 3))
        #expect(summary.reasons == [.pinMismatch: 1])
        #expect(summary.pins == [served: 1])
        #expect(summary.networks == [noon.startOfDay: [1: 1]])
        #expect(summary.platforms == [.ios: .init(installs: 2, failing: 1)])
        // And again in the next hour.
        let later = noon.adding(seconds: 3600)
        var next = Counting()
        next.tally = node.tally
        next.report(1, at: later)
        next.take(at: later)
        #expect(try cell(OutcomeHour(next.rows.filter { $0.minute >= later })).total.installs == 1)
    }

    @Test func `counts of several nodes add up, and an install that all of them saw counts once`() throws {
        var nodes = [Counting(), Counting(), Counting()]
        for (place, _) in nodes.enumerated() {
            for number in 0..<100 { nodes[place].report(number + place * 50, network: UInt32(number % 7)) }
            nodes[place].take()
        }
        // The first node saw install 120 fail a minute later than the second saw it succeed.
        nodes[0].report(120, .failure(.pinMismatch), at: noon.adding(seconds: 60))
        nodes[0].take(at: noon.adding(seconds: 60))
        let summary = try cell(OutcomeHour(nodes.flatMap(\.rows)))
        #expect(summary.total == .init(installs: 200, failing: 0))
        #expect(summary.reports == 301)
        // In whatever order they are read, and however often.
        let rows = nodes.flatMap(\.rows)
        #expect(OutcomeHour(rows.reversed()) == OutcomeHour(rows))
    }

    @Test func `a failure counts over a success that two nodes saw in one minute`() throws {
        var nodes = [Counting(), Counting()]
        nodes[0].report(1)
        nodes[1].report(1, .failure(.pinMismatch))
        for place in nodes.indices { nodes[place].take() }
        for rows in [nodes.flatMap(\.rows), nodes.reversed().flatMap(\.rows)] {
            #expect(try cell(OutcomeHour(rows)).total == .init(installs: 1, failing: 1))
        }
    }

    @Test func `an hour without room left is a sample, the same for every arm and node`() throws {
        var limits = TelemetryTally.Limits()
        limits.unitsPerHour = 1000
        var nodes = [Counting(limits: limits), Counting(limits: limits)]
        for number in 0..<20_000 {
            let outcome: ConnectionOutcome = number.isMultiple(of: 10) ? .failure(.pinMismatch) : .success
            nodes[number % 2].report(number, outcome, arm: number.isMultiple(of: 4) ? .candidate : .baseline)
            if number.isMultiple(of: 777) { nodes[number % 2].take() }
        }
        for place in nodes.indices { nodes[place].take() }
        let hour = OutcomeHour(nodes.flatMap(\.rows))
        let level = try #require(hour.levels[true])
        #expect(level >= 4)
        let arms = try [PolicySlot.candidate, .baseline].map { try cell(hour, arm: $0) }
        let counted = arms.reduce(0) { $0 + $1.total.installs }
        #expect(counted <= 2000 && counted > 500)
        // The sample is fair, to about four of its standard errors.
        let estimate = arms.reduce(0) { $0 + $1.estimate }
        #expect(abs(Double(estimate) - 20_000) < 20_000 * 4 / Double(counted).squareRoot())
        #expect(abs(Double(arms[0].total.installs) / Double(counted) - 0.25) < 0.07)
        // Repeated connections are counted in full.
        #expect(arms.reduce(0) { $0 + $1.reports } == 20_000)
    }

    @Test func `a client that invents reports displaces no client that signs`() throws {
        var limits = TelemetryTally.Limits()
        limits.unitsPerHour = 500
        var node = Counting(limits: limits)
        for number in 0..<10_000 { node.report(number, .failure(.pinMismatch), isSigned: false) }
        for number in 0..<400 { node.report(number) }
        node.take()
        let hour = OutcomeHour(node.rows)
        #expect(hour.levels[true] == 0)
        #expect(try cell(hour).total == .init(installs: 400, failing: 0))
        #expect(try #require(hour.levels[false]) > 3)
    }

    @Test func `an outcome that a client's clock puts a day away is kept as a fact and not counted`() throws {
        var node = Counting()
        node.report(1, .failure(.pinMismatch), claimed: noon.adding(seconds: -10 * 86_400))
        node.report(2, claimed: noon.adding(seconds: 90_000))
        node.report(3, claimed: noon.adding(seconds: -3600))
        node.report(1)
        node.take()
        let summary = try cell(OutcomeHour(node.rows))
        #expect(summary.total == .init(installs: 2, failing: 0))
        #expect(summary.offTime == 2)
        #expect(summary.reports == 4)
    }

    @Test func `a connection that went on after the pins had ended is counted by itself`() throws {
        var node = Counting()
        node.report(1, .unpinned)
        node.report(2, .unpinned)
        node.report(2, .failure(.pinMismatch))
        node.take()
        let summary = try cell(OutcomeHour(node.rows))
        #expect(summary.unpinned == 2)
        #expect(summary.total == .init(installs: 1, failing: 1))
        #expect(summary.reports == 1 && summary.failures == 1)
    }

    @Test func `a client that invents versions displaces neither the newest nor known ones, and nothing is refused`()
        throws
    {
        var node = Counting()
        node.report(1, version: 2990, newest: 3000)
        var taken = 0
        for version in 0..<2985 where node.report(1, version: Int64(version), newest: 3000) { taken += 1 }
        #expect(taken == 2985)
        for version in 2985...3000 { node.report(2, .failure(.pinMismatch), version: Int64(version), newest: 3000) }
        node.report(3, version: 0, newest: 3000)
        node.report(3, version: 7, newest: 3000)
        node.take()
        let cells = node.hour().cells
        func count(_ version: Int64) -> OutcomeSummary.Count? {
            cells[OutcomeCellKey(OutcomeKey(host: api, arm: .candidate, version: version), isAuthenticated: true)]?
                .total
        }
        #expect(cells.count == OutcomePool.cellLimit / 2 + Int(OutcomePool.newestVersions) - 1)
        #expect((2985...3000).allSatisfy { count($0)?.failing == 1 } && count(2990)?.installs == 2)
        // Those together, and one of those who are known.
        #expect(count(0)?.installs == 2 && count(7)?.installs == 2 && count(2000) == nil)
        #expect(cells.values.reduce(0) { $0 + $1.reports } == 1 + 2985 + 16 + 2)
    }

    @Test func `every app has some cells, however many other apps have`() throws {
        var limits = TelemetryTally.Limits()
        limits.cells = 200
        var node = Counting(limits: limits)
        let other = appID("com.example.other")
        for version in 1..<1000 { node.report(1, version: Int64(version), newest: 1000) }
        for version in 1..<1000 { node.report(1, version: Int64(version), newest: 1000, app: other) }
        node.take()
        #expect(node.hour().cells.count == 200 + 1)
        #expect(node.hour(of: other).cells.count == OutcomePool.leastCells + 1)
        // An hour later all that room is free again.
        node.take(at: noon.adding(seconds: 7320))
        for version in 1..<150 {
            node.report(1, at: noon.adding(seconds: 7320), version: Int64(version), newest: 1000, app: other)
        }
        node.rows = []
        node.take(at: noon.adding(seconds: 7320))
        #expect(node.hour(of: other).cells.count == 149)
    }

    @Test func `invented keys are bounded, and the most frequent ones stay`() throws {
        var node = Counting()
        for minute in 0..<10 {
            let time = noon.adding(seconds: Int64(minute) * 60)
            for number in 0..<30 {
                let key = number < 5 ? served : pin(UInt8(30 + minute * 20 + number - 5))
                node.report(minute * 100 + number, .failure(.pinMismatch), at: time, pin: key)
            }
            node.take(at: time)
        }
        let summary = try cell(node.hour())
        #expect(summary.pins.count == OutcomeSummary.pinLimit && summary.pins[served] == 50)
    }

    @Test func `the room that all apps share is not taken up by a flood of one`() throws {
        var limits = TelemetryTally.Limits()
        limits.units = 1000
        var node = Counting(limits: limits)
        let other = appID("com.example.other")
        for number in 0..<50 { node.report(number, app: other) }
        for number in 0..<10_000 { node.report(number) }
        for number in 50..<100 { node.report(number, app: other) }
        node.take()
        #expect(node.hour(of: other).levels[true] == 0)
        #expect(node.hour(of: other).cells.values.first?.total.installs == 100)
        #expect(try #require(node.hour().levels[true]) >= 3)
    }

    @Test func `the oldest minutes are dropped and reported while nothing can be recorded`() {
        var limits = TelemetryTally.Limits()
        limits.minutes = 10
        var node = Counting(limits: limits)
        for minute in 0..<15 { node.report(minute, at: noon.adding(seconds: Int64(minute) * 60)) }
        let dropped = [node.tally.takeDropped(), node.tally.takeDropped()]
        #expect(dropped == [5, 0])
        node.take(at: noon.adding(seconds: 900))
        #expect(node.rows.count == 10)
    }

    @Test func `recorded counts are dropped first, which loses nothing`() {
        var limits = TelemetryTally.Limits()
        limits.minutes = 10
        var node = Counting(limits: limits)
        func app(_ number: Int) -> AppID { appID("com.example.app\(number)") }
        for number in 0..<9 { node.report(number, at: noon, app: app(number)) }
        node.take(at: noon)
        let next = noon.adding(seconds: 60)
        for number in 0..<10 { node.report(number, at: next, app: app(number)) }
        node.take(at: next)
        let dropped = node.tally.takeDropped()
        #expect(dropped == 0 && node.rows.count == 19)
        // Of what is not: more than there is room for within one minute.
        for number in 10..<13 { node.report(number, at: next, app: app(number)) }
        let more = node.tally.takeDropped()
        #expect(more == 3)
    }

    @Test func `a sample says how many installs it stands for`() throws {
        var limits = TelemetryTally.Limits()
        limits.unitsPerHour = 500
        var node = Counting(limits: limits)
        for number in 0..<8000 { node.report(number) }
        let later = noon.adding(seconds: 3600)
        for number in 0..<100 { node.report(number, at: later) }
        node.take(at: later)
        let hours = Dictionary(grouping: node.rows) { $0.minute.startOfHour }.mapValues { OutcomeHour($0) }
        let facts = try #require(TelemetrySummary(app: shop, measuredAt: later, hours: hours).facts.cells.first)
        #expect(facts.installs < 700)
        #expect(abs(facts.largestHour - 8000) < 2000)
    }

    @Test func `outcome facts are small, sorted and bounded`() throws {
        var node = Counting()
        for number in 0..<200 {
            node.report(
                number, number < 80 ? .failure(.pinMismatch) : .success, network: UInt32(number % 40),
                at: noon.adding(seconds: Int64(number)),
                release: AppRelease(major: Int64(number % 70), minor: 0, patch: 0))
        }
        node.take(at: noon.adding(seconds: 200))
        let hours = [noon.startOfHour: OutcomeHour(node.rows)]
        let summary = TelemetrySummary(app: shop, measuredAt: noon, hours: hours)
        let facts = summary.facts
        let cell = try #require(facts.cells.first)
        #expect(facts.cells.count == 1)
        #expect((cell.installs, cell.failing, cell.networkCount) == (200, 80, 40))
        #expect(cell.networks.count == OutcomeCell.networkLimit && cell.releases.count == OutcomeCell.releaseLimit)
        #expect(cell.minutes.map(\.installs) == [60, 60, 60, 20])
        #expect(cell.minutes.map(\.failing) == [60, 20, 0, 0])
        #expect(cell.minutes.map(\.minute) == (0..<4).map { noon.adding(seconds: $0 * 60) })
        #expect(cell.servedPins == [served])
        // As many of the newest minutes as requested.
        #expect(summary.facts(minutes: 2).cells.first?.minutes.map(\.installs) == [60, 20])
    }

    @Test func `networks fill their buckets again, owe what they overdrew, and share one when there are too many`() {
        let start = ContinuousClock.now
        var buckets = NetworkBuckets(rate: 10, limit: 2)
        func wait(_ network: UInt32, _ seconds: Int) -> Double? {
            buckets.wait(of: network, at: start + .seconds(seconds))
        }
        #expect(wait(1, 0) == nil)
        buckets.charge(150, to: 1, at: start)
        #expect(wait(1, 0).map { ($0 * 10).rounded() } == 51)
        #expect(wait(2, 0) == nil)
        #expect(wait(1, 6) == nil)
        buckets.charge(150, to: 2, at: start)
        buckets.charge(150, to: 3, at: start)
        #expect(wait(4, 0) != nil)
        // Those that owe nothing any more are forgotten.
        buckets.charge(1, to: 5, at: start + .seconds(60))
        #expect(wait(4, 60) == nil)
        #expect(NetworkBuckets(rate: 0).rate == 0)
    }

    @Test func `an id that came lately is known, and memory for ids is bounded`() {
        var recent = RecentReports(limit: 100)
        func isNew(_ id: String, of app: AppID = shop) -> Bool { recent.insert(id, of: app) }
        #expect(isNew("a"))
        #expect(!isNew("a"))
        #expect(isNew("a", of: appID("com.example.other")))
        for number in 0..<98 { #expect(isNew("\(number)")) }
        #expect(!isNew("a"))
        for number in 100..<200 { #expect(isNew("\(number)")) }
        #expect(isNew("a"))
    }

    @Test func `networks of two days are not added up, for they may be the same ones`() throws {
        var node = Counting()
        let yesterday = noon.startOfDay.adding(seconds: -3600)
        for number in 0..<3 { node.report(number, .failure(.other), network: UInt32(number), at: yesterday) }
        node.take(at: yesterday)
        for number in 0..<4 { node.report(number, .failure(.other), network: UInt32(10 + number % 2), at: noon) }
        node.take(at: noon)
        var summary = TelemetrySummary(app: shop, measuredAt: noon)
        for hour in [yesterday, noon.startOfHour] {
            summary.take([hour: OutcomeHour(node.rows.filter { $0.minute.startOfHour == hour })], at: noon)
        }
        let found = try #require(summary.facts.cells.first)
        #expect(found.networkCount == 2 && found.networks.map(\.failing) == [2, 2])
        #expect(found.failing == 7)
    }

    @Test(arguments: [true, false]) func `the networks of a candidate's unsigned reports are reported`(isSigned: Bool)
        throws
    {
        var node = Counting()
        for number in 0..<9 { node.report(number, network: UInt32(number % 3), isSigned: isSigned) }
        node.report(9, network: 7, arm: .baseline, isSigned: isSigned)
        node.take()
        let summary = TelemetrySummary(app: shop, measuredAt: noon, hours: [noon.startOfHour: node.hour()])
        let cells = summary.facts.cells
        let minute = try #require(cells.first { $0.arm == .candidate }?.minutes.first)
        #expect(minute.origins == (isSigned ? [:] : [0: 3, 1: 3, 2: 3]))
        #expect(cells.first { $0.arm == .baseline }?.minutes.first?.origins == [:])
        #expect(cells.first { $0.arm == .candidate }?.minutes.largestHour(ofOneNetworkAtMost: 2) == (isSigned ? 2 : 6))
    }

    @Test func `a node without salts takes all networks for one, and limits each of them`() {
        let intake = TelemetryIntake(salts: nil, rate: 1)
        let (one, other): ([UInt8], [UInt8]) = ([192, 0, 2, 1], [198, 51, 100, 1])
        #expect(intake.network(of: one, at: noon) == .untold && intake.network(of: other, at: noon) == .untold)
        #expect(intake.bucket(of: one) != intake.bucket(of: other))
    }

    @Test func `a network has another hash each day, and one that lasts for its limit`() throws {
        let key = try KeyEncryptionKey([UInt8](repeating: 7, count: 32))
        let intakes = (0..<2).map { _ in TelemetryIntake(salts: DailySalts(key, for: "reports"), rate: 1) }
        let address: [UInt8] = [192, 0, 2, 1]
        let (morning, evening) = (noon.startOfDay, noon.startOfDay.adding(seconds: 86_399))
        #expect(intakes[0].network(of: address, at: morning) == intakes[1].network(of: address, at: evening))
        #expect(
            intakes[0].network(of: address, at: evening)
                != intakes[0].network(of: address, at: evening.adding(seconds: 1)))
        #expect(intakes[0].bucket(of: address) != intakes[1].bucket(of: address))
    }

    @Test func `a network is a /24 or a /48, whatever spelling its address has`() {
        let salt: [UInt8] = [1, 2, 3]
        func network(_ bytes: [UInt8]) -> CoarseNetwork { CoarseNetwork(of: bytes, salt: salt) }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 200]
        #expect(network([192, 0, 2, 1]) == network([192, 0, 2, 254]))
        #expect(network([192, 0, 2, 1]) == network(mapped))
        #expect(network([192, 0, 2, 1]) != network([192, 0, 3, 1]))
        let one: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 1] + Array(repeating: 0, count: 10)
        let other: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 1] + Array(repeating: 9, count: 10)
        #expect(network(one) == network(other))
        #expect(network(one) != network([0x20, 1, 0xD, 0xB8, 0, 2] + Array(repeating: 0, count: 10)))
        #expect(CoarseNetwork(of: [192, 0, 2, 1], salt: [9]) != network([192, 0, 2, 1]))
        #expect(CoarseNetwork.text(0xAB) == "000000ab")
    }
}

import PinWire
import Testing

@testable import Pinning

/// What is counted, what is known, and what is not.
@Suite struct AdoptionTests {
    private static let now = Timestamp(seconds: 1_800_003_000)
    private static let other = appID("com.example.other")

    private static func facts(_ holdings: [(Int64, AdoptionCount)]) -> AdoptionFacts {
        AdoptionFacts(
            measuredAt: now, windowSeconds: 86_400,
            holdings: holdings.map { .init(held: HeldVersion(number: $0.0), count: $0.1) })
    }

    private static func requests(_ count: Int64) -> AdoptionCount { AdoptionCount(requests: count) }

    // MARK: Shares

    @Test func `adoption is unknown where nothing was seen`() {
        for facts in [Self.facts([]), Self.facts([(5, AdoptionCount())])] {
            let share = facts.share(holdingAtLeast: 5)
            #expect(share == .unknown)
            #expect(share.basisPoints == nil && share.lowerBasisPoints == 0 && share.upperBasisPoints == 10_000)
            #expect(facts.gaps == [.nothingSeen])
        }
    }

    @Test func `adoption by requests is the share of those that came from holders`() {
        let facts = Self.facts([(12, Self.requests(900)), (11, Self.requests(80)), (0, Self.requests(20))])
        let share = facts.share(holdingAtLeast: 12)
        #expect(share.basis == .requests)
        #expect(share.basisPoints == 9000)
        // Wilson's interval of 900 in 1000, computed elsewhere: 0.8799 to 0.9171.
        #expect(share.lowerBasisPoints == 8798 || share.lowerBasisPoints == 8799)
        #expect(share.upperBasisPoints == 9171 || share.upperBasisPoints == 9172)
        #expect(share.sample == 1000)
        #expect(facts.share(holdingAtLeast: 11).basisPoints == 9800)
        #expect(facts.share(holdingAtLeast: 1).basisPoints == 9800)
        #expect(facts.share(holdingAtLeast: 13).basisPoints == 0)
        #expect(facts.share(holdingAtLeast: 13).upperBasisPoints > 0)
        #expect(facts.gaps == [.noInstalls, .nothingSigned])
    }

    @Test func `requests that say nothing of a version widen the bounds`() {
        let clear = Self.facts([(12, Self.requests(900)), (0, Self.requests(100))]).share(holdingAtLeast: 12)
        let facts = Self.facts([(12, Self.requests(900)), (0, Self.requests(100)), (-1, Self.requests(1000))])
        let share = facts.share(holdingAtLeast: 12)
        #expect(share.basisPoints == clear.basisPoints)
        #expect(share.lowerBasisPoints < 4500)
        #expect(share.upperBasisPoints > 9500)
        #expect(facts.gaps.contains(.unclearVersions))
        #expect(Self.facts([(-1, Self.requests(50))]).share(holdingAtLeast: 1) == .unknown)
    }

    @Test func `requests that all ask for everything say nothing about adoption, and reports do`() {
        let cached = Self.facts([(0, Self.requests(5000))])
        #expect(cached.share(holdingAtLeast: 3) == .unknown)
        #expect(cached.gaps == [.noConditions, .noInstalls, .nothingSigned])
        let reported = Self.facts([
            (0, Self.requests(5000)), (3, AdoptionCount(reports: 75)), (2, AdoptionCount(reports: 25)),
        ])
        let share = reported.share(holdingAtLeast: 3)
        #expect(share.basis == .requests)
        #expect(share.basisPoints == 7500)
        #expect(share.sample == 100)
        #expect(reported.gaps.contains(.noConditions))
    }

    @Test func `a share of hardly any full fetches is suspicious, and few requests say little`() {
        #expect(
            Self.facts([(3, Self.requests(1000)), (0, Self.requests(9))]).gaps == [
                .fewFullFetches, .noInstalls, .nothingSigned,
            ])
        #expect(Self.facts([(3, Self.requests(1000)), (0, Self.requests(11))]).gaps == [.noInstalls, .nothingSigned])
        #expect(
            Self.facts([(3, Self.requests(50)), (0, Self.requests(9))]).gaps == [
                .fewSightings, .noInstalls, .nothingSigned,
            ])
    }

    // MARK: Installs

    /// A summary of installs, each seen once with each of the versions.
    private static func summary(_ installs: [(Range<UInt64>, [Int64])], anonymous: [(Int64, Int64)] = [])
        -> AdoptionSummary
    {
        var tally = AdoptionTally()
        for (numbers, versions) in installs {
            for number in numbers {
                let digest = sha256(Array("\(number)".utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                for version in versions {
                    let held = HeldVersion(number: version)
                    let key = AdoptionKey(
                        held: held, release: .release(.init(major: 2, minor: 0, patch: 0)), platform: .ios)
                    tally.add(AdoptionCount(requests: 1, identified: 1), key, of: shop, at: now)
                    // By the salt of the day with which a window of a day begins.
                    tally.mark(InstallMark(bits: digest), held, of: shop, at: now.adding(seconds: -86_400))
                }
            }
        }
        for (version, count) in anonymous {
            tally.add(Self.requests(count), AdoptionKey(held: .init(number: version)), of: shop, at: now)
        }
        var summary = AdoptionSummary(app: shop, spans: .init(measuredAt: now, windowSeconds: 86_400))
        for row in tally.rows(of: shop) { summary.add(row) }
        for sketch in tally.sketches(of: shop) { summary.add(sketch) }
        return summary
    }

    @Test func `an install that was ever seen with a version holds it`() {
        // All held 11; 700 of 1000 were seen with 12 later.
        let facts = Self.summary([(0..<700, [11, 12]), (700..<1000, [11])]).facts
        let share = facts.share(holdingAtLeast: 12)
        #expect(share.basis == .installs)
        #expect(abs((share.basisPoints ?? 0) - 7000) < 300)
        #expect(facts.share(holdingAtLeast: 11).basisPoints == 10_000)
        #expect(facts.share(holdingAtLeast: 11).lowerBasisPoints > 9900)
        #expect(facts.share(holdingAtLeast: 13).basisPoints == 0)
        #expect(facts.share(holdingAtLeast: 13).upperBasisPoints < 100)
        #expect(abs((facts.installs ?? 0) - 1000) < 50)
        #expect(facts.holdings.map(\.held) == [.document(12), .document(11)])
    }

    @Test func `an install seen with two versions holds the newer one`() {
        let facts = Self.summary([(0..<500, [20]), (500..<1000, [10])]).facts
        #expect(facts.share(holdingAtLeast: 15) == facts.share(holdingAtLeast: 20))
    }

    @Test func `clients without an id widen the bounds, and are counted by requests where they are many`() {
        // Those with an id are all up to date, the others are not.
        let some = Self.summary([(0..<1000, [12])], anonymous: [(11, 500)]).facts
        let share = some.share(holdingAtLeast: 12)
        #expect(share.basis == .installs)
        #expect(share.basisPoints == 10_000)
        #expect(share.lowerBasisPoints < 7000)
        #expect(some.gaps.contains(.someInstalls))
        let many = Self.summary([(0..<1000, [12])], anonymous: [(11, 1500)]).facts
        #expect(many.share(holdingAtLeast: 12).basis == .requests)
        #expect(many.share(holdingAtLeast: 12).basisPoints == 4000)
    }

    @Test func `an adoption summary covers spans, platforms and app versions`() throws {
        var summary = AdoptionSummary(app: shop, spans: .init(measuredAt: Self.now, windowSeconds: 2 * 86_400))
        let key = AdoptionKey(
            held: .document(4), release: .release(.init(major: 1, minor: 2, patch: 3)), platform: .web)
        for (hours, count) in [(0, 1), (1, 10), (3, 100), (30, 1000), (100, 10_000), (200, 100_000)] as [(Int64, Int64)]
        {
            let hour = Self.now.adding(seconds: -hours * 3600).startOfHour
            summary.add(AdoptionTally.Row(app: shop, hour: hour, key: key, count: Self.requests(count)))
        }
        summary.add(
            AdoptionTally.Row(
                app: shop, hour: Self.now.startOfHour, key: .init(held: .nothing), count: Self.requests(5)))
        let versions = summary.versions
        #expect(versions.map(\.holding.held) == [.document(4), .nothing])
        let version = try #require(versions.first)
        #expect((version.hour, version.day, version.week) == (11, 111, 11_111))
        #expect(version.holding.count.requests == 1111)
        #expect(version.platforms == [.init(name: "web", sightings: 1111)])
        #expect(version.releases == [.init(name: "1.2.3", sightings: 1111)])
        #expect(versions[1].platforms == [.init(name: nil, sightings: 5)])
        #expect(summary.facts.installs == nil)
    }

    // MARK: Counting

    private static func key(_ version: Int64, minor: Int64? = nil) -> AdoptionKey {
        AdoptionKey(
            held: HeldVersion(number: version),
            release: minor.map { .release(.init(major: 1, minor: $0, patch: 0)) } ?? .unsaid,
            platform: minor == nil ? nil : .android)
    }

    @Test func `taken counts are not taken again, and counts that are put back are`() {
        var tally = AdoptionTally()
        tally.add(Self.requests(2), Self.key(3), of: shop, at: Self.now)
        tally.add(Self.requests(3), Self.key(3), of: shop, at: Self.now)
        tally.add(Self.requests(7), Self.key(3), of: Self.other, at: Self.now)
        tally.mark(InstallMark(bits: 99), .document(3), of: shop, at: Self.now)
        let taken = tally.take(at: Self.now)
        #expect(taken.rows.map(\.count.requests).sorted() == [5, 7])
        #expect(taken.rows.allSatisfy { $0.hour == Self.now.startOfHour })
        #expect(taken.sketches.map(\.held) == [.document(3)])
        #expect(tally.take(at: Self.now).rows.isEmpty)
        #expect(tally.take(at: Self.now).sketches.isEmpty)
        tally.putBack(taken.rows, taken.sketches)
        tally.add(Self.requests(1), Self.key(3), of: shop, at: Self.now)
        // The same install again changes nothing, and what was put back is still to be recorded.
        tally.mark(InstallMark(bits: 99), .document(3), of: shop, at: Self.now)
        let again = tally.take(at: Self.now)
        #expect(again.rows.map(\.count.requests).sorted() == [6, 7])
        #expect(again.sketches == taken.sketches)
        #expect(tally.takeDropped() == 0)
    }

    @Test func `an hour of an app takes a bounded number of combinations, also when they are taken in between`() {
        var limits = AdoptionTally.Limits()
        limits.keysPerHour = 10
        var tally = AdoptionTally(limits: limits)
        var rows: Set<AdoptionKey> = []
        var sum: Int64 = 0
        for minor in 0..<500 {
            tally.add(Self.requests(1), Self.key(3, minor: Int64(minor)), of: shop, at: Self.now)
            guard minor % 50 == 49 else { continue }
            let taken = tally.take(at: Self.now).rows
            rows.formUnion(taken.map(\.key))
            sum += taken.reduce(0) { $0 + $1.count.requests }
        }
        #expect(rows.count == 11)
        #expect(sum == 500)
        #expect(rows.contains(AdoptionKey(held: .document(3), release: .other)))
        // Versions that are made up have an end too, and what is not counted is known.
        for version in 0..<500 { tally.add(Self.requests(1), Self.key(Int64(version)), of: shop, at: Self.now) }
        let taken = tally.take(at: Self.now).rows
        #expect(taken.count <= 13)
        #expect(taken.reduce(0) { $0 + $1.count.requests } + tally.takeDropped() == 500)
        // The next hour has room again.
        let later = Self.now.adding(seconds: 3600)
        tally.add(Self.requests(1), Self.key(77, minor: 1), of: shop, at: later)
        #expect(tally.take(at: later).rows.map(\.key) == [Self.key(77, minor: 1)])
    }

    @Test func `the oldest hour is dropped first where nothing can be recorded for long`() {
        var limits = AdoptionTally.Limits()
        limits.keys = 4
        var tally = AdoptionTally(limits: limits)
        for hour in 0..<10 as Range<Int64> {
            let time = Self.now.adding(seconds: hour * 3600)
            tally.add(Self.requests(1), Self.key(1), of: shop, at: time)
            tally.add(Self.requests(1), Self.key(2), of: shop, at: time)
        }
        let rows = tally.take(at: Self.now.adding(seconds: 36_000)).rows
        #expect(rows.count == 4)
        #expect(
            Set(rows.map(\.hour))
                == [8, 9].reduce(into: []) { $0.insert(Self.now.adding(seconds: $1 * 3600).startOfHour) })
        #expect(tally.takeDropped() == 16)
    }

    @Test func `an install whose version has no room counts for the next lower one`() {
        var limits = AdoptionTally.Limits()
        limits.versionsPerDay = 2
        var tally = AdoptionTally(limits: limits)
        tally.mark(InstallMark(bits: 1 << 60), .document(5), of: shop, at: Self.now)
        tally.mark(InstallMark(bits: 2 << 60), .document(9), of: shop, at: Self.now)
        tally.mark(InstallMark(bits: 3 << 60), .document(7), of: shop, at: Self.now)
        tally.mark(InstallMark(bits: 4 << 60), .document(3), of: shop, at: Self.now)
        let counts = Dictionary(
            uniqueKeysWithValues: tally.take(at: Self.now).sketches.map { ($0.held, Int($0.sketch.estimate.rounded())) }
        )
        #expect(counts == [.document(5): 2, .document(9): 1])
        #expect(tally.takeDropped() == 1)
    }

    @Test(arguments: [("", "unsaid"), ("2.4.1", "release"), ("other", "other"), ("nonsense", "other")])
    func `app versions are stored as text`(text: String, kind: String) {
        let release = AdoptionKey.Release(text: text)
        #expect(String(describing: release).hasPrefix(kind))
        if text != "nonsense" { #expect(release.text == text) }
    }

    @Test func `versions are ordered: impossible, unknown, none, then by number`() {
        let all: [HeldVersion] = [.document(2), .nothing, .ahead(109), .document(1), .unknown]
        #expect(all.sorted().map(\.number) == [-111, -1, 0, 1, 2])
        #expect(HeldVersion.document(9).known(upTo: 4) == .ahead(9))
        #expect(HeldVersion.document(4).known(upTo: 4) == .document(4))
        #expect(HeldVersion.nothing.known(upTo: 4) == .nothing)
        for number in [.min, -3, -2, -1, 0, 7, .max] as [Int64] {
            #expect(HeldVersion(number: number).number == number)
        }
        #expect(HeldVersion.document(.max).known(upTo: 4).number == -2 - ClientReport.largestVersion)
    }

    // MARK: What anyone can invent

    @Test func `a nonexistent version counts for no more installs than an existing one`() {
        let facts = Self.facts([(9, Self.requests(100)), (-2 - 109, Self.requests(900))])
        let share = facts.share(holdingAtLeast: 9)
        #expect(share.basisPoints == 10_000 && share.lowerBasisPoints < 1300)
        #expect(facts.share(holdingAtLeast: 109).basisPoints == 0)
        #expect(facts.gaps.contains(.aheadVersions))
        #expect(facts.claims == AdoptionClaims(sightings: 1000, ahead: [109: 900]))
        #expect(facts.claims.later(than: 9)?.sightings == 900 && facts.claims.later(than: 9)?.latest == 109)
        // It was made meanwhile.
        #expect(facts.claims.later(than: 109) == nil)
        #expect(facts.signed.share(holdingAtLeast: 9) == .unknown)
    }

    @Test func `a bounded number of nonexistent versions is distinguished in an hour`() {
        var tally = AdoptionTally()
        for version in 100..<600 as Range<Int64> {
            tally.add(Self.requests(1), AdoptionKey(held: .ahead(version)), of: shop, at: Self.now)
        }
        tally.add(Self.requests(1), AdoptionKey(held: .document(9)), of: shop, at: Self.now)
        let rows = tally.take(at: Self.now).rows
        #expect(rows.count == 18)
        #expect(rows.first { $0.key.held == .ahead(0) }?.count.requests == 484)
        #expect(rows.first { $0.key.held == .document(9) }?.count.requests == 1)
        #expect(tally.takeDropped() == 0)
    }

    /// Half a million requests that say that they hold what nobody has, and a thousand installs that sign and do not.
    @Test func `signed versions count, and nothing else beside them`() {
        var tally = AdoptionTally()
        func mark(_ numbers: Range<Int>, _ version: Int64, isSigned: Bool) {
            for number in numbers {
                let digest = sha256(Array("\(number)".utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                tally.mark(InstallMark(bits: digest), .document(version), isSigned: isSigned, of: shop, at: Self.now)
            }
        }
        mark(0..<1000, 11, isSigned: true)
        mark(1000..<21_000, 12, isSigned: false)
        tally.add(Self.requests(500_000), AdoptionKey(held: .document(12)), of: shop, at: Self.now)
        func facts() -> AdoptionFacts {
            var summary = AdoptionSummary(app: shop, spans: .init(measuredAt: Self.now, windowSeconds: 3600))
            for row in tally.rows(of: shop) { summary.add(row) }
            for sketch in tally.sketches(of: shop) { summary.add(sketch) }
            return summary.facts
        }
        #expect(facts().signed.share(holdingAtLeast: 12).basisPoints == 0)
        #expect(facts().signed.share(holdingAtLeast: 11).lowerBasisPoints >= 9900)
        // And the other way round: a client that states an old one holds back none.
        mark(0..<1000, 12, isSigned: true)
        mark(30_000..<50_000, 3, isSigned: false)
        let share = facts().signed.share(holdingAtLeast: 12)
        #expect(share.lowerBasisPoints >= 9900 && share.basis == .installs)
        #expect(abs(share.sample - 1000) < 60)
    }

    @Test func `invented versions take no room from signed ones`() {
        var limits = AdoptionTally.Limits()
        limits.sketches = 10
        var tally = AdoptionTally(limits: limits)
        for number in 0..<100 as Range<Int64> {
            tally.mark(InstallMark(bits: UInt64(number) << 50), .document(number), of: shop, at: Self.now)
        }
        tally.mark(InstallMark(bits: 1), .document(99), isSigned: true, of: shop, at: Self.now)
        let sketches = tally.take(at: Self.now).sketches
        #expect(sketches.count == 11)
        #expect(sketches.filter(\.isSigned).map(\.held) == [.document(99)])
    }

    @Test func `an install of yesterday is known again today, and one of the day before is not`() {
        var summary = AdoptionSummary(app: shop, spans: .init(measuredAt: Self.now, windowSeconds: 7 * 86_400))
        #expect(summary.spans.installs == Self.now.startOfDay.adding(seconds: -86_400))
        for (days, count) in [(0, 1), (1, 10), (2, 100)] as [(Int64, UInt64)] {
            var sketch = InstallSketch()
            for number in 0..<count { sketch.insert(InstallMark(bits: number << 53 | 1)) }
            summary.add(
                AdoptionTally.Sketch(
                    app: shop, day: Self.now.startOfDay.adding(seconds: -days * 86_400), held: .document(3),
                    isSigned: true, sketch: sketch))
        }
        #expect(summary.facts.signed.installs == 10)
    }

    @Test(arguments: [
        (9999, 0, false), (10_000, 0, true), (500_000, 50_000, false), (500_001, 50_000, true),
        (Int64.max, Int64.max, false),
    ])
    func `ten times the busiest hour is a surge`(sightings: Int64, usual: Int64, isOne: Bool) {
        let surge = AdoptionSurge(hour: Self.now.startOfHour, sightings: sightings, usual: usual)
        #expect(surge.isOne == isOne)
    }
}

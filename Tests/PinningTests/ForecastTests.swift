import PinWire
import SeededRandom
import Testing

@testable import Pinning

@Suite("The forecast of renewals") struct ForecastTests {
    private static let day: Int64 = 86_400

    /// A certificate that began so many days before a time, and lives so long.
    private static func served(_ key: Int, begunDaysAgo: Int64, lives: Int64, at now: Timestamp) -> CertificateFacts {
        var facts = certificate(key)
        facts.notBefore = now.adding(seconds: -begunDaysAgo * Self.day)
        facts.notAfter = facts.notBefore.adding(seconds: lives * Self.day)
        return facts
    }

    /// The forecast of an app whose host pins keys 1, 2 and 3 since `now` less so many days, and presents keys 1 and 9.
    private static func forecast(
        lives: Int64, begunDaysAgo: Int64 = 10, pinnedDaysAgo: Int64 = 30, at now: Timestamp = monday,
        adoptionDays: Int64? = 7, presenting keys: [Int] = [1, 9], spares: [Int] = [2, 3],
        mode: PinMode = .enforce,
        share: (Int64) -> AdoptionShare? = { _ in nil }
    ) throws -> Forecast {
        var state = LedgerState()
        var app = try #require(try given(sound))
        for pin in [1, 2, 3].map({ pin($0) }) {
            app.hosts[api]?[.baseline]?.pins[pin]?.since = now.adding(seconds: -pinnedDaysAgo * Self.day)
        }
        for spare in [2, 3] where !spares.contains(spare) {
            app.hosts[api]?[.baseline]?.pins[pin(spare)]?.state = .retired
        }
        app.hosts[api]?[.baseline]?.mode = mode
        state.apps.insert(app)
        let chain = ObservedChain(
            pins: keys.map { pin($0) },
            certificates: [Self.served(1, begunDaysAgo: begunDaysAgo, lives: lives, at: now)], address: "192.0.2.1",
            vantage: "vienna", firstSeen: now.adding(seconds: -Self.day), lastSeen: now.adding(seconds: -60),
            isCurrent: true)
        var context = context(at: now)
        context.facts = ExternalFacts(
            documentLifetime: Self.day, documentMaxAge: 0, endpoint: { _ in EndpointFacts(chains: [chain]) })
        return try state.forecast(
            of: shop, adoption: adoptionDays.map { AdoptionTime(atLeast: $0 * Self.day, atMost: $0 * Self.day) },
            in: context, share: share)
    }

    private static func host(_ forecast: Forecast) throws -> HostForecast { try #require(forecast.hosts.first) }

    @Test func `slack is what is left between the time clients have the spare and the renewal`() throws {
        // 90 days, renewed after 60: 50 from now, 80 after the spare was published; 8 of them it takes to reach clients.
        let next = try #require(try Self.host(try Self.forecast(lives: 90)).next)
        #expect(next.at == monday.adding(seconds: 50 * Self.day) && next.spare != nil)
        #expect(next.slackAtLeast == 72 * Self.day && next.slackAtMost == 72 * Self.day && next.verdict == .survives)
    }

    @Test(
        arguments: [
            (23, HostForecast.Verdict.survives), (24, .tight), (30, .tight), (31, .fails), (40, .fails),
        ] as [(Int64, HostForecast.Verdict)])
    func `certificates of 47 days leave 31 for delivery and adoption`(
        adoptionDays: Int64, verdict: HostForecast.Verdict
    ) throws {
        let host = try Self.host(try Self.forecast(lives: 200, adoptionDays: adoptionDays, spares: [2]))
        let last = try #require(host.eras.last)
        #expect(last.lifetime == 47 * Self.day && last.interval == 47 * Self.day * 2 / 3)
        #expect(last.verdict == verdict, "\(last.slackAtMost)")
    }

    @Test(
        arguments: [
            ("2026-01-31T12:00:00Z", 398, [398, 200, 100, 47]), ("2026-11-28T12:00:00Z", 200, [200, 100, 47]),
            ("2026-11-28T12:00:00Z", 90, [90, 47]), ("2026-11-28T12:00:00Z", 45, [45]),
            ("2030-01-01T00:00:00Z", 47, [47]), ("2026-11-28T12:00:00Z", 3650, [3650]),
        ] as [(String, Int64, [Int64])])
    func `certificates live no longer than public authorities may issue at each date`(
        now: String, lives: Int64, days: [Int64]
    ) throws {
        let now = try #require(Timestamp(rfc3339: now))
        let host = try Self.host(try Self.forecast(lives: lives, at: now))
        #expect(host.eras.map { $0.lifetime / Self.day } == days)
        #expect(host.eras.first?.from == now && host.eras.dropFirst().allSatisfy { $0.from > now })
    }

    @Test func `a spare that was published late does not reach clients in time`() throws {
        // 5 days to the renewal, published now: 8 days are needed.
        let late = try #require(
            try Self.host(try Self.forecast(lives: 90, begunDaysAgo: 55, pinnedDaysAgo: 0)).next)
        #expect(late.verdict == .fails && late.slackAtMost == -3 * Self.day)
    }

    @Test func `a missing spare can be published now at the earliest`() throws {
        let forecast = try Self.forecast(lives: 90, begunDaysAgo: 40, spares: [])
        let next = try #require(try Self.host(forecast).next)
        #expect(next.spare == nil && next.slackAtMost == 12 * Self.day)
    }

    @Test func `an overdue renewal is due at any moment`() throws {
        let next = try #require(try Self.host(try Self.forecast(lives: 90, begunDaysAgo: 80)).next)
        #expect(next.at == monday && next.slackAtMost == 22 * Self.day)
        let bare = try Self.host(try Self.forecast(lives: 90, begunDaysAgo: 80, spares: []))
        #expect(bare.next?.verdict == .fails)
    }

    @Test func `a server whose keys are not pinned fails already`() throws {
        let host = try Self.host(try Self.forecast(lives: 90, presenting: [7, 9]))
        #expect(host.verdict == .fails && host.remark?.contains("already") == true)
    }

    @Test func `clients that only report are not affected`() throws {
        let host = try Self.host(try Self.forecast(lives: 90, adoptionDays: 90, mode: .reportOnly))
        #expect(host.verdict == .unaffected)
    }

    @Test func `each further spare is published one renewal earlier`() throws {
        let (one, two) = (
            try Self.host(try Self.forecast(lives: 47, spares: [2])), try Self.host(try Self.forecast(lives: 47))
        )
        #expect(
            try #require(two.eras.first).slackAtMost - #require(one.eras.first).slackAtMost == 47 * Self.day * 2 / 3)
    }

    @Test func `clients that trust an authority's key are not affected`() throws {
        let host = try Self.host(try Self.forecast(lives: 90, presenting: [8, 2]))
        #expect(host.verdict == .unaffected && host.next == nil && host.remark?.contains("authority") == true)
    }

    @Test func `adoption that was not measured is unknown and never fine`() throws {
        let host = try Self.host(try Self.forecast(lives: 90, adoptionDays: nil))
        #expect(host.verdict == .unknown && host.next?.slackAtLeast == nil)
        // Delivery alone takes longer than the time between renewals.
        let short = try Self.host(try Self.forecast(lives: 1, begunDaysAgo: 0, pinnedDaysAgo: 0, adoptionDays: nil))
        #expect(short.verdict == .fails)
    }

    @Test func `a host that no probe has seen is unknown`() throws {
        var state = LedgerState()
        state.apps.insert(try #require(try given(sound)))
        let forecast = try state.forecast(of: shop, adoption: nil, in: context(at: monday)) { _ in nil }
        #expect(try Self.host(forecast).verdict == .unknown && forecast.adoption == nil)
        #expect(throws: Refusal.appUnknown(appID("com.example.other"))) {
            try state.forecast(of: appID("com.example.other"), adoption: nil, in: context()) { _ in nil }
        }
    }

    @Test(
        arguments: [
            ([(5, 10), (9, 20)], [5: (99, 100), 9: (99, 100)], 0, 10),
            ([(5, 10), (9, 3)], [5: (99, 100), 9: (90, 95)], 3, 10),
            ([(5, 10), (9, 3)], [5: (97, 98), 9: (90, 95)], 10, nil), ([(5, 10)], [:], 0, nil),
            // Too few clients were seen to say either.
            ([(5, 10)], [5: (80, 100)], 0, nil), ([(5, 3), (9, 10)], [5: (99, 100), 9: (90, 95)], 3, 3),
        ] as [([(Int64, Int64)], [Int64: (Int, Int)], Int64, Int64?)])
    func `adoption lies between the ages of versions that clients hold and do not hold`(
        points: [(Int64, Int64)], shares: [Int64: (Int, Int)], atLeast: Int64, atMost: Int64?
    ) {
        let time = AdoptionTime(
            points.map { (version: $0.0, since: monday.adding(seconds: -$0.1 * Self.day)) }, at: monday
        ) { version in shares[version].map { installs($0.0, $0.1) } }
        #expect(time.atLeast == atLeast * Self.day && time.atMost == atMost.map { $0 * Self.day })
    }

    @Test func `the slack of every forecast is the time less what a pin needs`() throws {
        var seeded = SeededGenerator(seed: TestSeed.chosen(or: 800))
        for _ in 0..<TestDepth.rounds(500) {
            let lives = Int64.random(in: 1...800, using: &seeded)
            let adoption = Int64.random(in: 0...60, using: &seeded)
            let forecast = try Self.forecast(lives: lives, begunDaysAgo: 0, adoptionDays: adoption, spares: [2])
            let host = try Self.host(forecast)
            for era in host.eras {
                #expect(era.slackAtMost == era.interval - (adoption + 1) * Self.day, "\(lives) \(adoption)")
                #expect((era.verdict == .fails) == (era.slackAtMost < 0), "\(lives) \(adoption)")
            }
            // Shorter lives are never easier.
            #expect(
                zip(host.eras, host.eras.dropFirst()).allSatisfy { $0.slackAtMost > $1.slackAtMost },
                "\(lives) \(adoption)")
        }
    }
}

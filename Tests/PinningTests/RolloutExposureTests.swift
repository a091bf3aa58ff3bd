import PinWire
import Pinning
import Testing

/// What share of devices a candidate really reaches, and what a plan asks of people.
@Suite struct `A rollout's exposure` {
    struct Line: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var app: Rollout?
        var host: Rollout?
        /// In basis points.
        var share: Double
        var basis: RolloutExposure.Basis = .product
        var says: [String] = []
    }

    static let lines = [
        Line(testDescription: "is everybody without rollouts", share: 10_000, says: ["100 % of devices"]),
        Line(
            testDescription: "is the host's alone", host: Rollout(basisPoints: 500), share: 500,
            says: ["5 % of devices"]),
        Line(
            testDescription: "is the app's alone", app: Rollout(basisPoints: 25), share: 25, says: ["0.25 % of devices"]
        ),
        Line(
            testDescription: "is the product of independent ones", app: Rollout(basisPoints: 500),
            host: Rollout(basisPoints: 2500), share: 125, says: ["1.25 % of devices", "independent buckets"]),
        Line(
            testDescription: "is as small as it is", app: Rollout(basisPoints: 1), host: Rollout(basisPoints: 1),
            share: 0.0001, says: ["0.000001 % of devices"]),
        Line(
            testDescription: "is the smaller one of the same buckets", app: Rollout(basisPoints: 500, salt: "s"),
            host: Rollout(basisPoints: 2500, salt: "s"), share: 500, basis: .minimum, says: ["the same buckets"]),
        Line(
            testDescription: "is the product where ids differ",
            app: Rollout(basisPoints: 500, seed: [.userID], salt: "s"),
            host: Rollout(basisPoints: 2500, salt: "s"), share: 125),
        Line(
            testDescription: "is the product where buckets are drawn otherwise",
            app: Rollout(basisPoints: 500, salt: "s"),
            host: Rollout(basisPoints: 2500, salt: "s", bucketing: .unleash), share: 125),
        Line(
            testDescription: "is nobody but the listed",
            host: Rollout(
                basisPoints: 5000, method: .whitelist, whitelist: [Rollout.hashedID("x", salt: "s")]), share: 0,
            says: ["0 % of devices", "1 listed ids"]),
        Line(
            testDescription: "is of some countries",
            host: Rollout(basisPoints: 5000, method: .geography, countries: ["AT", "DE"]),
            share: 5000, says: ["known to be in AT, DE"]),
    ]

    @Test(arguments: lines) func `a rollout's exposure is reported`(line: Line) throws {
        var app = try #require(try given([CandidateTests.enforced, CandidateTests.copy]))
        app.rollout = line.app
        app.hosts[api]?.rollout = line.host
        let exposure = try #require(RolloutExposure(of: api, in: app))
        #expect(Double(exposure.share) / 10_000 == line.share)
        #expect(exposure.basis == line.basis)
        for part in line.says { #expect(exposure.sentence.contains(part), "\(exposure.sentence)") }
        let points = exposure.json["effective_basis_points"]
        #expect(points == .integer(Int64(line.share)) || points == .number(line.share))
    }

    @Test func `a rollout's exposure is reported with the version gate, and only for candidates`() throws {
        var app = try #require(try given([CandidateTests.enforced]))
        #expect(RolloutExposure(of: api, in: app) == nil)
        app.evolve(.candidateStarted(api, mode: .off), at: noon)
        app.versionGate = VersionGate(minimum: version("1.5"), excluded: [version("2.0")], minimumBuild: 7)
        let sentence = RolloutExposure(of: api, in: app)?.sentence ?? ""
        #expect(
            sentence.hasSuffix(
                "The version gate admits only these devices: from 1.5, without 2.0, of build 7 or later."),
            "\(sentence)")
    }

    // MARK: What a plan asks of people

    private func items(_ commands: [AppCommand], after seconds: Int64) throws -> ([AttentionItem], [CalendarEntry]) {
        var state = LedgerState()
        state.apps.insert(try #require(try given(RolloutPlanTests.started + commands)))
        let context = `A step of a rollout plan`.context(unseen, at: noon.adding(seconds: seconds))
        let items = state.attention(of: shop, in: context).items.filter { $0.kind.rawValue.hasPrefix("rollout") }
        let dates =
            state.calendar(of: shop, in: context)?.entries.filter { $0.kind.rawValue.hasPrefix("rollout") } ?? []
        return (items, dates)
    }

    @Test func `a rollout's exposure is in the lists of what is to be done`() throws {
        let approved = RolloutPlan.Terms(steps: [.init(100, .init(seconds: 10, needsApproval: true)), .init(200)])
        var (items, dates) = try self.items([.rollout(api, .setPlan(approved))], after: 5)
        #expect(items.isEmpty)
        #expect(dates.map(\.kind) == [.rolloutDue] && dates.map(\.date) == [noon.adding(seconds: 10)])
        (items, _) = try self.items([.rollout(api, .setPlan(approved))], after: 10)
        #expect(items.map(\.kind) == [.rolloutApproval] && items.first?.severity == .soon)
        #expect(items.first?.host == api)
        for cause in RolloutPlan.Cause.allCases {
            (items, dates) = try self.items(
                [.rollout(api, .setPlan(approved)), .rollout(api, .pause(cause, detail: "so"))], after: 10)
            #expect(items.map(\.kind) == [.rolloutPaused])
            #expect(items.first?.severity == (cause == .requested ? .info : .soon))
            #expect(dates.isEmpty)
        }
        (items, _) = try self.items(
            [.rollout(api, .setPlan(approved)), .rollout(api, .rollBack(.requested, detail: nil))], after: 10)
        #expect(items.map(\.kind) == [.rolloutRolledBack])
        let start = noon.adding(seconds: 500)
        let scheduled = RolloutPlan.Terms(steps: [.init(100)], startsAt: start)
        (items, dates) = try self.items([.rollout(api, .setPlan(scheduled))], after: 10)
        #expect(items.isEmpty && dates.map(\.kind) == [.rolloutStarts] && dates.map(\.date) == [start])
    }
}

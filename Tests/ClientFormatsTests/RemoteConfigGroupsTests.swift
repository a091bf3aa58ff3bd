import ClientFormats
import PinWire
import Pinning
import Testing

private typealias Examples = RemoteConfigExamples
private typealias Templates = RemoteConfigTemplates

@Suite struct `A rollout in a remote configuration's template` {
    /// Two hosts with pins on both sides, one whose share the value carries, one that waits for the app alone.
    private static let three = Examples.view(
        [
            Templates.rolling(Examples.api, 1, Rollout(basisPoints: 2550, salt: "api")),
            Templates.rolling(
                Examples.pay, 5, Rollout(basisPoints: 5000, method: .geography, salt: "pay", countries: ["SG", "ID"])),
            Examples.entry(
                Examples.web, nil, candidate: Examples.policy(.enforce, 9, 10), Rollout(basisPoints: 3000)),
            Templates.rolling(Examples.host("all.example.com"), 11, nil),
        ], rollout: Rollout(basisPoints: 4000, salt: "app"), gate: VersionGate(minimum: Examples.version("1.5")))

    @Test func `a rollout in a template decides each host as its gate and its rollouts do`() throws {
        let template = try Templates.client(Self.three)
        #expect(template.conditions.count == 4)
        let lots: [Double] = [0, 10, 25.5, 25.51, 40, 40.01, 50, 50.01, 99]
        var checked = 0
        for app in lots {
            for (api, pay) in zip(lots + lots.reversed(), lots + lots) {
                for (version, country) in [("1.5", "ID"), ("1.4", "ID"), ("2", "DE"), (nil, "SG"), ("1.5", nil)] {
                    let install = RemoteConfigInstall(
                        version: version, country: country, lot: { ["app": app, "api": api, "pay": pay][$0] ?? 100 })
                    let config = try Templates.decode(template.value(for: install))
                    let isIn = app <= 40 && version != nil && version != "1.4"
                    func pins(_ baseline: Int, _ isCandidate: Bool) -> RemoteConfigOutcome {
                        let first = isCandidate ? baseline + 2 : baseline
                        return .pinned([Examples.text(first), Examples.text(first + 1)])
                    }
                    #expect(config.outcome(for: "api.example.com") == pins(1, isIn && api <= 25.5))
                    let isThere = country == "ID" || country == "SG"
                    #expect(config.outcome(for: "pay.example.com") == pins(5, isIn && isThere && pay <= 50))
                    #expect(config.outcome(for: "all.example.com") == pins(11, isIn))
                    #expect(config.hosts["web.example.com"]?.rolloutPercentage == (isIn ? 30 : nil))
                    checked += 1
                }
            }
        }
        #expect(checked == 9 * 18 * 5)
    }

    /// 25.5 % of 2000 ids, by the structures that server SDKs evaluate and by the function on its own.
    @Test func `a rollout in a server template picks the devices that Firebase's SDK picks`() throws {
        let view = Examples.view([Templates.rolling(Examples.api, 1, Rollout(basisPoints: 2550, salt: "canary"))])
        let template = try Templates.server(view)
        #expect(
            try template.conditions.first?["condition"]
                == JSON(
                    text: #"""
                        {"orCondition":{"conditions":[{"andCondition":{"conditions":[
                        {"percent":{"percentOperator":"LESS_OR_EQUAL","microPercent":25500000,"seed":"canary"}}]}}]}}
                        """#))
        var count = 0
        for number in 0..<2000 {
            let id = "install-\(number)"
            let isIn = try #require(FirebasePercent(of: id, seed: "canary")).isAtMost(25_500_000)
            let pins: Set = isIn ? [Examples.text(3), Examples.text(4)] : [Examples.text(1), Examples.text(2)]
            #expect(try Templates.decode(template.value(id: id)).outcome(for: "api.example.com") == .pinned(pins))
            count += isIn ? 1 : 0
        }
        #expect(count == 531)
    }

    @Test func `a rollout in a server template asks the app's signals`() throws {
        let template = try Templates.server(Self.three)
        let inside = try #require(
            (0..<1000).map { "id-\($0)" }.first { FirebasePercent(of: $0, seed: "app")?.isAtMost(40_000_000) ?? false })
        func outcome(_ signals: [String: String]) throws -> RemoteConfigOutcome {
            try Templates.decode(template.value(id: inside, signals)).outcome(for: "all.example.com")
        }
        #expect(try outcome(["app_version": "1.5.0"]) == .pinned([Examples.text(13), Examples.text(14)]))
        #expect(try outcome(["app_version": "1.4.0"]) == .pinned([Examples.text(11), Examples.text(12)]))
        #expect(try outcome([:]) == .pinned([Examples.text(11), Examples.text(12)]))
    }

    @Test func `a template nests rollouts of one salt`() throws {
        let hosts = (0..<12).map { number in
            Templates.rolling(
                Examples.host("h\(number).example.com"), number * 4,
                Rollout(basisPoints: (number + 1) * 800, salt: "release-7"))
        }
        let template = try Templates.client(Examples.view(hosts))
        #expect(template.conditions.count == 12)
        for lot in [0.0, 8, 8.01, 50, 95.9, 96.1] {
            let config = try Templates.decode(template.value(for: RemoteConfigInstall(lot: { _ in lot })))
            for number in 0..<12 {
                let first = lot <= Double((number + 1) * 8) ? number * 4 + 2 : number * 4
                #expect(
                    config.outcome(for: "h\(number).example.com")
                        == .pinned([Examples.text(first), Examples.text(first + 1)]))
            }
        }
    }

    @Test func `a rollout in a template divides devices into at most 16 groups`() throws {
        func view(_ count: Int, kills: [Document.KillSwitch] = []) -> ClientView {
            Examples.view(
                (0..<count).map {
                    Templates.rolling(
                        Examples.host("h\($0).example.com"), $0 * 4, Rollout(basisPoints: 5000, salt: "s\($0)"))
                }, kills: kills)
        }
        #expect(try Templates.client(view(4)).conditions.count == 15)
        #expect(try RemoteConfigRules(view(4), settings: Templates.settings).withheld == nil)
        let rules = try RemoteConfigRules(view(5), settings: Templates.settings)
        #expect(rules.withheld == .tooManyRollouts(values: 32, limit: 16) && rules.rules.isEmpty)
        #expect(try RemoteConfigRules(view(200), settings: Templates.settings).withheld != nil)
        // A kill switch is told however many there are.
        let killed = try Templates.client(view(5, kills: [Examples.kill("app", nil)]))
        let config = try Templates.decode(killed.value(for: RemoteConfigInstall(lot: { _ in 1 })))
        #expect(config.outcome(for: "h1.example.com") == .unpinned)
        let versions = VersionGate(maximum: Examples.version("1.5"))
        let narrow = try Templates.client(view(5, kills: [Examples.kill("app_versions", versions: versions)]))
        let host = try Templates.client(view(5, kills: [Examples.kill("host", Examples.host("h1.example.com"))]))
        for (template, version, isOff) in [(narrow, "1.5", true), (narrow, "1.6", false), (host, "1.6", true)] {
            let install = RemoteConfigInstall(version: version, lot: { _ in 1 })
            let outcome = try Templates.decode(template.value(for: install)).outcome(for: "h1.example.com")
            #expect(outcome == (isOff ? .unpinned : .pinned([Examples.text(4), Examples.text(5)])))
        }
    }

    @Test func `a rollout at 100 % is kept in the template however little room there is`() throws {
        let lots = (0..<5).map {
            Templates.rolling(Examples.host("h\($0).example.com"), $0 * 4, Rollout(basisPoints: 5000, salt: "s\($0)"))
        }
        let all = Templates.rolling(Examples.api, 40, Rollout(basisPoints: 10_000, salt: "all"))
        let template = try Templates.client(Examples.view(lots + [all]))
        let config = try Templates.decode(template.value(for: RemoteConfigInstall(lot: { _ in 1 })))
        #expect(config.outcome(for: "api.example.com") == .pinned([Examples.text(42), Examples.text(43)]))
        #expect(config.outcome(for: "h0.example.com") == .pinned([Examples.text(0), Examples.text(1)]))
    }

    @Test func `a rollout in a template carries a share of less than one per cent in a condition`() throws {
        let view = Examples.view([
            Examples.entry(
                Examples.api, nil, candidate: Examples.policy(.enforce, 1, 2), Rollout(basisPoints: 5, salt: "api"))
        ])
        let template = try Templates.client(view)
        #expect(template.expressions == ["percent('api') <= 0.05"])
        let config = try Templates.decode(template.value(for: RemoteConfigInstall(lot: { _ in 0.04 })))
        #expect(config.hosts["api.example.com"]?.rolloutPercentage == 100)
        let other = try Templates.decode(template.value(for: RemoteConfigInstall(lot: { _ in 0.06 })))
        #expect(other.outcome(for: "api.example.com", bucket: 0, shipped: ["api.example.com"]) == .builtin)
    }

    @Test func `a rollout in a template gives the baseline where no device can be chosen`() throws {
        let secret = Rollout(basisPoints: 5000, exclusions: [Rollout.hashedID("a", salt: "s")])
        let views = [
            Examples.view([Templates.rolling(Examples.api, 1, secret)]),
            Examples.view([Templates.rolling(Examples.api, 1, nil)], rollout: secret),
            Examples.view([Templates.rolling(Examples.api, 1, Rollout(basisPoints: 0))]),
            Examples.view([Templates.rolling(Examples.api, 1, nil)], rollout: Rollout(basisPoints: 0)),
        ]
        for view in views {
            let template = try Templates.client(view)
            #expect(template.conditions.isEmpty)
            #expect(
                try Templates.decode(template.value(for: RemoteConfigInstall(lot: { _ in 0 }))).outcome(
                    for: "api.example.com")
                    == .pinned([Examples.text(1), Examples.text(2)]))
        }
    }
}

import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

private typealias Examples = RemoteConfigExamples
private typealias Templates = RemoteConfigTemplates

@Suite struct `A remote configuration's template` {
    private static let plain = [Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2))]

    @Test func `a template of an app without rollouts has these bytes`() throws {
        let view = Examples.view(Self.plain)
        let rules = try RemoteConfigRules(view, settings: Templates.settings)
        let value = RemoteConfigValue(view, settings: Templates.settings).text
        let text =
            #"{"conditions":[],"parameters":{"ssl_pinning_config":{"defaultValue":{"value":"#
            + JSON.string(value).canonicalText + #"},"conditionalValues":{},"#
            + #""description":"TLS pins. Rendered by Pinledger; edits here are lost.","valueType":"JSON"}},"#
            + #""version":{"description":"Pinledger: com.example.shop, document 42"}}"#
        #expect(String(decoding: rules.clientTemplate, as: UTF8.self) == text)
        #expect(rules.serverTemplate == rules.clientTemplate)
    }

    // Kill switches

    private static let busy = Examples.view(
        [Templates.rolling(Examples.api, 1, Rollout(basisPoints: 2500, salt: "api"))],
        kills: [
            Examples.kill("app"),
            Examples.kill(
                "app_versions",
                versions: VersionGate(
                    minimum: Examples.version("3.1.0"), maximum: Examples.version("3.1.4"),
                    excluded: [Examples.version("3.1.2"), Examples.version("3.1.3-rc1")], minimumBuild: 7)),
        ],
        rollout: Rollout(basisPoints: 4050, salt: "app"), gate: VersionGate(minimum: Examples.version("1.5")),
        validUntil: Timestamp(seconds: Examples.noon.seconds + 86_400))

    @Test func `a template asks its conditions in this order`() throws {
        let template = try Templates.client(Self.busy)
        #expect(
            template.expressions == [
                "dateTime < dateTime('2026-01-31T13:00:00')",
                "app.version.>=(['3.1.0']) && app.version.<(['3.1.2']) && app.build.>=(['7']) && "
                    + "dateTime < dateTime('2026-01-31T13:00:00')",
                "app.version.>(['3.1.2']) && app.version.<=(['3.1.4']) && app.build.>=(['7']) && "
                    + "dateTime < dateTime('2026-01-31T13:00:00')",
                "dateTime >= dateTime('2026-02-01T12:00:00')",
                "app.version.>=(['1.5']) && percent('app') <= 40.5 && percent('api') <= 25",
            ])
        #expect(
            template.names == [
                "pinledger com.example.shop kill switch app",
                "pinledger com.example.shop kill switch versions 895b8643",
                "pinledger com.example.shop kill switch versions 9b59d0c2",
                "pinledger com.example.shop expired",
                "pinledger com.example.shop candidate 6972a9f7",
            ])
    }

    /// Other parameters of a project may have values under them, which are for the same devices then as now.
    @Test func `a template names a condition the same whatever else it holds`() throws {
        func names(_ shares: (Int?, Int), kills: [Document.KillSwitch] = []) throws -> [String] {
            let api = shares.0.map { Templates.rolling(Examples.api, 1, Rollout(basisPoints: $0, salt: "one")) }
            let pay = Templates.rolling(Examples.pay, 5, Rollout(basisPoints: shares.1, salt: "one"))
            return try Templates.client(Examples.view([api, pay].compactMap(\.self), kills: kills)).names
        }
        let usual = try names((1000, 5000))
        #expect(usual.count == 2)
        #expect(try names((3000, 6000)) == usual)
        #expect(try names((nil, 5000)) == [usual[1]])
        #expect(
            try names((1000, 5000), kills: [Examples.kill("app")])
                == ["pinledger com.example.shop kill switch app"] + usual)
        let versions = VersionGate(maximum: Examples.version("2.0"))
        let one = try names((1000, 5000), kills: [Examples.kill("app_versions", versions: versions)])
        let two = try names(
            (1000, 5000), kills: [Examples.kill("everything"), Examples.kill("app_versions", versions: versions)])
        #expect(two == ["pinledger com.example.shop kill switch everything"] + one)
        let host = try names((1000, 5000), kills: [Examples.kill("host", Examples.api)])
        #expect(host.suffix(2) == usual[...] && Set(host).count == 4)
    }

    /// Whatever else is true of an install.
    @Test func `a template lets nothing win over a kill switch`() throws {
        let client = try Templates.client(Self.busy)
        let server = try Templates.server(Self.busy)
        for version in [nil, "1.0", "1.5.0", "3.1.2", "99"] {
            for lot in [0.0, 25, 40.5, 99.9] {
                let install = RemoteConfigInstall(version: version, build: 9, lot: { _ in lot })
                #expect(try !Templates.decode(client.value(for: install)).enabled)
            }
            let signals = version.map { ["app_version": $0, "app_build": "9"] } ?? [:]
            #expect(try !Templates.decode(server.value(id: "install", signals)).enabled)
        }
        // Once it is over, what holds then is there.
        let later = Examples.noon.seconds + 3600
        let install = RemoteConfigInstall(version: "1.5.0", time: later, lot: { _ in 20 })
        #expect(
            try Templates.decode(client.value(for: install)).outcome(for: "api.example.com")
                == .pinned([Examples.text(3), Examples.text(4)]))
        let late = RemoteConfigInstall(version: "1.5.0", time: later + 86_400)
        #expect(try !Templates.decode(client.value(for: late)).enabled)
    }

    @Test(
        arguments: [
            ("3.1.0", 7, false), ("3.1", 8, false), ("3.1.1.9", 7, false), ("3.1.2", 7, true), ("3.1.2.1", 7, false),
            ("3.1.3", 7, false), ("3.1.4", 7, false), ("3.1.5", 7, true), ("3.0.9", 7, true), ("3.1.0", 6, true),
            ("3.1.3-rc1", 7, true), (nil, 7, true), ("3.1.0", nil, true),
        ] as [(String?, Int64?, Bool)])
    func `a template turns pinning off for the versions of a kill switch`(version: String?, build: Int64?, isOn: Bool)
        throws
    {
        let view = Examples.view(Self.plain, kills: Array(Self.busy.document.killSwitches.dropFirst()))
        let value = try Templates.client(view).value(for: RemoteConfigInstall(version: version, build: build))
        #expect(try Templates.decode(value).enabled == isOn)
        var signals: [String: String] = [:]
        // Firebase's SDK compares no pre-releases; it is passed none.
        if let version, !version.contains("-") { signals["app_version"] = version }
        if let build { signals["app_build"] = "\(build)" }
        #expect(try Templates.decode(Templates.server(view).value(id: "install", signals)).enabled == isOn)
    }

    /// Among releases a pre-release is a bound between two of them.
    @Test(arguments: [
        (VersionGate(minimum: RemoteConfigExamples.version("2.0-rc1")), ["app.version.>=(['2.0'])"]),
        (VersionGate(maximum: RemoteConfigExamples.version("2.0-rc1")), ["app.version.<(['2.0'])"]),
        (VersionGate(maximum: RemoteConfigExamples.version("2.0+7")), ["app.version.<=(['2.0'])"]),
        (
            VersionGate(
                minimum: RemoteConfigExamples.version("1.0"), maximum: RemoteConfigExamples.version("2.0"),
                excluded: ["1.0.0", "2.0", "1.5", "1.5.0", "0.9", "2.1"].map(RemoteConfigExamples.version)),
            ["app.version.>(['1.0.0']) && app.version.<(['1.5'])", "app.version.>(['1.5']) && app.version.<(['2.0'])"]
        ),
        (VersionGate(minimumBuild: 12), ["app.build.>=(['12'])"]),
    ])
    func `a template says a version range in releases`(range: VersionGate, expressions: [String]) throws {
        let view = Examples.view(Self.plain, kills: [Examples.kill("app_versions", versions: range)])
        let end = " && dateTime < dateTime('2026-01-31T13:00:00')"
        #expect(try Templates.client(view).expressions == expressions.map { $0 + end })
    }

    @Test func `a template has no condition for a kill switch that is over, lies ahead, or changes nothing`() throws {
        let kills = [
            Examples.kill("app", until: 0), Examples.kill("everything", from: 1),
            Examples.kill("app_versions", versions: VersionGate()), Examples.kill("app_versions"),
        ]
        #expect(try Templates.client(Examples.view(Self.plain, kills: kills)).conditions.isEmpty)
    }

    // Kill switches of hosts

    /// Until one and two hours from noon; a third host goes on, and rollouts are under way.
    private static let switchedOff = Examples.view(
        [
            Templates.rolling(Examples.api, 1, Rollout(basisPoints: 2500, salt: "api")),
            Templates.rolling(Examples.pay, 5, Rollout(basisPoints: 5000, salt: "pay")),
            Templates.rolling(Examples.web, 9, nil),
        ],
        kills: [
            Examples.kill("host", Examples.pay, until: 7200), Examples.kill("host", Examples.api),
            Examples.kill("host", Examples.host("gone.example.com"), until: 60),
        ])

    @Test func `a template ends a host's kill switch when it is over, and no sooner`() throws {
        let template = try Templates.client(Self.switchedOff)
        #expect(
            template.expressions == [
                "dateTime < dateTime('2026-01-31T13:00:00')",
                "percent('api') <= 25 && dateTime < dateTime('2026-01-31T14:00:00')",
                "dateTime < dateTime('2026-01-31T14:00:00')",
                "percent('api') <= 25 && percent('pay') <= 50", "percent('api') <= 25", "percent('pay') <= 50",
            ])
        for (offset, off) in [(0, 2), (3599, 2), (3600, 1), (7199, 1), (7200, 0), (86_400, 0)] {
            for lot in [10.0, 40, 60] {
                let install = RemoteConfigInstall(time: Examples.noon.seconds + Int64(offset), lot: { _ in lot })
                let config = try Templates.decode(template.value(for: install))
                func outcome(_ host: String) -> RemoteConfigOutcome {
                    config.outcome(for: host, bucket: 0, shipped: [host])
                }
                func pins(_ first: Int, _ isCandidate: Bool) -> RemoteConfigOutcome {
                    let first = isCandidate ? first + 2 : first
                    return .pinned([Examples.text(first), Examples.text(first + 1)])
                }
                #expect(outcome("api.example.com") == (off > 1 ? .unpinned : pins(1, lot <= 25)))
                #expect(outcome("pay.example.com") == (off > 0 ? .unpinned : pins(5, lot <= 50)))
                #expect(outcome("web.example.com") == pins(9, true))
            }
        }
    }

    @Test func `a template says for the present what the value says`() throws {
        let value = RemoteConfigValue(Self.switchedOff, settings: Templates.settings).text
        let client = try Templates.client(Self.switchedOff)
        #expect(try client.value(for: RemoteConfigInstall(lot: { _ in 100 })) == value)
        // Server templates know no time.
        let server = try Templates.server(Self.switchedOff)
        #expect(server.names.count == 1)
        #expect(try server.value(id: "install") == value)
    }

    @Test func `a template has no stage for a kill switch that changes nothing`() throws {
        let view = Examples.view(
            [Examples.entry(Examples.api, nil), Examples.entry(Examples.pay, Examples.policy(.off, 1, 2))],
            kills: [Examples.kill("host", Examples.pay), Examples.kill("host", Examples.web, until: 60)])
        #expect(try Templates.client(view).conditions.isEmpty)
    }

    @Test func `a template lets a kill switch for everything win over a host's, and ends both`() throws {
        let view = Examples.view(
            Self.plain, kills: [Examples.kill("host", Examples.api, until: 7200), Examples.kill("everything")])
        let template = try Templates.client(view)
        func config(_ offset: Int64) throws -> StrictAdvancedConfig {
            try Templates.decode(template.value(for: RemoteConfigInstall(time: Examples.noon.seconds + offset)))
        }
        #expect(try !config(0).enabled)
        #expect(try config(3600).enabled && config(3600).outcome(for: "api.example.com") == .unpinned)
        #expect(try config(7200).outcome(for: "api.example.com") != .unpinned)
    }

    /// Twenty hosts that are switched off, each a minute longer than the one before: those after the
    /// seventh wait for the last.
    @Test func `a template distinguishes at most eight ends of hosts' kill switches`() throws {
        let hosts = (0..<20).map { Examples.host("h\($0).example.com") }
        let view = Examples.view(
            hosts.map { Examples.entry($0, Examples.policy(.enforce, 1, 2)) },
            kills: hosts.enumerated().map { Examples.kill("host", $1, until: Int64($0 + 1) * 60) })
        let template = try Templates.client(view)
        #expect(template.conditions.count == 8)
        func off(_ minutes: Int64) throws -> Int {
            let install = RemoteConfigInstall(time: Examples.noon.seconds + minutes * 60)
            let config = try Templates.decode(template.value(for: install))
            return hosts.count { config.outcome(for: $0.text) == .unpinned }
        }
        #expect(try [0, 1, 6, 7, 8, 19, 20].map(off) == [20, 19, 14, 13, 13, 13, 0])
    }

    /// To be told of a kill switch matters more than to be told of its end.
    @Test(arguments: [(100, 8), (1000, 1), (3000, 0)])
    func `a template leaves out ends for which there is no room`(count: Int, conditions: Int) throws {
        let hosts = (0..<count).map { Examples.host("host-\($0).example.com") }
        let kills = (0..<8).map { Examples.kill("host", hosts[$0], until: Int64($0 + 1) * 60) }
        let view = Examples.view(hosts.map { Examples.entry($0, Examples.policy(.enforce, 1, 2)) }, kills: kills)
        let template = try Templates.client(view)
        #expect(template.conditions.count == conditions)
        let config = try Templates.decode(template.value(for: RemoteConfigInstall()))
        #expect(hosts.count { config.outcome(for: $0.text) == .unpinned } == 8)
        let rules = try RemoteConfigRules(view, settings: Templates.settings)
        let size = rules.rules.reduce(rules.otherwise.bytes().count) { $0 + $1.value.bytes().count }
        #expect(size <= RemoteConfigQuota.characters)
    }

    @Test func `a template is off for all devices past the pins' time`() throws {
        let view = Examples.view(Self.plain, kills: [Examples.kill("app")], validUntil: Examples.noon)
        let template = try Templates.client(view)
        #expect(template.conditions.isEmpty)
        #expect(try !Templates.decode(template.value(for: RemoteConfigInstall())).enabled)
    }

    @Test func `a template of the simple schema knows kill switches only`() throws {
        let template = try Templates.client(Self.busy, ClientSettings(schema: .simple, parameter: "pins_v2"))
        #expect(template.conditions.count == 4)
        let text = try template.value("pins_v2") { _ in true }
        #expect(text == #"{"enabled":false,"target_hosts":[],"min_app_version":"1.0.0"}"#)
    }

    // The service's rules

    @Test func `a template keeps to the service's limits`() throws {
        let template = try Templates.client(Self.busy, app: "1:1234567890:ios:0a1b2c")
        #expect(Set(template.names).count == template.names.count)
        for name in template.names {
            #expect(
                name.wholeMatch(of: /[-_0-9a-zA-Z '!%.]{1,100}/) != nil
                    && name == name.trimmingCharacters(in: .whitespaces))
        }
        let text = String(
            decoding: try RemoteConfigRules(Self.busy, settings: Templates.settings).clientTemplate, as: UTF8.self)
        let values = try #require(text.firstRange(of: "conditionalValues"))
        let places = try Templates.client(Self.busy).names.map {
            try #require(text[values.upperBound...].firstRange(of: $0))
        }
        #expect(places.map(\.lowerBound) == places.map(\.lowerBound).sorted())
    }

    @Test func `a template can be limited to one Firebase app`() throws {
        let template = try Templates.client(Self.busy, app: "1:1:ios:aa")
        #expect(template.expressions.allSatisfy { $0.hasPrefix("app.id == '1:1:ios:aa'") })
        #expect(template.expressions.last == "app.id == '1:1:ios:aa'")
        #expect(template.names.last == "pinledger com.example.shop all installs")
        let later = Examples.noon.seconds + 3600
        #expect(try template.value(for: RemoteConfigInstall(time: later, app: "1:1:ios:bb")) == nil)
        #expect(try Templates.decode(template.value(for: RemoteConfigInstall(time: later))).enabled)
        #expect(try !Templates.decode(template.value(for: RemoteConfigInstall())).enabled)
    }

    /// Five lots, 101 stretches between versions, or a thousand hosts sixteen times.
    @Test func `a template without room leaves out rollouts, and never a kill switch`() throws {
        let versions = (0..<100).map { Examples.version("1.\($0)") }
        let hosts = (0..<4).map {
            Templates.rolling(Examples.host("h\($0).example.com"), $0 * 4, Rollout(basisPoints: 5000, salt: "s\($0)"))
        }
        let many = (0..<1000).map {
            Templates.rolling(
                Examples.host("h\($0).example.com"), $0 * 4, Rollout(basisPoints: 5000, salt: "s\($0 % 4)"))
        }
        let kill = Examples.kill("app_versions", versions: VersionGate(maximum: Examples.version("0.9")))
        for view in [
            Examples.view(hosts, kills: [kill], gate: VersionGate(excluded: versions)),
            Examples.view(many, kills: [kill]),
        ] {
            let rules = try RemoteConfigRules(view, settings: Templates.settings)
            #expect(rules.withheld != nil && rules.clientPart.withheld == rules.withheld)
            #expect(rules.rules.map(\.isKill) == [true])
            let template = try Templates.client(view)
            #expect(template.template["version"]?["description"]?.stringValue?.hasSuffix(", without rollouts") == true)
            func outcome(_ version: String) throws -> RemoteConfigOutcome {
                let install = RemoteConfigInstall(version: version, lot: { _ in 1 })
                return try Templates.decode(template.value(for: install)).outcome(for: "h1.example.com")
            }
            #expect(try outcome("0.9") == .unpinned)
            #expect(try outcome("2.0") == .pinned([Examples.text(4), Examples.text(5)]))
        }
        #expect(try RemoteConfigRules(Self.busy, settings: Templates.settings).withheld == nil)
    }

    @Test func `a template whose value for all devices is too large is refused, except under a full kill switch`()
        throws
    {
        let hosts = (0..<6000).map {
            Examples.entry(Examples.host("host-\($0).example.com"), Examples.policy(.enforce, 1, 2))
        }
        let refusal = #expect(throws: RemoteConfigRefusal.self) {
            try RemoteConfigRules(Examples.view(hosts), settings: Templates.settings)
        }
        guard case .tooLarge? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        let killed = try RemoteConfigRules(
            Examples.view(hosts, kills: [Examples.kill("app")]), settings: Templates.settings)
        #expect(killed.rules.isEmpty)
        #expect(try !Templates.decode(killed.otherwise.text()).enabled)
    }
}

import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

private typealias Examples = RemoteConfigExamples

@Suite struct `A remote configuration` {
    private static let usual = Examples.view(
        [
            Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2)),
            Examples.entry(
                Examples.pay, nil, candidate: Examples.policy(.enforce, 3, 4),
                Rollout(basisPoints: 5000, seed: [.installID, .deviceID])),
            Examples.entry(Examples.web, nil),
        ],
        fallback: Fallback(hosts: [Examples.api, Examples.host("old.example.com")]),
        monitoring: Monitoring(isEnabled: true, failureThreshold: 525, autoDisables: true))

    private static let simple = ClientSettings(schema: .simple)

    private static func strict(_ view: ClientView) throws -> StrictAdvancedConfig {
        try StrictAdvancedConfig(config: RemoteConfigValue(view, settings: ClientSettings()).text)
    }

    @Test func `a remote configuration of the advanced schema has these bytes`() {
        func entry(_ primary: Int, _ backup: Int, _ share: Int) -> String {
            #"{"enabled":true,"pins":{"primary":"\#(Examples.text(primary))","backup":"\#(Examples.text(backup))"},"#
                + #""rollout_percentage":\#(share),"rolloutPercentage":\#(share)}"#
        }
        let text =
            #"{"enabled":true,"rollout_percentage":100,"min_app_version":"0.0.0","hosts":{"#
            + #""api.example.com":\#(entry(1, 2, 100)),"pay.example.com":\#(entry(3, 4, 50))},"#
            + #""rollout_strategy":{"method":"percentage","seed":"install_id","sticky":true},"#
            + #""fallback":{"use_builtin_pins":true,"builtin_pin_hosts":["api.example.com","old.example.com","#
            + #""pay.example.com","web.example.com"]},"#
            + #""monitoring":{"enabled":true,"failure_threshold":5.25,"auto_disable":true}}"#
        #expect(RemoteConfigValue(Self.usual, settings: ClientSettings()).text == text)
        #expect(
            RemoteConfigValue(Self.usual, settings: ClientSettings())
                == RemoteConfigValue(Self.usual, settings: ClientSettings()))
    }

    @Test func `a remote configuration of the simple schema has these bytes`() {
        let text =
            #"{"enabled":true,"target_hosts":["api.example.com","old.example.com","pay.example.com","#
            + #""web.example.com"],"min_app_version":"0.0.0"}"#
        #expect(RemoteConfigValue(Self.usual, settings: Self.simple).text == text)
    }

    @Test func `a remote configuration is read by strict and tolerant apps alike`() throws {
        let text = RemoteConfigValue(Self.usual, settings: ClientSettings()).text
        let strict = try StrictAdvancedConfig(config: text)
        #expect(strict.hosts["pay.example.com"]?.rolloutPercentage == 50)
        #expect(strict.monitoring == .init(enabled: true, threshold: 5.25, disables: true))
        let tolerant = try TolerantAdvancedConfig(config: text)
        #expect(tolerant.hosts?["pay.example.com"]?.rollout_percentage == 50)
        #expect(tolerant.hosts?["api.example.com"]?.pins == ["primary": Examples.text(1), "backup": Examples.text(2)])
        let simple = RemoteConfigValue(Self.usual, settings: Self.simple).text
        #expect(try StrictSimpleConfig(config: simple).targets == CommaConfig(simple)?.targets)
    }

    @Test func `a remote configuration with a comma list would not be read by strict apps`() throws {
        let text = #"{"enabled":true,"target_hosts":"a.example.com,b.example.com","min_app_version":"1.0.0"}"#
        #expect(throws: DecodingError.self) { try StrictSimpleConfig(config: text) }
        #expect(CommaConfig(text)?.targets == ["a.example.com", "b.example.com"])
    }

    /// A number without a point is an integer to apps in Dart.
    @Test(arguments: [(500, "5.0"), (525, "5.25"), (550, "5.5"), (5, "0.05"), (1, "0.01"), (9999, "99.99")])
    func `a remote configuration spells the threshold with a point`(points: Int, text: String) {
        let value = RemoteConfigValue(
            Examples.view([], monitoring: Monitoring(failureThreshold: points)), settings: ClientSettings())
        #expect(value.text.contains(#""failure_threshold":\#(text),"#))
    }

    @Test(arguments: ["0.1", "0.0.1", "1", "1.0", "1.5.0", "2024.01.01", "10.0.0.7"])
    func `a remote configuration keeps every version of the app pinning`(version: String) throws {
        let config = try Self.strict(Self.usual)
        #expect(config.outcome(for: "api.example.com", version: version) != .unpinned)
    }

    // Kill switches

    private static let switches: [(Document.KillSwitch, Device)] = [
        (Examples.kill("everything"), Device()), (Examples.kill("app"), Device()),
        (
            Examples.kill("app_versions", versions: VersionGate(maximum: Examples.version("2.0"))),
            Device(appVersion: "1.9")
        ),
    ]
    static let killed: [ClientView] =
        switches.map { kill, device in
            Examples.view(usual.document.hosts, kills: [kill], fallback: usual.document.fallback, device: device)
        } + [Examples.view(usual.document.hosts, fallback: usual.document.fallback, validUntil: Examples.noon)]

    @Test(arguments: killed)
    func `a remote configuration turns everything off for a kill switch or past the pins' time`(view: ClientView)
        throws
    {
        #expect(
            RemoteConfigValue(view, settings: Self.simple).text
                == #"{"enabled":false,"target_hosts":[],"min_app_version":"1.0.0"}"#)
        let text = RemoteConfigValue(view, settings: ClientSettings()).text
        let config = try StrictAdvancedConfig(config: text)
        #expect(!config.enabled && config.hosts.isEmpty && config.fallback == .init(isUsed: false, hosts: []))
        #expect(try StrictSimpleConfig(config: text) == .init(enabled: false, targets: [], minimum: "1.0.0"))
        for host in ["api.example.com", "pay.example.com", "web.example.com", "old.example.com"] {
            #expect(config.outcome(for: host, bucket: 0, shipped: [host]) == .unpinned)
        }
    }

    @Test(arguments: [
        Examples.kill("everything", until: 0), Examples.kill("app", from: 60), Examples.kill("app", until: -1),
    ])
    func `a remote configuration pins while a kill switch is over or still ahead`(kill: Document.KillSwitch) throws {
        let view = Examples.view([Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2))], kills: [kill])
        #expect(try Self.strict(view).enabled)
    }

    @Test func `a remote configuration pins where a kill switch is for versions and the device's is not known`() throws
    {
        let view = Examples.view(
            [Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2))],
            kills: [Examples.kill("app_versions", versions: VersionGate(maximum: Examples.version("2.0")))])
        #expect(try Self.strict(view).enabled)
    }

    // Hosts

    /// A disabled host falls back to the app's own pins: it must not be among the hosts for which these are used.
    @Test(arguments: [
        (Examples.entry(Examples.api, Examples.policy(.off, 1, 2)), false),
        (Examples.entry(Examples.api, Examples.policy(.reportOnly, 1, 2)), false),
        (Examples.entry(Examples.api, Examples.policy(.off)), false),
        (Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2)), true),
        (Examples.entry(Examples.api, nil), true),
    ])
    func `a remote configuration pins no host that is off, report-only or switched off`(
        entry: Document.Host, isKilled: Bool
    ) throws {
        let view = Examples.view(
            [entry], kills: isKilled ? [Examples.kill("host", Examples.api)] : [],
            fallback: Fallback(hosts: [Examples.api]))
        let config = try Self.strict(view)
        #expect(config.enabled)
        #expect(config.outcome(for: "api.example.com", bucket: 0, shipped: ["api.example.com"]) == .unpinned)
        #expect(try StrictSimpleConfig(config: RemoteConfigValue(view, settings: Self.simple).text).targets.isEmpty)
    }

    @Test func `a remote configuration uses no built-in pins for a name below a host that is off`() throws {
        let view = Examples.view(
            [Examples.entry(Examples.host("*.example.com"), Examples.policy(.off, 1, 2))],
            fallback: Fallback(hosts: [Examples.api, Examples.host("other.example.net")]))
        #expect(try Self.strict(view).fallback.hosts == ["other.example.net"])
    }

    @Test func `a remote configuration leaves a host with built-in pins to them`() throws {
        for fallback in [Fallback(), Fallback(usesBuiltinPins: false)] {
            let config = try Self.strict(Examples.view([Examples.entry(Examples.api, nil)], fallback: fallback))
            #expect(config.hosts.isEmpty)
            #expect(config.outcome(for: "api.example.com", shipped: ["api.example.com"]) == .builtin)
        }
    }

    @Test func `a remote configuration enforces a host's only pin, which is its backup too`() throws {
        let view = Examples.view([
            Examples.entry(Examples.api, Examples.policy(.enforce, 1)),
            Examples.entry(Examples.pay, Examples.policy(.enforce, 2, 3)),
        ])
        let config = try Self.strict(view)
        #expect(config.outcome(for: "api.example.com") == .pinned([Examples.text(1)]))
        #expect(config.outcome(for: "pay.example.com") == .pinned([Examples.text(2), Examples.text(3)]))
    }

    @Test func `a remote configuration without a backup would not be read by strict apps`() throws {
        let whole = RemoteConfigValue(Self.usual, settings: ClientSettings()).text
        for member in ["min_app_version", "rollout_strategy", "fallback", "monitoring", "backup", "rolloutPercentage"] {
            #expect(throws: DecodingError.self) {
                try StrictAdvancedConfig(config: whole.replacing("\"\(member)\"", with: "\"x_\(member)\""))
            }
        }
    }

    @Test func `a remote configuration leaves out a host without pins`() throws {
        let view = Examples.view([
            Examples.entry(Examples.api, Examples.policy(.enforce)),
            Examples.entry(Examples.pay, Examples.policy(.enforce, 2, 3)),
        ])
        #expect(try Self.strict(view).hosts.keys.sorted() == ["pay.example.com"])
    }

    @Test func `a remote configuration names wildcards as they are, which apps compare letter by letter`() throws {
        let view = Examples.view([
            Examples.entry(Examples.host("*.example.com"), Examples.policy(.enforce, 1, 2)),
            Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2), includesSubdomains: true),
        ])
        #expect(try Self.strict(view).hosts.keys.sorted() == ["*.example.com", "api.example.com"])
    }

    @Test func `a remote configuration of the simple schema names only hosts whose pins the app is known to have`()
        throws
    {
        let view = Examples.view(
            [
                Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2)),
                Examples.entry(Examples.pay, Examples.policy(.enforce, 3, 4)),
            ], fallback: Fallback(usesBuiltinPins: false, hosts: [Examples.pay, Examples.web]))
        let text = RemoteConfigValue(view, settings: Self.simple).text
        #expect(try StrictSimpleConfig(config: text).targets == ["pay.example.com"])
    }
}

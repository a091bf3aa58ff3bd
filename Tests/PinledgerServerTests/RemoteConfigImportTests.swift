import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite struct RemoteConfigImportTests {
    private static let one = Pin(bytes: sha256(Array("one".utf8)))?.description ?? ""
    private static let two = Pin(bytes: sha256(Array("two".utf8)))?.description ?? ""
    private static let app = try? AppID("com.example.app")

    private func plan(_ text: String, _ state: App? = nil) throws -> ImportPlan {
        let id = try #require(Self.app)
        let filled = text.replacing("$1", with: Self.one).replacing("$2", with: Self.two)
        return RemoteConfigImport.plan(try JSON(text: filled), for: id, state, isPublicSuffix: { $0 == "co.uk" })
    }

    private static let pins = #"{"primary": "$1", "backup": "$2"}"#

    @Test(arguments: [
        #"{"hosts": {"api.example.com": {"pins": \#(pins)}}}"#,
        #"{"ssl_pinning_config": {"enabled": true, "hosts": {"api.example.com": {"enabled": true, "pins": \#(pins)}}}}"#,
        #"{"enabled": true, "rollout_percentage": 100, "hosts": {"api.example.com": {"pins": \#(pins), "rolloutPercentage": 100}}}"#,
        #"{"enabled": true, "rolloutPercentage": 100.0, "hosts": {"api.example.com": {"pins": \#(pins), "rollout_percentage": 100}}}"#,
    ])
    func `a rollout to all devices is imported as the baseline`(text: String) throws {
        let plan = try self.plan(text)
        #expect(plan.fatal.isEmpty)
        let host = try HostPattern("api.example.com")
        let pins = [
            AppCommand.NewPin(pin: try Pin(text: Self.one), role: .primary),
            .init(pin: try Pin(text: Self.two), role: .backup),
        ]
        #expect(plan.commands.contains(.addHost(host, includesSubdomains: false, mode: .enforce, pins: pins)))
    }

    @Test(arguments: [
        (#""rollout_percentage": 25, "hosts": {"api.example.com": {"pins": \#(pins)}}"#, 2500),
        (#""hosts": {"api.example.com": {"pins": \#(pins), "rollout_percentage": 50}}"#, 5000),
        (#""hosts": {"api.example.com": {"pins": \#(pins), "rolloutPercentage": 0.01}}"#, 1),
        (#""min_app_version": "1.5", "hosts": {"api.example.com": {"pins": \#(pins)}}"#, 10_000),
    ])
    func `devices outside an imported rollout keep the built-in pins`(members: String, share: Int) throws {
        let plan = try self.plan("{\"enabled\": true, \(members)}")
        #expect(plan.fatal.isEmpty)
        let host = try HostPattern("api.example.com")
        #expect(plan.commands.contains(.addHost(host, includesSubdomains: false, mode: nil, pins: [])))
        let shares = plan.commands.compactMap { command -> Int? in
            switch command {
            case .setRollout(let rollout?), .setHostRollout(_, let rollout?): rollout.basisPoints
            default: nil
            }
        }
        #expect(shares == (share == 10_000 ? [] : [share]))
    }

    @Test(arguments: [
        #"["a.example.com", "b.example.com"]"#, #""a.example.com, b.example.com""#, #""a.example.com,b.example.com,""#,
    ])
    func `the kill switch's hosts are an array, or a text with commas`(hosts: String) throws {
        let plan = try self.plan(#"{"enabled": true, "min_app_version": "1.0.0", "target_hosts": \#(hosts)}"#)
        #expect(plan.fatal.isEmpty)
        for name in ["a.example.com", "b.example.com"] {
            #expect(
                plan.commands.contains(.addHost(try HostPattern(name), includesSubdomains: false, mode: nil, pins: [])))
        }
    }

    @Test func `a host that is not enabled is imported with the mode off`() throws {
        let plan = try self.plan(
            #"{"enabled": false, "hosts": {"api.example.com": {"enabled": true, "pins": \#(Self.pins)}}, "target_hosts": ["b.example.com"]}"#
        )
        #expect(plan.fatal.isEmpty)
        let modes = plan.commands.compactMap { if case .addHost(_, _, let mode, _) = $0 { mode } else { nil } }
        #expect(modes == [.off, .off])
    }

    @Test(arguments: [
        (#"[]"#, ""),
        (#"{"ssl_pinning_config": "{not json"}"#, "/ssl_pinning_config"),
        (#"{"enabled": "yes"}"#, "/enabled"),
        (#"{"rollout_percentage": 101}"#, "/rollout_percentage"),
        (#"{"rollout_percentage": 12.345}"#, "/rollout_percentage"),
        (#"{"rollout_percentage": 5, "rolloutPercentage": 6}"#, "/rolloutPercentage"),
        (#"{"min_app_version": "v1"}"#, "/min_app_version"),
        (#"{"min_app_version": 1.5}"#, "/min_app_version"),
        (#"{"rollout_strategy": {"method": "geography"}}"#, "/rollout_strategy/method"),
        (#"{"rollout_strategy": {"seed": "email"}}"#, "/rollout_strategy/seed"),
        (
            #"{"fallback": {"use_builtin_pins": true, "builtin_pin_hosts": ["API.example.com"]}}"#,
            "/fallback/builtin_pin_hosts/0"
        ),
        (#"{"monitoring": {"enabled": true, "failure_threshold": 0}}"#, "/monitoring/failure_threshold"),
        (#"{"hosts": []}"#, "/hosts"),
        (#"{"hosts": {"https://api.example.com": {"pins": \#(pins)}}}"#, "/hosts/https:~1~1api.example.com"),
        (#"{"hosts": {"co.uk": {"pins": \#(pins)}}}"#, "/hosts/co.uk"),
        (#"{"hosts": {"api.example.com": {}}}"#, "/hosts/api.example.com/pins"),
        (#"{"hosts": {"api.example.com": {"pins": {"primary": "$1"}}}}"#, "/hosts/api.example.com/pins"),
        (
            #"{"hosts": {"api.example.com": {"pins": {"primary": "$1", "backup": "$1"}}}}"#,
            "/hosts/api.example.com/pins/primary"
        ),
        (
            #"{"hosts": {"api.example.com": {"pins": {"primary": "sha256/AAAB3NzaC1yc2EAAAA...", "backup": "$1"}}}}"#,
            "/hosts/api.example.com/pins/primary"
        ),
        (
            #"{"hosts": {"api.example.com": {"pins": {"primary": "sha256/newPrimaryPin...", "backup": "$1"}}}}"#,
            "/hosts/api.example.com/pins/primary"
        ),
        (
            #"{"hosts": {"api.example.com": {"pins": {"primary": "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "backup": "$1"}}}}"#,
            "/hosts/api.example.com/pins/primary"
        ),
        (#"{"hosts": {"api.example.com": {"pins": {"secondary": "$1"}}}}"#, "/hosts/api.example.com/pins/secondary"),
        (#"{"hosts": {"a.example.com": {"pins": \#(pins)}}, "target_hosts": "a.example.com"}"#, "/target_hosts"),
    ])
    func `a defect that cannot be recorded is named with its place`(text: String, pointer: String) throws {
        let plan = try self.plan(text)
        #expect(plan.fatal.map(\.pointer.text).contains(pointer), "found \(plan.fatal)")
    }

    /// Files of feature flags have such members, too; and a kill switch without hosts is none for any host.
    @Test(arguments: [
        #"{"enabled": true, "name": "my feature flags"}"#, #"{"enabled": false}"#, #"{"enabled": true, "hosts": {}}"#,
        #"{"ssl_pinning_config": {"enabled": true}}"#, #"{"fallback": {}}"#, #"{"monitoring": {"enabled": true}}"#,
        #"{"min_app_version": "1.0.0", "target_hosts": []}"#, #"{"rollout_percentage": 5, "target_hosts": ""}"#,
    ])
    func `a configuration without a host is refused`(text: String) throws {
        let id = try #require(Self.app)
        let present = try #require(App(first: .appCreated(displayName: "x"), id: id, at: Timestamp(seconds: 0)))
        for state in [nil, present] {
            let plan = try self.plan(text, state)
            #expect(plan.fatal.count == 1 && plan.fatal.first?.message.contains("names no host") == true)
        }
    }

    @Test func `all defects of an import are named at once`() throws {
        let plan = try self.plan(
            #"{"enabled": 1, "rollout_percentage": -1, "hosts": {"x": {"pins": {"primary": "a", "backup": "b"}}, "api.example.com": {"pins": {"primary": "c"}}}}"#
        )
        #expect(plan.fatal.count >= 5)
    }

    @Test func `an import never overwrites a host that the app has`() throws {
        let id = try #require(Self.app)
        var state = try #require(App(first: .appCreated(displayName: "x"), id: id, at: Timestamp(seconds: 0)))
        state.evolve(
            .hostAdded(try HostPattern("api.example.com"), includesSubdomains: false, mode: .off),
            at: Timestamp(seconds: 0))
        let plan = try self.plan(#"{"hosts": {"api.example.com": {"pins": \#(Self.pins)}}}"#, state)
        #expect(plan.fatal.map(\.pointer.text) == ["/hosts/api.example.com"])
    }
}

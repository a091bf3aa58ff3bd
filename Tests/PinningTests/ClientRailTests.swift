import PinWire
import Pinning
import Testing

/// What the guard rail of deployed clients says, and how often.
@Suite struct `Limits of declared clients` {
    private static let hosts = (1...8).map { host("host-\($0).example.com") }

    /// Hosts with two keys each, on which clients of this project only report.
    private static func watched(_ hosts: some Sequence<HostPattern>) -> [AppCommand] {
        hosts.map { .addHost($0, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup)]) }
    }

    /// A certificate whose common name is its one name.
    private static func leaf(_ number: Int, days: Int64 = 300) -> CertificateFacts {
        var facts = certificate(number, names: [api.text], subject: "CN=\(api.text)", days: days)
        facts.commonName = api.text
        return facts
    }

    private static let enforced: [AppEvent] =
        [.hostAdded(api, includesSubdomains: false, mode: .enforce)]
        + [(1, PinRole.primary), (2, .backup)].flatMap { number, role -> [AppEvent] in
            [
                .pinStaged(api, .baseline, pin(number), role, note: nil), .pinActivated(api, .baseline, pin(number)),
                .keyDescribed(.certificate(Self.leaf(number))),
            ]
        }

    private func findings(_ commands: [AppCommand], after given: [AppCommand]) throws -> [Finding] {
        let state = try ledger(after: given)
        return try state.rehearse(commands, of: shop, in: context("why")).findings.filter { $0.rail == .oldClients }
    }

    @Test(arguments: [(8, "2 more hosts."), (7, "1 more host.")])
    func `limits of declared clients are reported once for all hosts`(count: Int, rest: String) throws {
        let given = Self.watched(Self.hosts) + [.setClient(.dynapins, .plain)]
        let found = try self.findings(Self.hosts.prefix(count).map { .retirePin($0, .baseline, pin(2)) }, after: given)
        let finding = try #require(found.first)
        #expect(found.count == 1)
        #expect(finding.client == .dynapins && finding.limit == .singlePin && finding.severity == .override)
        #expect(finding.host == Self.hosts[0])
        #expect(finding.detail.hasPrefix("`dynapins`, `single_pin`: host-1.example.com "))
        #expect(finding.detail.hasSuffix(" The same applies to \(Self.named) and \(rest)"))
        #expect(finding.json["client"] == "dynapins" && finding.json["limit"] == "single_pin")
    }

    private static let named = (2...6).map { "host-\($0).example.com" }.joined(separator: ", ")

    @Test func `limits of declared clients are reported where a change meets them first, and not again`() throws {
        let two = Array(Self.hosts.prefix(2))
        let given = Self.watched(two) + [.retirePin(two[0], .baseline, pin(2)), .setClient(.dynapins, .plain)]
        let found = try self.findings([.retirePin(two[1], .baseline, pin(2))], after: given)
        #expect(found.map(\.host) == [two[1]])
        #expect(found.allSatisfy { !$0.detail.contains(two[0].text) })
        // A declaration of a kind reports all of them.
        let declared = try self.findings(
            [.setClient(.dynapins, ClientSettings(ttlSeconds: 600))], after: given
        ).filter { $0.limit == .singlePin }
        #expect(declared.map(\.host) == [two[0]] && declared.map(\.severity) == [.warn])
    }

    @Test func `limits of clients are reported for declared kinds only`() throws {
        let retire = AppCommand.retirePin(Self.hosts[0], .baseline, pin(2))
        #expect(try self.findings([retire], after: Self.watched(Self.hosts)).isEmpty)
        let other = Self.watched(Self.hosts) + [.setClient(.netkit, .plain)]
        #expect(try self.findings([retire], after: other).isEmpty)
    }

    @Test func `findings without limits belong to no client`() throws {
        let state = try ledger(after: sound)
        let others = try state.rehearse([.retirePin(api, .baseline, pin(3))], of: shop, in: context("why")).findings
        #expect(!others.isEmpty && others.allSatisfy { $0.client == nil && $0.limit == nil })
    }

    // MARK: Ways back

    private func findings(_ commands: [AppCommand], _ kind: ClientKind, where facts: ExternalFacts) throws -> [Finding]
    {
        let state = try ledger(after: [
            enforcing(shown(Self.leaf(1)), requested(2), requested(3)), .setClient(kind, .plain),
        ])
        let context = DecisionContext(now: monday, reason: reason("why"), isForced: false, facts: facts) { $0 == "com" }
        return try state.rehearse(commands, of: shop, in: context).findings.filter { $0.rail == .oldClients }
    }

    private static let rescues: [(kind: ClientKind, command: AppCommand)] = [
        (.dynapins, .setMode(api, .baseline, .off)), (.dynapins, .setMode(api, .baseline, .reportOnly)),
        (.trustkitIOS, .setMode(api, .baseline, .off)),
        (.curl, .setPinsValidUntil(monday.adding(seconds: 40 * day))), (.muejam, .addPin(api, .baseline, new(9))),
    ]

    @Test(arguments: rescues)
    func `limits of declared clients do not hold up the rescue of a host whose servers are refused already`(
        kind: ClientKind, command: AppCommand
    ) throws {
        #expect(
            try self.findings([command], kind, where: ExternalFacts(serving(9))).allSatisfy { $0.severity == .warn })
    }

    @Test func `limits of declared clients report newly refused servers, also beside one that was refused before`()
        throws
    {
        let change: [AppCommand] = [.setMode(api, .baseline, .off), .retirePin(api, .baseline, pin(1))]
        let found = try self.findings(change, .dynapins, where: ExternalFacts(serving(1), serving(9)))
        #expect(found.contains { $0.limit == .modeOff && $0.severity == .override })
    }

    /// An authority's key of which only the pin is known: App Transport Security takes it for a server's.
    @Test func `limits of declared clients hold up an enforcement that installs would refuse`() throws {
        let state = try ledger(after: [
            enforcing(mode: .off, new(1), requested(2), requested(3)), .setClient(.appleATS, .plain),
        ])
        let context = DecisionContext(
            now: monday, reason: reason("why"), isForced: false, facts: ExternalFacts(serving(9, 1))
        ) { $0 == "com" }
        let found = try state.rehearse([.setMode(api, .baseline, .enforce)], of: shop, in: context).findings
        #expect(found.contains { $0.rail == .oldClients && $0.limit == .leafOnly && $0.severity == .override })
    }

    @Test func `limits of declared clients are not a lock-out for a new host, whose servers no install has seen`()
        throws
    {
        let new = enforcing(on: Self.hosts[0], shown(Self.leaf(1)), requested(2))
        let given = [AppCommand.setClient(.dynapins, ClientSettings(dynapins: .ed25519))]
        let found = try self.findings([new], after: given)
        #expect(found.map(\.limit) == [.firstPinOnly] && found.map(\.severity) == [.warn])
    }

    // MARK: The kill switch over everything

    private func engage(_ apps: [(String, [ClientKind])], rails: Set<GuardRail> = Set(GuardRail.allCases)) throws
        -> Decision
    {
        var state = LedgerState()
        for (name, kinds) in apps {
            var app = try #require(App(first: .appCreated(displayName: "Shop"), id: appID(name), at: noon))
            for event in Self.enforced + kinds.map({ .clientSet($0, .plain) }) {
                app.evolve(event, at: noon)
            }
            state.apps.insert(app)
        }
        let context = DecisionContext(now: noon, reason: reason("why"), isForced: false, rails: rails) { _ in false }
        return try state.decide(.fleet(.engageKillSwitch(expiresAt: noon.adding(seconds: 3600))), in: context)
    }

    @Test func `limits of declared clients are reported with the fleet's kill switch, which is engaged all the same`()
        throws
    {
        let apps: [(String, [ClientKind])] = [
            ("com.example.a", [.trustkitIOS, .dynapins, .netkit]), ("com.example.b", [.dynapins]),
            ("com.example.c", [.netkit]), ("com.example.d", []),
        ]
        let decision = try self.engage(apps)
        #expect(decision.events == [.fleet(.killSwitchEngaged(expiresAt: noon.adding(seconds: 3600)))])
        let finding = try #require(decision.findings.first)
        #expect(decision.findings.count == 1)
        #expect(finding.rail == .oldClients && finding.severity == .warn && finding.limit == .killSwitch)
        #expect(
            finding.detail.hasPrefix("In 2 apps, ")
                && finding.detail.hasSuffix(": `dynapins` of 2, `trustkit_ios` of 1."))
        #expect(try self.engage(apps, rails: [.liveChainUnmatched]).findings.isEmpty)
    }

    @Test func `limits of declared clients are not reported where every install receives the fleet's kill switch`()
        throws
    {
        #expect(try self.engage([("com.example.c", [.netkit]), ("com.example.d", [])]).findings.isEmpty)
        #expect(try self.engage([]).findings.isEmpty)
    }

    // MARK: Attention

    @Test func `limits of declared clients need attention as soon as they take effect`() throws {
        let state = try ledger(after: [
            enforcing(shown(Self.leaf(1, days: 10)), shown(Self.leaf(2), .backup)), .setClient(.wultra, .plain),
        ])
        func items(_ days: Int64) -> [AttentionItem] {
            let now = monday.adding(seconds: days * day)
            return state.attention(in: looking(ExternalFacts(serving(1, now: now)), at: now)).items.filter {
                $0.kind == .clientBreaks
            }
        }
        #expect(items(9).isEmpty)
        let item = try #require(items(11).first)
        #expect(items(11).count == 1)
        #expect(item.severity == .urgent && item.app == shop && item.host == api && item.pin == pin(1))
        #expect(item.client == .wultra && item.limit == .certificateExpired && item.rail == .oldClients)
        #expect(item.detail.hasPrefix("`wultra`, `certificate_expired`: ") && item.remedy.hasSuffix("."))
        #expect(item.json["client"] == "wultra" && item.json["limit"] == "certificate_expired")
    }
}

import PinWire
import Testing

@testable import Pinning

/// A file that installs of Android have: the keys 1 and 2 of the host.
private let file = BuiltInHost(api, pins: [pin(2), pin(1)], isEnforced: true)
private let imported: [AppCommand] =
    sound + [.setClient(.androidNSC, ClientSettings()), .noteBuiltIn(.androidNSC, [file], .imported)]

/// Rotations, kill switches and modes where installs have pins built in: G25, and what it leaves to others.
private let builtInCases: [RailCase] = [
    RailCase(
        .oldClients, .override, "where a rotation goes to a key that is not built in", given: imported,
        when: rotation()),
    RailCase(
        .oldClients, .override, "where an emergency does", given: imported, when: rotation(kind: .emergency)),
    RailCase(
        .oldClients, .override, "where such a rotation asks for the switch, however late",
        given: imported + [rotation()],
        when: advance(), at: noon.adding(seconds: 90 * day)),
    RailCase(
        .oldClients, .override, "where a key that is not built in becomes the only primary",
        given: imported + [.addPin(api, .baseline, requested(4)), .setPinRole(api, .baseline, pin(1), .backup)],
        when: .setPinRole(api, .baseline, pin(4), .primary)),
    RailCase(
        .oldClients, .unknownOverride, "where it is not known what is built in",
        given: sound + [.setClient(.okhttp, ClientSettings())], when: rotation()),
    RailCase(
        .oldClients, quiet: "where a rotation goes to a key that is built in", given: imported,
        when: rotation(to: requested(2))),
    RailCase(
        .oldClients, quiet: "where such a rotation asks for the switch",
        given: imported + [rotation(to: requested(2))], when: advance(), at: noon.adding(seconds: 90 * day)),
    RailCase(
        .oldClients, quiet: "where the installs accept none of the keys that are replaced",
        given: sound + [
            .setClient(.androidNSC, ClientSettings()),
            .noteBuiltIn(.androidNSC, [BuiltInHost(api, pins: [pin(7)], isEnforced: true)], .imported),
            .noteBuiltIn(.androidNSC, [BuiltInHost(api, pins: [pin(1), pin(4)], isEnforced: true)], .exported),
        ], when: rotation()),
    RailCase(
        .oldClients, quiet: "where the file enforces nothing",
        given: sound + [
            .setClient(.trustkitIOS, ClientSettings()),
            .noteBuiltIn(.trustkitIOS, [BuiltInHost(api, pins: [pin(1)], isEnforced: false)], .imported),
        ], when: rotation()),
    RailCase(
        .oldClients, .warn, "where a kill switch does not reach what is built in, whatever the mode is now",
        given: imported + [.setMode(api, .baseline, .reportOnly)],
        when: .engageKillSwitch(api, expiresAt: monday.adding(seconds: 4 * 3600))),
    RailCase(
        .oldClients, .warn, "where the mode report_only does not", given: imported,
        when: .setMode(api, .baseline, .reportOnly)),
]

@Suite struct `Pins that installs have built in` {
    private func progress(_ commands: [AppCommand], at now: Timestamp) throws -> RotationProgress {
        var state = LedgerState()
        state.apps.insert(try #require(try given(commands)))
        let facts = ExternalFacts(serving(1, now: now))
        let context = DecisionContext(now: now, reason: nil, isForced: false, facts: facts) { $0 == "com" }
        return try state.progress(of: "r", app: shop, in: context)
    }

    @Test(arguments: builtInCases) func `built-in pins are judged by what installs have`(line: RailCase) throws {
        let outcome = try line.outcome("why")
        let found = outcome.findings.filter { $0.rail == .oldClients }
        #expect(found.map(\.severity).max() == line.severity, "\(line): \(found)")
        if line.severity != nil {
            #expect(found.contains { $0.verdict == line.verdict && $0.severity == line.severity })
        }
    }

    @Test func `a rotation to another key names the kind and the keys that it has, and no time meets it`() throws {
        let progress = try self.progress(imported + [rotation()], at: noon.adding(seconds: 90 * day))
        #expect(!progress.isReady && progress.obstacle == nil)
        let open = try #require(progress.waits.first { $0.isMet != true })
        #expect(open.isMet == false && open.until == nil)
        for text in [
            pin(1).description, pin(2).description, "network security configuration", "until they are updated",
        ] {
            #expect(open.detail.contains(text))
        }
        #expect(progress.findings.contains { $0.client == .androidNSC && $0.severity == .override })
        let reserve = try self.progress(imported + [rotation(to: requested(2))], at: noon.adding(seconds: 90 * day))
        #expect(reserve.isReady && reserve.waits.allSatisfy { $0.isMet == true })
    }

    @Test func `a rotation to another key is urgent, and a limit of the kind`() throws {
        let app = try #require(try given(imported + [rotation()]))
        let items = app.clientAttention(in: context())
        #expect(items.contains { $0.limit == .nextKeyNotBuiltIn && $0.client == .androidNSC && $0.host == api })
        let none = try #require(try given(imported + [rotation(to: requested(2))]))
        #expect(none.clientFindings(in: context()).allSatisfy { $0.limit != .nextKeyNotBuiltIn })
    }

    @Test func `an authority's key that is built in accepts its servers' next keys`() throws {
        let authority = certificate(8, names: [], subject: "CN=R1,O=Good Authority", isCA: true)
        let commands: [AppCommand] =
            sound + [
                .addPin(api, .baseline, shown(authority, .backup)), .setClient(.androidNSC, ClientSettings()),
                .noteBuiltIn(.androidNSC, [BuiltInHost(api, pins: [pin(1), pin(8)], isEnforced: true)], .imported),
                rotation(),
            ]
        let app = try #require(try given(commands))
        #expect(app.clientFindings(in: context()).allSatisfy { $0.limit != .nextKeyNotBuiltIn })
    }

    @Test func `the remedy of an emergency names the installs that no kill switch reaches`() throws {
        let line = RailCase(.notDelivered, .warn, "of an emergency", given: imported, when: rotation(kind: .emergency))
        let remedy = try #require(try line.outcome("why").findings.first { $0.rail == .notDelivered }?.remedy)
        #expect(remedy.contains("all clients except installs of the kinds android_nsc, which no kill switch reaches"))
        let others = RailCase(.notDelivered, .warn, "of an emergency", when: rotation(kind: .emergency))
        #expect(
            try others.outcome("why").findings.first { $0.rail == .notDelivered }?.remedy.contains(
                "lets all clients connect")
                == true)
    }

    @Test func `a file is noted once, and again where another one came between`() throws {
        let note = AppCommand.noteBuiltIn(.androidNSC, [file], .imported)
        let app = try #require(try given(imported))
        func events(_ command: AppCommand, _ app: App) throws -> [AppEvent] {
            try App.decide([command], app, id: shop, in: context("why"))
        }
        #expect(try events(note, app).isEmpty)
        // Installs have what was imported: that it is exported too says no more.
        #expect(try events(.noteBuiltIn(.androidNSC, [file], .exported), app).isEmpty)
        let other = BuiltInHost(api, pins: [pin(3)], isEnforced: true)
        let both = try #require(try given(imported + [.noteBuiltIn(.androidNSC, [other], .exported)]))
        #expect(both.clients[.androidNSC]?.builtIn[api]?.map(\.origin) == [.imported, .exported])
        #expect(try events(note, both) == [.builtInPinsNoted(.androidNSC, file, .imported)])
        // A host that the app has not is none of its.
        let stranger = BuiltInHost(host("other.example.com"), pins: [pin(1)], isEnforced: true)
        #expect(try events(.noteBuiltIn(.androidNSC, [stranger], .imported), app).isEmpty)
        #expect(throws: Refusal.clientUnknown(shop, .okhttp)) {
            try events(.noteBuiltIn(.okhttp, [file], .exported), app)
        }
        // What a served kind has it fetches.
        let served = try #require(try given(sound + [.setClient(.netkit, ClientSettings())]))
        #expect(try events(.noteBuiltIn(.netkit, [file], .imported), served).isEmpty)
    }

    @Test func `the oldest of many exports are forgotten, and an imported file stays`() throws {
        let exports = (10..<40).map { number in
            AppCommand.noteBuiltIn(
                .androidNSC, [BuiltInHost(api, pins: [pin(number)], isEnforced: true)], .exported)
        }
        let files = try #require(try given(imported + exports)?.clients[.androidNSC]?.builtIn[api])
        #expect(files.count == BuiltInPins.limit)
        #expect(files.first?.origin == .imported && files.last?.pins == [pin(39)])
        #expect(try given(imported + [.removeHost(api)])?.clients[.androidNSC]?.builtIn.isEmpty == true)
        let settings = try given(imported + [.setClient(.androidNSC, ClientSettings())])
        #expect(settings?.clients[.androidNSC]?.builtIn[api]?.count == 1)
    }

    /// The forecast of the host, which presents key 1 where a probe has seen it.
    private func forecast(_ commands: [AppCommand], isProbed: Bool = true) throws -> HostForecast {
        var state = LedgerState()
        state.apps.insert(try #require(try given(commands)))
        var facts = certificate(1)
        facts.notBefore = monday.adding(seconds: -10 * day)
        facts.notAfter = monday.adding(seconds: 80 * day)
        let chain = ObservedChain(
            pins: [pin(1)], certificates: [facts], address: "192.0.2.1", vantage: "vienna",
            firstSeen: monday.adding(seconds: -day), lastSeen: monday.adding(seconds: -60), isCurrent: true)
        var context = context(at: monday)
        context.facts = ExternalFacts(
            documentLifetime: day, documentMaxAge: 0,
            endpoint: { _ in EndpointFacts(chains: isProbed ? [chain] : []) })
        let forecast = try state.forecast(
            of: shop, adoption: AdoptionTime(atLeast: 0, atMost: 0), in: context, share: { _ in nil })
        return try #require(forecast.hosts.first)
    }

    @Test func `a forecast names installs that do not have the next key built in`() throws {
        #expect(try self.forecast(sound).verdict == .survives)
        let all = BuiltInHost(api, pins: [pin(1), pin(2), pin(3)], isEnforced: true)
        let declared = sound + [.setClient(.androidNSC, ClientSettings())]
        #expect(try self.forecast(declared + [.noteBuiltIn(.androidNSC, [all], .imported)]).verdict == .survives)
        let one = BuiltInHost(api, pins: [pin(1)], isEnforced: true)
        let lost = try self.forecast(declared + [.noteBuiltIn(.androidNSC, [one], .imported)])
        #expect(lost.verdict == .fails && lost.remark?.contains("installs of android_nsc") == true)
        #expect(try self.forecast(declared).verdict == .unknown)
    }

    @Test func `a forecast without a probe names a rotation whose next key is not built in`() throws {
        let lost = try self.forecast(imported + [rotation()], isProbed: false)
        #expect(lost.verdict == .fails && lost.remark?.contains("the rotation r built in") == true)
        #expect(try self.forecast(imported + [rotation(to: requested(2))], isProbed: false).verdict == .unknown)
    }

    @Test(arguments: [
        (PinMode.reportOnly, true, HostForecast.Verdict.unknown), (.reportOnly, false, .unaffected),
        (.off, true, .unknown),
    ])
    func `a forecast reckons with pins that installs enforce, whatever the mode is now`(
        mode: PinMode, isEnforced: Bool, verdict: HostForecast.Verdict
    ) throws {
        let file = BuiltInHost(api, pins: [pin(1), pin(2)], isEnforced: isEnforced)
        let forecast = try self.forecast(
            sound + [
                .setClient(.androidNSC, ClientSettings()), .noteBuiltIn(.androidNSC, [file], .imported),
                .setMode(api, .baseline, mode),
            ])
        #expect(forecast.verdict == verdict, "\(forecast)")
    }

    @Test func `a snapshot keeps what is built in`() throws {
        var state = LedgerState()
        state.apps.insert(try #require(try given(imported)))
        var restored = LedgerState()
        for part in 0..<LedgerState.snapshotPartCount {
            try restored.restore(part: part, from: state.snapshotPart(part)[...])
        }
        #expect(restored.apps[shop] == state.apps[shop])
        #expect(restored.apps[shop]?.clients[.androidNSC]?.builtIn[api]?.count == 1)
    }
}

import PinWire
import Pinning
import Testing

/// The guard rails by their tables: `RailCases+….swift` for those that judge changes, `HeldRails.swift` for the others.
@Suite struct `A guard rail` {
    static let cases =
        policyCases + liveCases + reachCases + deliveryCases + certificateCases + authorityCases + changeCases
        + oldClientCases
    static let firing = cases.filter { $0.severity != nil }
    static let quiet = cases.filter { $0.severity == nil }
    static let overridable = firing.filter { $0.severity == .override }

    @Test func `every guard rail has a case in which it fires and one in which it does not`() {
        let held = Set(heldRails.map(\.rail))
        for rail in GuardRail.allCases {
            #expect(held.contains(rail) || Self.firing.contains { $0.rail == rail }, "\(rail.code) never fires")
            #expect(held.contains(rail) || Self.quiet.contains { $0.rail == rail }, "\(rail.code) is never silent")
        }
        let names = Self.cases.map(\.testDescription)
        #expect(Set(names).count == names.count, "two cases are the same")
    }

    @Test(arguments: firing) func `every guard rail fires in its case`(line: RailCase) throws {
        let outcome = try line.outcome("why")
        let severity = try #require(line.severity)
        #expect(outcome.mentions(line.rail), "\(outcome)")
        #expect((outcome.refusal != nil) == (severity != .warn), "\(outcome)")
        guard outcome.refusal?.rail == nil else { return }
        let findings = outcome.findings.filter { $0.rail == line.rail }
        #expect(findings.contains { $0.severity == severity && $0.verdict == line.verdict }, "\(findings)")
        for finding in findings {
            #expect(finding.severity <= severity, "\(finding)")
            #expect(finding.detail.hasSuffix("."), "\(finding)")
            #expect(finding.remedy.hasSuffix("."), "\(finding)")
        }
    }

    @Test(arguments: quiet) func `every guard rail is silent in its counterexample`(line: RailCase) throws {
        let outcome = try line.outcome("why")
        #expect(outcome.refusal == nil, "\(outcome)")
        #expect(!outcome.mentions(line.rail), "\(outcome.findings)")
    }

    @Test(arguments: firing) func `a guard rail is forced where it can be overridden, and that is recorded`(
        line: RailCase
    ) throws {
        let outcome = try line.outcome("why", isForced: true)
        switch line.severity {
        case .block?:
            #expect(outcome.events == nil && outcome.mentions(line.rail), "\(outcome)")
        case .override?:
            #expect(outcome.events != nil, "\(outcome)")
            let finding = try #require(outcome.findings.first { $0.rail == line.rail && $0.severity == .override })
            #expect(outcome.overridden.contains(OverriddenFinding(finding)), "\(outcome.overridden)")
            #expect(outcome.overridden.allSatisfy { $0.code != "" && $0.detail != "" })
            // What is recorded besides is the change itself.
            let others = (outcome.events ?? []).filter { if case .guardRailsOverridden = $0 { false } else { true } }
            let without = try line.outcome("why", isForced: true, rails: [])
            #expect(others == without.events)
        case .warn?, nil:
            #expect(outcome.events != nil, "\(outcome)")
            #expect(!outcome.overridden.contains { $0.code == line.rail.code }, "what only warns is not overridden")
        }
    }

    @Test(arguments: overridable) func `a guard rail is not forced without a reason`(line: RailCase) throws {
        let outcome = try line.outcome(isForced: true)
        #expect(outcome.events == nil, "\(outcome)")
    }

    @Test(arguments: overridable.filter(\.rail.isAdjustable)) func `a lowered guard rail only warns`(line: RailCase)
        throws
    {
        var fleet = try line.state()
        fleet.fleet.loweredRails = [line.rail]
        var app = try line.state()
        _ = app.apps.update(shop) { $0.loweredRails = [line.rail] }
        for state in [fleet, app] {
            let outcome = try line.outcome("why", in: state)
            #expect(outcome.refusal?.rail != line.rail, "\(outcome)")
            let findings = outcome.findings.filter { $0.rail == line.rail }
            #expect(!findings.isEmpty && findings.allSatisfy { $0.severity == .warn }, "\(findings)")
            let forced = try line.outcome("why", isForced: true, in: state)
            #expect(forced.events != nil && !forced.overridden.contains { $0.code == line.rail.code }, "\(forced)")
        }
    }

    // That a key is no backup of itself is seen before anything is judged.
    @Test(arguments: firing.filter { $0.rail != .backupIsPrimary || $0.severity != .block })
    func `a guard rail that is not judged is silent`(line: RailCase) throws {
        let others = Set(GuardRail.allCases).subtracting([line.rail])
        #expect(try line.outcome("why", rails: others).findings.allSatisfy { $0.rail != line.rail })
    }

    @Test(arguments: cases) func `a guard rail judges the same twice, and anything at any time`(line: RailCase) throws {
        let first = try line.outcome("why").findings
        #expect(try line.outcome("why").findings == first)
        let times = [Int64.min, -1, 0, Int64.max].map { Timestamp(microseconds: $0) }
        for now in times { _ = try line.outcome("why", isForced: true, at: now) }
        for time in times {
            var odd = line
            let chain = ObservedChain(
                pins: [], address: "", vantage: "", firstSeen: time, lastSeen: time, isCurrent: true)
            odd.facts.endpoint = { _ in EndpointFacts(chains: [chain]) }
            odd.facts.adoption = { _, _ in AdoptionShare(basis: .requests, low: 0, high: 0, sample: 0) }
            odd.facts.documentLifetime = time.microseconds
            odd.facts.documentMaxAge = 0
            _ = try odd.outcome("why", isForced: true)
            odd.facts.endpoint = { _ in EndpointFacts() }
            _ = try odd.outcome("why", isForced: true)
        }
    }

    @Test func `a forced guard rail is in the entry that records who overrode it and why`() throws {
        let line = try #require(Self.overridable.first { $0.rail == .stillServed })
        let outcome = try line.outcome("the key is stolen", isForced: true)
        let event = try #require(outcome.events?.last)
        let origin = Origin(
            actor: Actor(kind: .token, id: "tok_1", name: "Ann"), reason: reason("the key is stolen"), isForced: true)
        let entry = Entry(
            position: 9, stream: .app(shop), streamVersion: 10, time: monday, event: .app(event), origin: origin)
        let read = try Entry(bytes: entry.bytes)
        #expect(read == entry)
        #expect(read.origin.actor.name == "Ann" && read.origin.reason?.text == "the key is stolen")
        #expect(read.origin.isForced)
        let finding = try #require(outcome.overridden.first { $0.code == "G07" })
        #expect(finding.host == api && finding.pin == pin(1))
        #expect(String(decoding: entry.bytes, as: UTF8.self).contains("\"code\":\"G07\""))
    }

    @Test func `a guard rail is lowered only where it can be overridden, and only with a reason`() throws {
        let state = try #require(Self.overridable.first).state()
        for rail in GuardRail.allCases {
            for command in [
                Command.app(shop, [.setGuardRail(rail, isLowered: true)]),
                .fleet(.setGuardRail(rail, isLowered: true)),
            ] {
                if rail.isAdjustable {
                    #expect(try state.decide(command, in: context("why")).events.count == 1)
                    #expect(throws: Refusal.self) { try state.decide(command, in: context(isForced: true)) }
                } else {
                    #expect(throws: Refusal.guardRailFixed(rail)) {
                        try state.decide(command, in: context("why", isForced: true))
                    }
                }
            }
        }
    }

    @Test func `every guard rail has a code of its own, in order and without a gap`() {
        let codes = GuardRail.allCases.map(\.code)
        #expect(codes == (1...43).map { $0 < 10 ? "G0\($0)" : "G\($0)" })
        #expect(Set(GuardRail.allCases.map(\.entry.title)).count == codes.count)
    }

    @Test func `findings of guard rails that exceed one entry are recorded in several events`() throws {
        // Each of a thousand hosts has one reserve left, of which only the hash is known.
        let hosts = (0..<App.hostLimit).map { host("host-\($0).example.com") }
        var app = try #require(App(first: .appCreated(displayName: "Shop"), id: shop, at: noon))
        for pattern in hosts { app.evolve(.hostAdded(pattern, includesSubdomains: false, mode: .off), at: noon) }
        var state = LedgerState()
        state.apps.insert(app)
        let commands = hosts.flatMap { pattern -> [AppCommand] in
            [.setMode(pattern, .baseline, .enforce)]
                + [new(1), new(2, .backup)].map { .addPin(pattern, .baseline, $0) }
        }
        let decision = try state.decide(.app(shop, commands), in: context("why", isForced: true))
        var sizes: [Int] = []
        for event in decision.events {
            guard case .app(.guardRailsOverridden) = event else { continue }
            let entry = Entry(
                position: 0, stream: .app(shop), streamVersion: 1, time: noon, event: event,
                origin: Origin(actor: .system, reason: reason("why"), isForced: true))
            sizes.append(entry.bytes.count)
        }
        #expect(sizes.count > 1 && sizes.allSatisfy { $0 < 65_536 })
    }
}

import PinWire
import Testing

@testable import Pinning

@Suite struct `A warning` {
    /// An app and what is said of it, day after day.
    private struct Story {
        var state: LedgerState
        /// What was said, in a few words, with the day.
        var said: [String] = []
        private var version: Int64 = 0

        init(_ commands: [AppCommand]) throws { self.state = try ledger(after: commands) }

        mutating func look(_ facts: ExternalFacts, at now: Timestamp) throws {
            for event in try self.state.warnings(of: shop, in: looking(facts, at: now)) {
                self.version += 1
                let outcome = self.state.apply(.watch(event), of: .watch(shop), version: self.version, at: now)
                #expect(outcome == .applied)
                let day = (now.seconds - noon.seconds) / day
                switch event {
                case .warningRaised(let warning):
                    let lead = warning.lead.map { " \($0 / PinningTests.day)" } ?? ""
                    self.said.append("\(day): \(warning.severity.rawValue) \(warning.subject.kind.rawValue)\(lead)")
                case .warningCleared(let subject): self.said.append("\(day): cleared \(subject.kind.rawValue)")
                case .telemetryKeyAdded, .telemetryKeyRetired, .documentPublished:
                    Issue.record("no look makes or retires a key, or publishes")
                }
            }
        }
    }

    private static func added(to end: Int64 = 900) -> AppCommand {
        .addHost(
            api, includesSubdomains: false, mode: .enforce,
            pins: [
                .init(pin: pin(1), role: .primary, evidence: .certificate(expiring(1, from: -300, to: end))),
                .init(pin: pin(2), role: .backup, evidence: .certificate(expiring(2, to: 900))),
            ])
    }

    /// What is seen on a day: fresh, whatever day it is.
    private func seeing(_ chains: [CertificateFacts]..., on day: Int64) -> ExternalFacts {
        let time = noon.adding(seconds: day * PinningTests.day)
        let facts = EndpointFacts(
            chains: chains.enumerated().map { place, chain in
                ObservedChain(
                    pins: chain.map(\.key.pin), certificates: chain, address: "192.0.2.\(place + 1)", vantage: "here",
                    firstSeen: time, lastSeen: time, isCurrent: true)
            }, lastSuccess: chains.isEmpty ? nil : time, lastAttempt: time)
        return ExternalFacts(endpoint: { $0.host == api ? facts : nil })
    }

    private func at(_ day: Int64) -> Timestamp { noon.adding(seconds: day * PinningTests.day) }

    @Test func `a warning is raised once for each horizon of a certificate, and cleared when it is renewed`() throws {
        var story = try Story([Self.added()])
        for day in Int64(0)...41 {
            let served = expiring(1, from: -300, to: day < 41 ? 40 : 400)
            for _ in 0..<3 { try story.look(self.seeing([served], on: day), at: self.at(day)) }
        }
        #expect(
            story.said == [
                "10: soon certificate_expires 30", "26: soon certificate_expires 14",
                "33: urgent certificate_expires 7",
                "39: urgent certificate_expires 1", "40: urgent certificate_expires 0",
                "41: cleared certificate_expires",
            ])
    }

    @Test func `a warning of a served key that is not pinned stands until a probe sees a pinned one`() throws {
        var story = try Story([Self.added()])
        let (right, wrong, other) = (expiring(1, to: 800), expiring(7, to: 800), expiring(8, to: 800))
        try story.look(self.seeing([right], on: 0), at: self.at(0))
        try story.look(self.seeing([right], [wrong], on: 1), at: self.at(1))
        // Another address, another key that is not pinned: the same matter.
        try story.look(self.seeing([other], [wrong], on: 2), at: self.at(2))
        // Nothing has been seen for days: nobody knows.
        try story.look(self.seeing([wrong], on: 2), at: self.at(6))
        try story.look(unseen, at: self.at(7))
        try story.look(self.seeing([right], on: 8), at: self.at(8))
        try story.look(self.seeing([wrong], on: 9), at: self.at(9))
        #expect(
            story.said == [
                "1: urgent served_key_unpinned", "8: cleared served_key_unpinned", "9: urgent served_key_unpinned",
            ])
    }

    @Test func `a warning is removed with the host that it is about`() throws {
        var story = try Story([Self.added()])
        let facts = self.seeing([expiring(7, to: 800)], on: 0)
        try story.look(facts, at: self.at(0))
        _ = story.state.apply(.app(.hostRemoved(api)), of: .app(shop), at: self.at(0))
        try story.look(facts, at: self.at(0))
        #expect(story.said == ["0: urgent served_key_unpinned", "0: cleared served_key_unpinned"])
        #expect(story.state.apps[shop]?.watch.standing.isEmpty == true)
        #expect(story.state.version(of: .watch(shop)) == 2)
    }

    @Test func `a warning of an end that is moved on daily is not repeated daily`() throws {
        var story = try Story([Self.added()])
        for day in Int64(0)...20 {
            _ = story.state.apply(.app(.pinsValidUntilSet(self.at(day + 10))), of: .app(shop), at: self.at(day))
            try story.look(self.seeing([expiring(1, to: 800)], on: day), at: self.at(day))
        }
        // Nobody moves it any more.
        for day in Int64(21)...31 {
            try story.look(self.seeing([expiring(1, to: 800)], on: day), at: self.at(day))
        }
        #expect(
            story.said == [
                "0: soon pins_valid_until 14", "23: soon pins_valid_until 7", "29: urgent pins_valid_until 1",
                "30: urgent pins_valid_until 0",
            ])
    }

    @Test func `a warning of a rotation is raised for each phase, and stands until the phase ends`() throws {
        let started = AppCommand.startRotation(
            .init(
                id: "r", kind: .planned, hosts: [api], next: new(3, .backup), compromised: nil, goals: Rotation.Goals())
        )
        var story = try Story([Self.added(), started, .advanceRotation("r", from: nil)])
        let old = self.seeing([expiring(1, to: 800)], on: 0)
        // The operator has just been asked to change the servers' key.
        try story.look(old, at: self.at(0))
        try story.look(self.seeing([expiring(1, to: 800)], on: 1), at: self.at(1))
        let next = self.seeing([expiring(3, to: 800)], on: 2)
        for _ in 0..<2 { try story.look(next, at: self.at(2)) }
        // A node that has just started knows nothing yet.
        try story.look(unseen, at: self.at(2))
        try story.look(next, at: self.at(2))
        _ = story.state.apply(.app(.rotationAdvanced("r", .settle)), of: .app(shop), at: self.at(3))
        try story.look(self.seeing([expiring(3, to: 800)], on: 3), at: self.at(3))
        #expect(
            story.said.prefix(2) == ["1: soon rotation_stuck", "2: soon rotation_ready"] && story.said.count == 4
                && Set(story.said.suffix(2)) == ["3: cleared rotation_ready", "3: cleared rotation_stuck"],
            "\(story.said)")
    }

    @Test func `a warning of an end is not raised where the certificate may have been renewed unseen`() throws {
        var story = try Story([Self.added(to: 5)])
        let renewed = self.seeing([expiring(1, from: -300, to: 400)], on: 0)
        try story.look(renewed, at: self.at(0))
        try story.look(renewed, at: self.at(6))
        #expect(story.said.isEmpty)
        try story.look(unseen, at: self.at(6))
        #expect(story.said == ["6: urgent certificate_expires 0"])
    }

    @Test func `an urgent warning is not displaced by others`() throws {
        let many = (0..<210).map { number in
            AppCommand.addHost(
                host("h\(number).example.com"), includesSubdomains: false, mode: .enforce,
                pins: [
                    .init(
                        pin: pin(100 + number), role: .primary,
                        evidence: .certificate(expiring(100 + number, from: -300, to: 20))),
                    .init(pin: pin(1000 + number), role: .backup),
                ])
        }
        var story = try Story(many + [Self.added()])
        let fine = self.seeing([expiring(1, to: 900)], on: 0)
        for _ in 0..<10 { try story.look(fine, at: self.at(0)) }
        #expect(story.said.count == Watch.limit)
        try story.look(self.seeing([expiring(7, to: 900)], on: 0), at: self.at(0))
        #expect(story.said.last == "0: urgent served_key_unpinned")
    }

    @Test func `a warning is not raised for mere notices, nor for what no reader could see`() throws {
        var story = try Story([Self.added()])
        for facts in [unseen, self.seeing(on: 0)] { try story.look(facts, at: self.at(0)) }
        #expect(story.said.isEmpty)
    }

    @Test func `a warning counts a bounded number of others, and is recorded in portions`() throws {
        let many = (0..<250).map { number in
            AppCommand.addHost(
                host("h\(number).example.com"), includesSubdomains: false, mode: .enforce,
                pins: [
                    .init(
                        pin: pin(number), role: .primary, evidence: .certificate(expiring(number, from: -300, to: 20))),
                    .init(pin: pin(1000 + number), role: .backup),
                ])
        }
        var story = try Story(many)
        try story.look(unseen, at: self.at(0))
        #expect(story.said.count == Watch.eventLimit)
        for _ in 0..<10 { try story.look(unseen, at: self.at(0)) }
        #expect(story.said.count == Watch.limit)
        #expect(Set(try #require(story.state.apps[shop]).watch.inOrder.map(\.subject)).count == Watch.limit)
    }

    @Test func `a warning is refused for an unknown app, and belongs to no other stream`() throws {
        #expect(throws: Refusal.appUnknown(shop)) { try LedgerState().warnings(of: shop, in: looking()) }
        var state = try ledger(after: [Self.added()])
        let event = Event.watch(.warningCleared(.init(.rotationReady)))
        let other = StreamID.watch(appID("com.example.none"))
        #expect(state.apply(event, of: other, version: 1, at: noon) == .unfit)
        #expect(state.apply(event, of: .app(shop), version: state.version(of: .app(shop)) + 1, at: noon) == .unfit)
        #expect(state.apply(event, of: .watch(shop), version: 2, at: noon) == .notNext)
        #expect(try state.decide(.watch(shop), in: looking()).events.isEmpty)
    }
}

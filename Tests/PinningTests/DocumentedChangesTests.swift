import PinWire
import Pinning
import Testing

/// Changes whose events were lost, by the documents that were served.
@Suite struct `Changes that documents tell of` {
    private let end = noon.adding(seconds: 3600)

    /// A shop with pins that are published.
    private func state(_ more: [Command] = []) throws -> LedgerState {
        var state = LedgerState()
        let create = Command.app(
            shop,
            [
                .create(displayName: "Shop"),
                .addHost(
                    api, includesSubdomains: false, mode: .enforce, pins: [new(1), new(2, .backup), new(3, .backup)]),
            ])
        for command in [create] + more { try self.execute(command, in: &state, at: noon) }
        return state
    }

    private func execute(_ command: Command, in state: inout LedgerState, at now: Timestamp) throws {
        var context = context("given", isForced: true)
        context.now = now
        state.take(try state.decide(command, in: context).after)
    }

    /// The document of the shop once more commands have been executed, each a minute after the one before.
    private func document(after commands: [Command], in state: LedgerState) throws -> Document {
        var (state, now) = (state, noon)
        for command in commands {
            now = now.adding(seconds: 60)
            try self.execute(command, in: &state, at: now)
        }
        return try #require(state.document(of: shop))
    }

    private var later: Timestamp { noon.adding(seconds: 600) }

    private func lost(
        _ documents: [Document], beside entries: [Entry] = [], in state: LedgerState, at now: Timestamp? = nil
    ) -> LostChanges {
        LostChanges(of: entries, documents: documents, in: state, at: now ?? self.later)
    }

    private func entry(_ stream: StreamID, _ event: Event, after seconds: Int64) -> Entry {
        Entry(
            position: 50, stream: stream, streamVersion: 9, time: noon.adding(seconds: seconds), event: event,
            origin: Origin(actor: .system))
    }

    @Test func `kill switches of every scope are engaged again`() throws {
        let commands: [Command] = [
            .fleet(.engageKillSwitch(expiresAt: self.end)), .app(shop, [.engageKillSwitch(nil, expiresAt: self.end)]),
            .app(shop, [.engageKillSwitch(api, expiresAt: self.end)]),
            .app(shop, [.engageVersionKillSwitch(range("1.0", "2.0"), expiresAt: self.end)]),
        ]
        let state = try self.state()
        for command in commands {
            let lost = self.lost([try self.document(after: [command], in: state)], in: state)
            #expect(lost.repetitions.map(\.command) == [command] && lost.revivals.isEmpty)
            guard case .document(shop, let version, .engaged(_, until: self.end)) = lost.repetitions[0].source else {
                Issue.record("\(lost.repetitions)")
                continue
            }
            #expect(version > state.documentVersion(of: shop) ?? 0)
        }
        // Each once, also where several documents have the fleet's.
        let all = try self.document(after: commands, in: state)
        var other = all
        other.app = appID("other")
        let lost = self.lost([other, all], in: state)
        #expect(Set(lost.repetitions.map(\.command)) == Set(commands) && lost.repetitions.count == commands.count)
    }

    @Test func `nothing is engaged again that the state has, or that is over`() throws {
        let engage = Command.app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])
        let state = try self.state()
        let document = try self.document(after: [engage], in: state)
        #expect(self.lost([document], in: try self.state([engage])).repetitions.isEmpty)
        #expect(self.lost([document], in: state, at: self.end).repetitions.isEmpty)
        #expect(self.lost([document], in: LedgerState()).repetitions.isEmpty)
    }

    @Test func `a lost event counts where it is later than the document, and else the document`() throws {
        let state = try self.state()
        let document = try self.document(after: [.app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])], in: state)
        let sooner = self.end.adding(seconds: -60)
        func entries(_ seconds: Int64) -> [[Entry]] {
            [
                [self.entry(.app(shop), .app(.killSwitchReleased(nil)), after: seconds)],
                [self.entry(.app(shop), .app(.killSwitchEngaged(nil, expiresAt: sooner)), after: seconds)],
            ]
        }
        func commands(_ entries: [Entry]) -> [Command] {
            self.lost([document], beside: entries, in: state).repetitions.map(\.command)
        }
        let shown = Command.app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])
        #expect(entries(0).map(commands) == [[shown], [shown]])
        #expect(entries(300).map(commands) == [[], [.app(shop, [.engageKillSwitch(nil, expiresAt: sooner)])]])
    }

    @Test func `a released switch is named that is in force again, and a withdrawn pin is retired`() throws {
        let engage = Command.app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])
        let state = try self.state([engage])
        let document = try self.document(
            after: [
                .app(shop, [.releaseKillSwitch(nil)]), .app(shop, [.revokePin(api, .baseline, pin(3))]),
            ], in: state)
        let lost = self.lost([document], in: state)
        guard lost.revivals.count == 1, case .document(shop, _, .released(.app(shop))) = lost.revivals[0] else {
            Issue.record("\(lost.revivals)")
            return
        }
        #expect(lost.repetitions.map(\.command) == [.app(shop, [.retirePin(api, .baseline, pin(3))])])
        // The event of it says more.
        let revoked = self.entry(.app(shop), .app(.pinRevoked(api, .baseline, pin(3))), after: 120)
        #expect(
            self.lost([document], beside: [revoked], in: state).repetitions.map(\.command)
                == [.app(shop, [.revokePin(api, .baseline, pin(3))])])
    }

    @Test func `a pin in whose place a document has another one is named, and not retired`() throws {
        let state = try self.state()
        let document = try self.document(
            after: [
                .app(shop, [.addPin(api, .baseline, new(4, .backup))]),
                .app(shop, [.retirePin(api, .baseline, pin(3))]),
            ], in: state)
        let lost = self.lost([document], in: state)
        guard lost.repetitions.isEmpty, lost.revivals.count == 1,
            case .document(shop, _, .withdrawn(pin(3), api, .baseline)) = lost.revivals[0]
        else {
            Issue.record("\(lost)")
            return
        }
    }

    @Test func `a state that has gone on without the lost events keeps what it has made since`() throws {
        let before = try self.state()
        let document = try self.document(after: [], in: before)
        let state = try self.state([
            .app(shop, [.addPin(api, .baseline, new(4, .backup))]),
            .app(shop, [.engageKillSwitch(nil, expiresAt: self.end)]),
        ])
        let lost = self.lost([document], in: state)
        #expect(lost.repetitions.isEmpty && lost.revivals.isEmpty)
    }

    @Test func `a switch that the state has released since is not engaged again`() throws {
        let engage = Command.app(shop, [.engageKillSwitch(nil, expiresAt: self.end)])
        let before = try self.state([engage])
        let document = try self.document(after: [], in: before)
        var state = before
        try self.execute(.app(shop, [.releaseKillSwitch(nil)]), in: &state, at: self.later)
        #expect(self.lost([document], in: state).repetitions.isEmpty)
    }
}

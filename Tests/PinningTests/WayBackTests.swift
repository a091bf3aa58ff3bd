import PinWire
import Testing

@testable import Pinning

@Suite struct `The way back to enforcing` {
    /// Only hashes are known of the keys in reserve, which an import has brought.
    private static let bare: [AppCommand] = [enforcing(shown(certificate(1)), new(2, .backup), new(3, .backup))]

    private func outcome(_ given: [AppCommand], _ command: AppCommand, facts: ExternalFacts = ExternalFacts(serving(1)))
        throws -> RailCase.Outcome
    {
        try RailCase(.unprovenPin, quiet: "of a way back", given: given, when: command, facts: facts).outcome("why")
    }

    @Test(arguments: [PinMode.reportOnly, .off])
    func `a policy that was enforced before is enforced again, as unproven as it was`(mode: PinMode) throws {
        let weakened = Self.bare + [.setMode(api, .baseline, mode)]
        #expect(try self.outcome(weakened, .setMode(api, .baseline, .enforce)).events != nil)
        let fewer = weakened + [.retirePin(api, .baseline, pin(3))]
        #expect(try self.outcome(fewer, .setMode(api, .baseline, .enforce)).events != nil)
        // Another hash was never enforced.
        let more = weakened + [.addPin(api, .baseline, new(4, .backup))]
        #expect(try self.outcome(more, .setMode(api, .baseline, .enforce)).mentions(.unprovenPin))
    }

    @Test func `a policy that was never enforced is not enforced unproven`() throws {
        let reporting: [AppCommand] = [
            enforcing(mode: .reportOnly, shown(certificate(1)), new(2, .backup), new(3, .backup))
        ]
        #expect(try self.outcome(reporting, .setMode(api, .baseline, .enforce)).mentions(.unprovenPin))
    }

    @Test func `a weaker mode says what the way back takes`() throws {
        let weaken = AppCommand.setMode(api, .baseline, .reportOnly)
        let sure = try self.outcome(sound, weaken)
        #expect(!sure.findings.contains { $0.detail.contains("the way back") })
        let wrong = try self.outcome(sound, weaken, facts: ExternalFacts(serving(9)))
        let finding = try #require(
            wrong.findings.first { $0.rail == .liveChainUnmatched && $0.detail.contains("way back") })
        #expect(finding.severity == .warn && wrong.events != nil)
    }

    @Test func `a snapshot keeps what was enforced`() throws {
        var state = LedgerState()
        state.apps.insert(try #require(try given(Self.bare + [.setMode(api, .baseline, .reportOnly)])))
        var restored = LedgerState()
        for part in 0..<LedgerState.snapshotPartCount {
            try restored.restore(part: part, from: state.snapshotPart(part)[...])
        }
        #expect(restored.apps[shop] == state.apps[shop])
        #expect(restored.apps[shop]?.hosts[api]?[.baseline]?.lastEnforced == [pin(1), pin(2), pin(3)].sorted())
    }
}

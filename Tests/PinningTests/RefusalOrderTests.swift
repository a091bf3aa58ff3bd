import PinWire
import Pinning
import Testing

/// Which refusal is told of a change that breaks several rules.
@Suite struct `A change that breaks several rules` {
    private static let first = host("a.example.com")
    private static let second = host("b.example.com")
    private static let com = host("*.com")

    /// The state after an app's commands, with what is known, and whatever the rails say of them.
    private func state(_ commands: [AppCommand]) throws -> LedgerState {
        var state = LedgerState()
        if let app = try given(commands) { state.apps.insert(app) }
        return state
    }

    private func refusal(
        _ commands: [AppCommand], after given: [AppCommand] = [], why: String? = nil, isForced: Bool = false,
        _ change: (inout LedgerState) -> Void = { _ in }
    ) throws -> Refusal? {
        var state = try self.state(given)
        change(&state)
        do throws(Refusal) { _ = try state.decide(.app(shop, commands), in: context(why, isForced: isForced)) } catch {
            return error
        }
        return nil
    }

    private func codes(_ refusal: Refusal?) -> [String]? {
        guard case .guarded(let findings) = refusal else { return nil }
        return findings.filter { $0.severity != .warn }.map(\.rail.code)
    }

    private static func enforced(_ pattern: HostPattern, _ pins: AppCommand.NewPin...) -> AppCommand {
        .addHost(pattern, includesSubdomains: false, mode: .enforce, pins: pins)
    }

    @Test func `a change is refused for its first command that breaks a rule`() throws {
        let suffix = Self.enforced(Self.com)
        let unknown = AppCommand.removeHost(api)
        #expect(try self.refusal([suffix, unknown]) == .publicSuffix(Self.com))
        #expect(try self.refusal([unknown, suffix]) == .hostUnknown(api))
        let revoked: [AppCommand] = [
            Self.enforced(Self.first, new(1), new(2, .backup), new(3)), .revokePin(Self.first, .baseline, pin(3)),
        ]
        let placeholder = try #require(Pin(bytes: [UInt8](repeating: 0, count: 32)))
        let empty = AppCommand.NewPin(pin: placeholder, role: .primary)
        let known: [[AppCommand.NewPin]] = [[empty, new(3)], [new(3), empty]]
        let refusals = try known.map { pins in
            try self.refusal(
                [Self.enforced(Self.second)] + pins.map { .addPin(Self.second, .baseline, $0) }, after: revoked)
        }
        #expect(refusals == [.pinPlaceholder(placeholder, .pattern), .pinRevoked(pin(3))])
        // The same key twice is told before anything is judged.
        let same = Self.enforced(Self.second, new(5), new(5, .backup))
        #expect(self.codes(try self.refusal([Self.enforced(Self.first), same])) == ["G41"])
    }

    @Test func `a change is refused for its first host that lacks pins`() throws {
        let single = Self.enforced(Self.first, new(1))
        #expect(
            try self.refusal([single, Self.enforced(Self.second, new(1), new(2))])
                == .tooFewPins(Self.first, .baseline, active: 1))
        let bare = Self.enforced(Self.first, new(1), new(2))
        #expect(
            try self.refusal([Self.enforced(Self.second, new(1)), bare]) == .noBackupPin(Self.first, .baseline))
        let roomy = Self.enforced(Self.first, new(1), new(2, .backup), new(3))
        let removal = AppCommand.retirePin(Self.first, .baseline, pin(2))
        let few = Self.enforced(Self.second, new(1))
        #expect(try self.refusal([few, removal], after: [roomy]) == .lastBackupPin(Self.first, .baseline))
        let forced = try self.refusal([few, removal], after: [roomy], why: "w", isForced: true)
        #expect(forced == .tooFewPins(Self.second, .baseline, active: 1))
    }

    @Test func `a change is refused for lack of pins, then of a reason, then by other rails`() throws {
        let roomy = [Self.enforced(Self.first, new(1), new(2, .backup), new(3), new(4, .backup))]
        let removal = AppCommand.removeHost(Self.first)
        let few = Self.enforced(Self.second, new(1))
        #expect(try self.refusal([removal, few], after: roomy) == .tooFewPins(Self.second, .baseline, active: 1))
        let far = AppCommand.setPinsValidUntil(noon.adding(seconds: 61 * day))
        let others = [far, .setMode(Self.first, .baseline, .reportOnly)]
        #expect(
            try self.refusal(others + [Self.enforced(Self.second, new(1), new(2, .backup))], after: roomy)
                == .reasonRequired("it lowers the mode of a.example.com to report_only"))
        let told = try self.refusal(
            others + [Self.enforced(Self.second, new(1), new(2, .backup))], after: roomy, why: "w")
        #expect(self.codes(told) == ["G05", "G13"])
    }

    @Test func `a change passes without a reserve where that rail is lowered`() throws {
        let roomy = [Self.enforced(Self.first, new(1), new(2, .backup), new(3))]
        let removal = [AppCommand.retirePin(Self.first, .baseline, pin(2))]
        let lowered = try self.refusal(removal, after: roomy, why: "w") { $0.fleet.loweredRails = [.backupNotServed] }
        #expect(lowered == nil)
        // What never had one may not do without.
        let bare = try self.refusal([Self.enforced(Self.second, new(1), new(2))], after: roomy, why: "w") {
            $0.fleet.loweredRails = [.backupNotServed]
        }
        #expect(bare == .noBackupPin(Self.second, .baseline))
    }

    @Test func `findings on the fleet come in the order of their checks`() throws {
        var state = try self.state([
            Self.enforced(Self.first, new(1), new(2, .backup)), .setClient(.okhttp, ClientSettings()),
        ])
        state.fleet.killSwitch = KillSwitch(engagedAt: noon, expiresAt: noon.adding(seconds: 7200))
        let findings = try state.decide(
            .fleet(.engageKillSwitch(expiresAt: noon.adding(seconds: 60))), in: context("w")
        ).findings
        #expect(findings.map(\.rail.code) == ["G09", "G25"])
        #expect(findings.map(\.verdict) == [.unknown, .violated])
    }
}

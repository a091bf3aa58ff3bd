import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite struct KillSwitchExpiryTests {
    @Test func `only switches whose time is over are released, whenever they begin`() throws {
        let noon = Timestamp(seconds: 1_800_000_000)
        let app = try AppID("com.example.app")
        let range = try #require(VersionRange(VersionGate(minimum: AppVersion("2"))))
        var state = LedgerState()
        for (event, time) in [
            (.appCreated(displayName: "A"), 0), (.killSwitchEngaged(nil, expiresAt: noon.adding(seconds: 60)), 0),
            // By a clock that was a little ahead.
            (.versionKillSwitchEngaged(range, expiresAt: noon.adding(seconds: 90)), 30),
        ] as [(AppEvent, Int64)] {
            let isTaken = state.apply(.app(event), of: .app(app), at: noon.adding(seconds: time))
            #expect(isTaken)
        }
        let engaged = try #require(KillSwitchExpiryWorker.Engaged.all(in: state).first)
        func released(at seconds: Int64) -> [AppCommand] {
            guard case .app(_, let commands)? = engaged.release(at: noon.adding(seconds: seconds)) else { return [] }
            return commands
        }
        #expect(released(at: -1).isEmpty && released(at: 0).isEmpty && released(at: 59).isEmpty)
        #expect(released(at: 60) == [.releaseKillSwitch(nil)])
        #expect(released(at: 90) == [.releaseKillSwitch(nil), .releaseVersionKillSwitch(range)])
    }
}

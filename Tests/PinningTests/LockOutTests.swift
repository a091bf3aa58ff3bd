import PinWire
import Pinning
import Testing

/// 10,000 changes of random commands in ten worlds, and what keeps them harmless.
@Suite struct `Nobody is locked out` {
    private static let seeds = UInt64(1)...10
    private static let changes = 1000

    /// What has to happen so often, or the worlds show nothing.
    private static let enough: [(what: [String], times: Int)] = [
        (
            [
                "addPin", "activatePin", "setPinRole", "retirePin", "revokePin", "setMode", "addHost", "removeHost",
                "startCandidate", "promoteCandidate", "dropCandidate", "setHostRollout", "setEndpoints",
                "startRotation", "advanceRotation", "abortRotation", "engageKillSwitch", "releaseKillSwitch",
                "setSubdomains",
            ], 40
        ),
        // What was decided, and what was refused.
        (["accepted", "refused"], 2500), (["guarded"], 1000), (["forced"], 200),
        (["G07", "G10", "G11", "G43"], 20), (["G09"], 10),
        // How far rotations came, and why machines took up a key.
        (["switch", "settle", "cleanUp", "done"], 50), (["switched", "delivered", "wentBack"], 200),
        // What makes it hard: machines and probes that fail, and clients that trust more than one document.
        (["gone", "came back", "outage", "named"], 50), (["built anew"], 10), (["lag"], 8000),
        // Clients that are locked out by force: the rails were right.
        (["explained"], 1000),
    ]

    @Test func `no client is locked out unless an operator forces exactly the danger that comes true`() throws {
        var counts: [String: Int] = [:]
        for seed in Self.seeds {
            var model = try LockOutModel(seed: seed)
            try model.play(changes: Self.changes)
            counts.merge(model.counts, uniquingKeysWith: +)
        }
        for (what, times) in Self.enough {
            for name in what { #expect(counts[name, default: 0] >= times, "\(name)") }
        }
    }

    @Test(arguments: [GuardRail.stillServed, .lastLivePin, .liveChainUnmatched, .notDelivered, .oldKeyTooSoon])
    func `each of the five rails is needed to prevent a lock-out`(rail: GuardRail) {
        for seed in Self.seeds {
            do throws(LockOutModel.Violation) {
                var model = try LockOutModel(seed: seed, without: rail)
                try model.play(changes: Self.changes)
            } catch {
                return
            }
        }
        Issue.record("\(rail.code) is of no use: without it, nobody was locked out either.")
    }

    @Test func `the lock-out search runs the same way each time`() throws {
        let runs = try (0..<2).map { _ in
            var model = try LockOutModel(seed: 1)
            try model.play(changes: 300)
            return model.counts
        }
        #expect(runs[0] == runs[1])
    }
}

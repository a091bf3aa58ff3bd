import PinWire
import Pinning
import Testing

@Suite struct `A rotation's progress` {
    private static let started = sound + [rotation()]
    private static let settling = started + [advance(), advance()]
    private static let later = noon.adding(seconds: 3 * day)

    private func progress(_ commands: [AppCommand], _ facts: ExternalFacts, at now: Timestamp) throws
        -> RotationProgress
    {
        var state = LedgerState()
        state.apps.insert(try #require(try given(commands)))
        let context = DecisionContext(now: now, reason: nil, isForced: false, facts: facts) { $0 == "com" }
        return try state.progress(of: "r", app: shop, in: context)
    }

    /// The next key came back only an hour ago: time since the phase began says nothing of it.
    @Test func `a rotation's progress shows what is missing where it is not ready`() throws {
        let facts = ExternalFacts(serving(4, hoursAgo: 0, sinceDays: 0, now: Self.later))
        let progress = try self.progress(Self.settling, facts, at: Self.later)
        #expect(!progress.isReady && progress.obstacle == nil)
        let open = progress.waits.filter { $0.isMet != true }
        #expect(open.map(\.what) == ["G11 (\(GuardRail.oldKeyTooSoon.entry.title)) has nothing against it"])
        #expect(open.allSatisfy { $0.detail.contains("must be served for") })
    }

    @Test(
        arguments: [
            (started, 0), (started, 90_000), (started + [advance()], 0), (settling, 3 * day),
            (settling + [advance()], 3 * day), (settling + [advance()], 9 * day),
        ] as [([AppCommand], Int64)])
    func `a rotation's progress is not ready only with a check that is not ticked`(
        commands: [AppCommand], seconds: Int64
    ) throws {
        let now = noon.adding(seconds: seconds)
        for key in [1, 4, 9] {
            let progress = try self.progress(commands, ExternalFacts(serving(key, now: now)), at: now)
            let isComplete = progress.waits.allSatisfy { $0.isMet == true }
            #expect(progress.isReady || progress.obstacle != nil || !isComplete)
        }
    }

    @Test func `a rotation's progress names clients that are locked out, and repairs the server first`() throws {
        let wrong = certificate(9, names: ["api.stranger.example"], subject: "CN=api.stranger.example")
        let facts = ExternalFacts(serving(9, certificates: [wrong], now: noon))
        let progress = try self.progress(Self.started, facts, at: noon)
        let lockOut = try #require(progress.lockOuts.first)
        #expect(progress.lockOuts.count == 1)
        #expect(lockOut.remedy.hasPrefix("Redeploy the right certificate at api.example.com:443"))
        #expect(lockOut.remedy.contains("is for api.stranger.example, not for api.example.com"))
        #expect(progress.json(of: shop)["locked_out"]?.arrayValue?.count == 1)
    }

    @Test(arguments: [1, 4]) func `a rotation's progress names no locked-out clients while a pinned key is presented`(
        key: Int
    ) throws {
        #expect(try self.progress(Self.started, ExternalFacts(serving(key, now: noon)), at: noon).lockOuts.isEmpty)
    }

    @Test func `a rotation's progress names the whole command that ends the phase`() throws {
        let progress = try self.progress(Self.settling, ExternalFacts(serving(4, now: Self.later)), at: Self.later)
        #expect(
            progress.json(of: shop)["command"]?.stringValue
                == "pinledger rotation advance com.example.shop r --from settle --reason \"the next key has proved itself\""
        )
    }
}

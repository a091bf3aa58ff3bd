import PinWire
import Pinning
import Testing

@Suite struct `The history after a loss` {
    private func restoration(_ epoch: Int64, kept: Int64 = 100, by raise: Int64 = 1_000_000) -> HistoryRestoration {
        HistoryRestoration(
            epoch: epoch, keptSize: kept, lost: .init(size: kept + 7, root: sha256([1])), raisedBy: raise)
    }

    private func state(after commands: [Command]) throws -> LedgerState {
        var state = LedgerState()
        for (index, command) in commands.enumerated() {
            let now = noon.adding(seconds: Int64(index))
            state.take(try state.decide(command, in: context("after a loss", at: now)).after)
        }
        return state
    }

    @Test func `one event raises the version of every document, also of apps that come later`() throws {
        let create = Command.app(shop, [.create(displayName: "Shop")])
        let before = try self.state(after: [create])
        let version = try #require(before.documentVersion(of: shop))
        let restore = Command.fleet(.restoreHistory(self.restoration(1)))
        var after = try self.state(after: [create, restore])
        #expect(after.documentVersion(of: shop) == version + 1_000_001)
        #expect(after.document(of: shop)?.version == version + 1_000_001)
        let till = appID("com.example.till")
        after.take(try after.decide(.app(till, [.create(displayName: "Till")]), in: context()).after)
        #expect(after.documentVersion(of: till) == 1_000_002)
    }

    @Test func `raises add up, and stay below what entity tags can state`() throws {
        let most = HistoryRestoration.largestRaise
        var state = try self.state(after: [
            .fleet(.restoreHistory(self.restoration(1, by: 5))),
            .fleet(.restoreHistory(self.restoration(2, kept: 200, by: most - 5))),
        ])
        #expect(state.fleet.raisedBy == most && state.fleet.epoch == 2)
        // Events that no command makes do not take it further either.
        _ = state.apply(
            .fleet(.historyRestored(self.restoration(3, by: JSON.largestInteger))), of: .fleet, at: noon)
        #expect(state.fleet.raisedBy == most)
        _ = state.apply(.fleet(.historyRestored(self.restoration(3))), of: .fleet, at: noon)
        #expect(state.fleet.epochs.map(\.number) == [1, 2, 3])
    }

    @Test func `a new epoch needs a reason`() {
        #expect(throws: Refusal.self) {
            try LedgerState().decide(.fleet(.restoreHistory(self.restoration(1))), in: context())
        }
    }

    @Test func `every position belongs to one epoch`() throws {
        let fleet = try self.state(after: [
            .fleet(.restoreHistory(self.restoration(1, kept: 100))),
            .fleet(.restoreHistory(self.restoration(4, kept: 150))),
        ]).fleet
        let epochs = [0, 99, 100, 149, 150, 9999].map { fleet.epoch(at: $0) }
        #expect(epochs == [0, 0, 1, 1, 4, 4])
    }

    @Test(
        arguments: [
            // Seen, and where the reader goes on.
            ("42", 43), ("99", 100), ("100", 100), ("4711", 100), ("1.120", 121), ("1.149", 150), ("1.180", 150),
            ("2.180", 150), ("4.180", 181),
        ] as [(String, Int64)])
    func `a reader that has seen lost events goes on where the next epoch begins`(seen: String, next: Int64) throws {
        let fleet = try self.state(after: [
            .fleet(.restoreHistory(self.restoration(1, kept: 100))),
            .fleet(.restoreHistory(self.restoration(4, kept: 150))),
        ]).fleet
        #expect(fleet.position(after: try #require(EpochNumber(seen))) == next)
    }

    @Test func `a number with its epoch is read as it was written`() {
        for number in [
            EpochNumber(epoch: 0, number: 0), EpochNumber(epoch: 0, number: 12), EpochNumber(epoch: 3, number: 12),
        ] {
            #expect(EpochNumber(number.description) == number)
        }
        #expect(EpochNumber(epoch: 0, number: 12).description == "12")
        #expect(EpochNumber(epoch: 3, number: 12).description == "3.12")
    }

    @Test(arguments: [
        "", ".", "1.", ".1", "0.1", "01", "1.01", "1.2.3", "-1", "+1", " 1", "9007199254740992", "99999999999999999999",
        "１",
    ])
    func `a text that is no number with its epoch is refused`(text: String) {
        #expect(EpochNumber(text) == nil)
    }

    @Test func `a log signs nothing after a loss until it has another name`() throws {
        let (old, new) = (
            try #require(LogName("pins.example.com/log")), try #require(LogName("pins.example.com/log/epoch-1"))
        )
        let open = Command.log(.open(origin: old, kid: "k1", publicKey: sha256([1])))
        let restore = Command.fleet(.restoreHistory(self.restoration(1)))
        let end = HistoryRestoration.End(size: 107, root: sha256([1]))
        #expect(try self.state(after: [open]).signableOrigin == old)
        let lost = try self.state(after: [open, restore])
        #expect(lost.signableOrigin == nil && lost.log.origin == old)
        let state = try self.state(after: [open, restore, .log(.continueAs(new, after: end))])
        #expect(state.signableOrigin == new)
        #expect(state.log.earlier == [EarlierLog(origin: old, end: end)])
        #expect(state.log.signers.map(\.kid) == ["k1"])
        // No name is used twice.
        for name in [old, new] {
            #expect(throws: Refusal.logOpen(name)) {
                try state.decide(.log(.continueAs(name, after: end)), in: context())
            }
        }
    }

    @Test func `a log that was opened in a later epoch signs`() throws {
        let name = try #require(LogName("pins.example.com/log"))
        let state = try self.state(after: [
            .fleet(.restoreHistory(self.restoration(1))), .log(.open(origin: name, kid: "k1", publicKey: sha256([1]))),
        ])
        #expect(state.signableOrigin == name)
    }
}

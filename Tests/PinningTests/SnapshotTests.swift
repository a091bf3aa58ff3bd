import PinWire
import Pinning
import SeededRandom
import Testing

@Suite struct `A snapshot` {
    /// A state after many commands, half of them insisted on.
    private func state(seed: UInt64, commands: Int) -> (LedgerState, RandomLedger) {
        var random = RandomLedger(seed: seed)
        var state = LedgerState()
        self.run(commands, &random, &state)
        return (state, random)
    }

    private func run(_ count: Int, _ random: inout RandomLedger, _ state: inout LedgerState) {
        for _ in 0..<count {
            let command = random.command()
            random.now = Timestamp(microseconds: random.now.microseconds + 3_600_000_123)
            var context = context("w", isForced: true, at: random.now)
            if case .change = command { context.commander = Actor(kind: .local, id: "root", name: "Root") }
            guard let decision = try? state.decide(command, in: context) else { continue }
            for effect in decision.effects {
                for event in effect.events { _ = state.apply(event, of: effect.stream, at: random.now) }
            }
            for event in decision.events { _ = state.apply(event, of: command.stream, at: random.now) }
        }
    }

    private func parts(of state: LedgerState) -> [[UInt8]] {
        (0..<LedgerState.snapshotPartCount).map { state.snapshotPart($0) }
    }

    private func restored(_ parts: [[UInt8]]) throws -> LedgerState {
        var state = LedgerState()
        for (index, part) in parts.enumerated() { try state.restore(part: index, from: part[...]) }
        return state
    }

    private func expectSame(_ one: LedgerState, _ other: LedgerState) {
        #expect(
            one.apps == other.apps && one.fleet == other.fleet && one.keys == other.keys && one.access == other.access
                && one.webhooks == other.webhooks && one.changes == other.changes
                && one.audit == other.audit)
        #expect(one.json == other.json)
    }

    @Test(arguments: TestDepth.seeds(25))
    func `a snapshot is the state it was taken of, and folds on like it`(seed: UInt64) throws {
        var (state, random) = self.state(seed: seed, commands: 300)
        let taken = self.parts(of: state)
        var read = try self.restored(taken)
        #expect(self.parts(of: read) == taken)
        self.expectSame(read, state)
        var same = random
        self.run(300, &random, &state)
        self.run(300, &same, &read)
        self.expectSame(read, state)
        #expect(self.parts(of: read) == self.parts(of: state))
        #expect(self.parts(of: state) != taken)
    }

    @Test(arguments: 0..<10)
    func `a snapshot is read back after events that no decision makes`(seed: UInt64) throws {
        var random = RandomLedger(seed: seed)
        var state = LedgerState()
        for _ in 0..<1000 { _ = state.apply(random.event(), of: random.stream(), at: random.now) }
        self.expectSame(try self.restored(self.parts(of: state)), state)
    }

    @Test func `a snapshot of many apps is read back, whatever order they came in`() throws {
        var (one, other) = (LedgerState(), LedgerState())
        let ids = (0..<2000).map { appID("com.example.n\($0)") }
        for id in ids { _ = one.apply(.app(.appCreated(displayName: id.text)), of: .app(id), at: noon) }
        for id in ids.reversed() { _ = other.apply(.app(.appCreated(displayName: id.text)), of: .app(id), at: noon) }
        #expect(self.parts(of: one) == self.parts(of: other))
        let read = try self.restored(self.parts(of: one))
        self.expectSame(read, one)
        #expect(read.apps.count == 2000 && Set(read.apps.keys) == Set(ids))
    }

    @Test func `a snapshot of an empty ledger is read back`() throws {
        self.expectSame(try self.restored(self.parts(of: LedgerState())), LedgerState())
    }

    @Test func `a snapshot that is cut short or too long is refused`() throws {
        let (state, _) = self.state(seed: 3, commands: 300)
        for (index, part) in self.parts(of: state).enumerated() where part.count > 1 {
            for count in 0..<part.count {
                var other = LedgerState()
                #expect(throws: SnapshotDefect.self) { try other.restore(part: index, from: part[..<count]) }
            }
            var other = LedgerState()
            #expect(throws: SnapshotDefect.self) { try other.restore(part: index, from: (part + [0])[...]) }
        }
    }

    @Test func `a snapshot with a byte changed is refused or is another state`() throws {
        let (state, _) = self.state(seed: 5, commands: 300)
        var refused = 0
        for (index, part) in self.parts(of: state).enumerated() where part.count > 1 {
            for place in part.indices {
                var damaged = part
                damaged[place] ^= 0x81
                var other = LedgerState()
                do {
                    try other.restore(part: index, from: damaged[...])
                    #expect(other.snapshotPart(index) != part)
                } catch {
                    refused += 1
                }
            }
        }
        #expect(refused > 100)
    }

    @Test func `a snapshot with an app in another shard's place is refused`() throws {
        let (state, _) = self.state(seed: 3, commands: 1000)
        let parts = self.parts(of: state)
        let full = try #require(parts.indices.dropFirst().first { parts[$0].count > 1 })
        var other = LedgerState()
        #expect(throws: SnapshotDefect.self) {
            try other.restore(part: full == 1 ? 2 : full - 1, from: parts[full][...])
        }
    }
}

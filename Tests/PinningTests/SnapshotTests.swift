import PinWire
import Pinning
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
            let events = try? state.decide(command, in: context("w", isForced: true, at: random.now))
            for event in events ?? [] { _ = state.apply(event, of: command.stream, at: random.now) }
        }
    }

    @Test(arguments: 0..<25)
    func `is the state it was taken of, and folds on like it`(seed: UInt64) throws {
        var (state, random) = self.state(seed: seed, commands: 300)
        let bytes = state.json.canonicalBytes
        let limits = JSONLimits(depth: 32, nodes: .max)
        var read = try LedgerState(JSONField(JSON(parsing: bytes, limits: limits)))
        #expect(read.json.canonicalBytes == bytes)
        #expect(
            read.apps == state.apps && read.fleet == state.fleet && read.keys == state.keys
                && read.access == state.access)
        var same = random
        self.run(300, &random, &state)
        self.run(300, &same, &read)
        #expect(read.json.canonicalBytes == state.json.canonicalBytes)
        #expect(state.json.canonicalBytes != bytes)
    }

    @Test(arguments: 0..<10)
    func `is read back after events that no decision makes`(seed: UInt64) throws {
        var random = RandomLedger(seed: seed)
        var state = LedgerState()
        for _ in 0..<1000 { _ = state.apply(random.event(), of: random.stream(), at: random.now) }
        let read = try LedgerState(JSONField(state.json))
        #expect(read.json == state.json)
        #expect(read.apps == state.apps && read.fleet == state.fleet)
    }

    @Test func `of nothing is read back`() throws {
        let json = LedgerState().json
        #expect(try LedgerState(JSONField(json)).json == json)
    }

    @Test func `that is damaged is refused, whichever member is gone or foreign`() throws {
        let (state, _) = self.state(seed: 3, commands: 300)
        let optional: Set = [
            "rollout", "version_gate", "pins_valid_until", "kill_switch", "candidate", "note", "superseded_at",
            "activated_at",
            "retired_at", "revoked_at", "revoked_pins", "salt", "countries", "whitelist", "method", "seed", "sticky",
            "minimum",
            "maximum", "excluded", "minimum_build", "builtin_pin_hosts", "failure_threshold_bp", "auto_disable",
        ]
        var (gone, foreign) = (0, 0)
        /// Every copy of `value` in which one object somewhere has lost a member or got one more.
        func damaged(_ value: JSON, _ use: (JSON) -> Void, isLost: Bool) {
            switch value {
            case .object(let members):
                var more = members
                more["foreign"] = 1
                if !isLost { use(.object(more)) }
                for (name, member) in members {
                    var fewer = members
                    fewer[name] = nil
                    if isLost, !optional.contains(name) { use(.object(fewer)) }
                    damaged(
                        member,
                        { changed in
                            var changedMembers = members
                            changedMembers[name] = changed
                            use(.object(changedMembers))
                        },
                        isLost: isLost
                    )
                }
            case .array(let elements):
                guard let first = elements.first else { return }
                damaged(first, { use(.array([$0] + elements.dropFirst())) }, isLost: isLost)
            default: break
            }
        }
        damaged(
            state.json,
            { json in
                gone += 1
                #expect(throws: JSONDefect.self) { try LedgerState(JSONField(json)) }
            },
            isLost: true
        )
        damaged(
            state.json,
            { json in
                foreign += 1
                #expect(throws: JSONDefect.self) { try LedgerState(JSONField(json)) }
            },
            isLost: false
        )
        #expect(gone > 30 && foreign > 10)
    }
}

import PinWire
import Pinning
import Testing

extension KeyRing {
    /// The events that a command causes, judged like every change.
    fileprivate func decide(_ command: KeyCommand, in context: DecisionContext) throws(Refusal) -> [KeyEvent] {
        var state = LedgerState()
        state.keys = self
        return try state.decide(.keys(command), in: context).events.compactMap { event in
            if case .keys(let event) = event { event } else { nil }
        }
    }
}

@Suite struct `The key ring` {
    static let day = noon.adding(seconds: 86_400)

    private func publicKey(_ name: String) -> [UInt8] { sha256(Array(name.utf8)) }

    /// A ring with the keys of these names, all made at noon; the first is active.
    private func ring(_ names: String...) throws -> KeyRing {
        var ring = KeyRing()
        for name in names {
            try self.take(.create(kid: name, publicKey: self.publicKey(name)), &ring, context())
        }
        return ring
    }

    @discardableResult
    private func take(_ command: KeyCommand, _ ring: inout KeyRing, _ context: DecisionContext) throws -> [KeyEvent] {
        let events = try ring.decide(command, in: context)
        for event in events { ring.evolve(event, at: context.now) }
        return events
    }

    @Test func `the key ring signs with its first key at once and announces the others`() throws {
        var ring = KeyRing()
        let first = try self.take(.create(kid: "a", publicKey: self.publicKey("a")), &ring, context())
        #expect(
            first == [.signingKeyCreated(kid: "a", publicKey: self.publicKey("a")), .signingKeyActivated(kid: "a")])
        let second = try self.take(.create(kid: "b", publicKey: self.publicKey("b")), &ring, context())
        #expect(second == [.signingKeyCreated(kid: "b", publicKey: self.publicKey("b"))])
        #expect(ring.active?.kid == "a" && ring.active?.activatedAt == noon)
        #expect(ring.keys["b"]?.state == .announced && ring.keys["b"]?.activatedAt == nil && ring.version == 3)
    }

    @Test func `the key ring has a key once`() throws {
        let ring = try self.ring("a")
        #expect(throws: Refusal.keyExists("a")) {
            try ring.decide(.create(kid: "a", publicKey: self.publicKey("x")), in: context("w", isForced: true))
        }
    }

    @Test func `the key ring activates a key that was announced for a day, and supersedes the one before`() throws {
        var ring = try self.ring("a", "b")
        #expect(try self.take(.activate(kid: "b"), &ring, context(at: Self.day)) == [.signingKeyActivated(kid: "b")])
        #expect(ring.active?.kid == "b" && ring.keys["b"]?.activatedAt == Self.day)
        #expect(ring.keys["a"]?.state == .superseded && ring.keys["a"]?.supersededAt == Self.day)
        #expect(try ring.decide(.activate(kid: "b"), in: context()).isEmpty)
    }

    @Test func `the key ring activates a younger key only with force and a reason`() throws {
        let ring = try self.ring("a", "b")
        let early = Timestamp(microseconds: Self.day.microseconds - 1)
        for context in [context(at: early), context("w", at: early), context(isForced: true, at: early)] {
            #expect(throws: Refusal.keyTooYoung("b", until: Self.day)) {
                try ring.decide(.activate(kid: "b"), in: context)
            }
        }
        let events = try ring.decide(.activate(kid: "b"), in: context("w", isForced: true, at: early))
        #expect(events.count == 2 && events[0] == .signingKeyActivated(kid: "b"))
        guard case .railsOverridden(let findings) = events[1] else { return #expect(Bool(false)) }
        #expect(findings.map(\.code) == ["G31"])
    }

    @Test func `the key ring activates neither an unknown key nor a retired one`() throws {
        var ring = try self.ring("a", "b")
        let insisting = context("w", isForced: true)
        #expect(throws: Refusal.keyUnknown("x")) { try ring.decide(.activate(kid: "x"), in: insisting) }
        try self.take(.activate(kid: "b"), &ring, insisting)
        #expect(throws: Refusal.keyNotAnnounced("a", .superseded)) {
            try ring.decide(.activate(kid: "a"), in: insisting)
        }
        try self.take(.retire(kid: "a"), &ring, insisting)
        #expect(throws: Refusal.keyNotAnnounced("a", .retired)) { try ring.decide(.activate(kid: "a"), in: insisting) }
    }

    @Test func `the key ring retires a superseded key after a week, or with force and a reason`() throws {
        var ring = try self.ring("a", "b")
        try self.take(.activate(kid: "b"), &ring, context(at: Self.day))
        let week = Self.day.adding(seconds: 7 * 86_400)
        let early = Timestamp(microseconds: week.microseconds - 1)
        for context in [context(at: early), context("w", at: early), context(isForced: true, at: early)] {
            #expect(throws: Refusal.keyStillTrusted("a", until: week)) {
                try ring.decide(.retire(kid: "a"), in: context)
            }
        }
        let events = try ring.decide(.retire(kid: "a"), in: context("w", isForced: true, at: early))
        #expect(events.count == 2 && events[0] == .signingKeyRetired(kid: "a"))
        guard case .railsOverridden(let findings) = events[1] else { return #expect(Bool(false)) }
        #expect(findings.map(\.code) == ["G31"])
        #expect(try self.take(.retire(kid: "a"), &ring, context(at: week)) == [.signingKeyRetired(kid: "a")])
        #expect(ring.keys["a"]?.state == .retired && ring.keys["a"]?.retiredAt == week)
        #expect(ring.keys["a"]?.isInKeySet == false && ring.keys["b"]?.isInKeySet == true)
        #expect(throws: Refusal.keyRetired("a")) { try ring.decide(.retire(kid: "a"), in: context(at: week)) }
    }

    @Test func `the key ring retires an announced key at once, the active one never and an unknown one not at all`()
        throws
    {
        let ring = try self.ring("a", "b")
        let insisting = context("w", isForced: true)
        #expect(try ring.decide(.retire(kid: "b"), in: context()) == [.signingKeyRetired(kid: "b")])
        #expect(throws: Refusal.keyInUse("a")) { try ring.decide(.retire(kid: "a"), in: insisting) }
        #expect(throws: Refusal.keyUnknown("x")) { try ring.decide(.retire(kid: "x"), in: insisting) }
    }

    @Test func `the key ring keeps its active key whatever does not fit`() throws {
        let before = try self.ring("a")
        var ring = before
        ring.evolve(.signingKeyActivated(kid: "x"), at: noon)
        ring.evolve(.signingKeyRetired(kid: "x"), at: noon)
        ring.evolve(.signingKeyActivated(kid: "a"), at: Self.day)
        ring.version = before.version
        #expect(ring == before)
    }
}

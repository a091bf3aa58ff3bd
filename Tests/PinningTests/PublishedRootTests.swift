import PinWire
import Pinning
import RootKeys
import Testing

/// A root of trust of Ada, Bob and Cleo, two of whom sign, with the keys of documents of these names.
func signedRoot(
    _ version: Int64, documents: [String] = ["document"], by signers: [String] = ["Ada", "Bob"],
    until end: Timestamp = noon.adding(seconds: 365 * 86_400)
) throws -> SignedRoot {
    try .made(
        version, documents: try documents.map { try RootSigner($0).publicKey },
        expiresAt: Timestamp(seconds: end.seconds),
        signedBy: signers)
}

@Suite struct `Published roots of trust` {
    private static let day: Int64 = 86_400

    private func kid(_ name: String) throws -> String { RootOfTrust.thumbprint(try RootSigner(name).publicKey) }

    private func create(_ name: String) throws -> Command {
        .keys(.create(kid: try self.kid(name), publicKey: try RootSigner(name).publicKey))
    }

    /// The state after these commands, each insisted on.
    private func state(_ commands: [Command], at time: Timestamp = noon) throws -> LedgerState {
        var state = LedgerState()
        for command in commands {
            state.take(try state.decide(command, in: context("given", isForced: true, at: time)).after)
        }
        return state
    }

    private func publish(_ root: SignedRoot, restarts: Bool = false) -> Command {
        .keys(.publishRoot(root, restarts: restarts))
    }

    @Test func `roots follow one another, and the newest one counts`() throws {
        let roots = [try signedRoot(1), try signedRoot(2)]
        let state = try self.state([try self.create("document")] + roots.map { self.publish($0) })
        #expect(state.keys.roots.map(\.root.file) == roots && state.keys.root?.root.version == 2)
        #expect(state.keys.root?.publishedAt == noon)
    }

    @Test func `publishing the newest root again changes nothing`() throws {
        let root = try signedRoot(1)
        let state = try self.state([try self.create("document"), self.publish(root)])
        #expect(try state.decide(self.publish(root), in: context()).events.isEmpty)
    }

    @Test func `a root without enough signatures is refused with their number`() throws {
        let state = try self.state([try self.create("document")])
        #expect(throws: Refusal.rootUnsigned(rootVersion: 1, signatures: 1, needed: 2)) {
            try state.decide(self.publish(try signedRoot(1, by: ["Ada", "Eve"])), in: context("why"))
        }
    }

    @Test func `a root of the wrong version is refused with the right one`() throws {
        let state = try self.state([try self.create("document"), self.publish(try signedRoot(1))])
        for version in [Int64(1), 3] {
            let other = try signedRoot(version, documents: ["document", "spare"])
            #expect(throws: Refusal.rootVersion(version, expected: 2)) {
                try state.decide(self.publish(other), in: context("why", isForced: true))
            }
        }
    }

    @Test func `a root that has ended is refused`() throws {
        let end = Timestamp(seconds: noon.seconds)
        #expect(throws: Refusal.rootExpired(end)) {
            try self.state([self.publish(try signedRoot(1, until: end))], at: end)
        }
    }

    /// The details of what `G31` finds in a command.
    private func findings(of command: Command, in state: LedgerState, at time: Timestamp = noon) throws -> [String] {
        let decision = try state.decide(command, in: context("why", isForced: true, at: time))
        #expect(decision.findings.allSatisfy { $0.rail.code == "G31" && $0.severity == .override })
        return decision.findings.map(\.detail)
    }

    @Test func `a root without the key that signs takes insistence`() throws {
        let state = try self.state([try self.create("a"), try self.create("b")])
        let kid = try self.kid("a")
        let found = try self.findings(of: self.publish(try signedRoot(1, documents: ["b"])), in: state)
        #expect(found.count == 1 && found[0].contains(kid) && found[0].contains("refuse them all"))
        #expect(throws: Refusal.self) {
            try state.decide(self.publish(try signedRoot(1, documents: ["b"])), in: context("why"))
        }
    }

    @Test func `a root with a key of another server takes insistence`() throws {
        let state = try self.state([try self.create("a")])
        let found = try self.findings(of: self.publish(try signedRoot(1, documents: ["a", "stranger"])), in: state)
        #expect(try found.count == 1 && found[0].contains(self.kid("stranger")))
    }

    @Test func `a root keeps a superseded key for a week, and not longer`() throws {
        let both = try signedRoot(1, documents: ["a", "b"])
        let activate = Command.keys(.activate(kid: try self.kid("b")))
        let state = try self.state([try self.create("a"), try self.create("b"), self.publish(both), activate])
        let next = self.publish(try signedRoot(2, documents: ["b"]))
        #expect(try self.findings(of: next, in: state).map { $0.contains("may be in use") } == [true])
        #expect(try self.findings(of: next, in: state, at: noon.adding(seconds: 7 * Self.day)).isEmpty)
    }

    @Test func `a key that no root has is activated only by insistence`() throws {
        let state = try self.state([
            try self.create("a"), try self.create("b"), self.publish(try signedRoot(1, documents: ["a"])),
        ])
        let activate = Command.keys(.activate(kid: try self.kid("b")))
        let found = try self.findings(of: activate, in: state, at: noon.adding(seconds: 2 * Self.day))
        #expect(found.count == 1 && found[0].contains("does not have the key"))
    }

    @Test(
        arguments: [(Int64(91), nil), (89, "soon"), (13, "urgent"), (0, "urgent"), (-1, "urgent")] as [(Int64, String?)]
    )
    func `a root that ends needs attention in time`(days: Int64, severity: String?) throws {
        let end = noon.adding(seconds: 365 * Self.day)
        let state = try self.state([try self.create("document"), self.publish(try signedRoot(1, until: end))])
        let now = end.adding(seconds: -days * Self.day)
        let items = state.attention(in: context(at: now)).items.filter { $0.kind == .rootExpires }
        #expect(items.map(\.severity.rawValue) == (severity.map { [$0] } ?? []))
        #expect(items.allSatisfy { $0.date == end && $0.detail.contains(days > 0 ? "ends" : "ended") })
    }

    @Test func `a new row begins only where that is asked for and insisted on`() throws {
        let lost = try self.state([try self.create("document"), self.publish(try signedRoot(1))])
        let anew = try SignedRoot.made(
            2, people: ["Dora", "Eve"], documents: [try RootSigner("document").publicKey],
            expiresAt: Timestamp(seconds: noon.seconds + 365 * Self.day))
        #expect(throws: Refusal.rootUnsigned(rootVersion: 1, signatures: 0, needed: 2)) {
            try lost.decide(self.publish(anew), in: context("why", isForced: true))
        }
        #expect(throws: Refusal.self) { try lost.decide(self.publish(anew, restarts: true), in: context("why")) }
        let found = try self.findings(of: self.publish(anew, restarts: true), in: lost)
        #expect(found.count == 1 && found[0].contains("keep theirs for good"))
        let state = try self.state([
            try self.create("document"), self.publish(try signedRoot(1)), self.publish(anew, restarts: true),
        ])
        #expect(state.keys.root?.root.file == anew)
        // A root that follows needs no restart, and one that its own keys have not signed is refused all the same.
        #expect(try self.findings(of: self.publish(try signedRoot(2), restarts: true), in: lost).isEmpty)
        #expect(throws: Refusal.self) {
            try lost.decide(
                self.publish(try signedRoot(2, by: ["Ada"]), restarts: true), in: context("why", isForced: true))
        }
    }

    @Test func `a root that ends soon takes insistence`() throws {
        let state = try self.state([try self.create("document")])
        let found = try self.findings(
            of: self.publish(try signedRoot(1, until: noon.adding(seconds: 89 * Self.day))), in: state)
        #expect(found.count == 1 && found[0].contains("ends at"))
    }

    @Test func `an event with a root that does not follow changes no root`() throws {
        var ring = KeyRing()
        for root in [try signedRoot(2), try signedRoot(1, by: ["Eve"])] { ring.evolve(.rootPublished(root), at: noon) }
        #expect(ring.roots.isEmpty && ring.version == 2)
    }

    @Test func `a snapshot keeps the roots`() throws {
        let state = try self.state([
            try self.create("document"), self.publish(try signedRoot(1)), self.publish(try signedRoot(2)),
        ])
        var restored = LedgerState()
        try restored.restore(part: 0, from: state.snapshotPart(0)[...])
        #expect(restored.keys == state.keys)
    }
}

import PinWire
import Pinning
import Testing

@Suite struct `The transparency log's settings` {
    private let origin = LogName("pins.example.com/log")

    private func decided(_ commands: [LogCommand]) throws -> LedgerState {
        var state = LedgerState()
        for command in commands {
            let decision = try state.decide(.log(command), in: context())
            state.take(decision.after)
        }
        return state
    }

    private func refusal(of command: LogCommand, after commands: [LogCommand]) throws -> Refusal? {
        let state = try self.decided(commands)
        do throws(Refusal) {
            _ = try state.decide(.log(command), in: context())
            return nil
        } catch {
            return error
        }
    }

    @Test func `a log is opened once, with a key that signs`() throws {
        let origin = try #require(self.origin)
        let open = LogCommand.open(origin: origin, kid: "k1", publicKey: sha256([1]))
        let log = try self.decided([open]).log
        #expect(log.origin == origin && log.version == 1)
        #expect(log.signers.map(\.kid) == ["k1"])
        #expect(try self.refusal(of: open, after: [open]) == .logOpen(origin))
    }

    @Test func `keys are added and retired, and one always signs`() throws {
        let origin = try #require(self.origin)
        let open = LogCommand.open(origin: origin, kid: "k1", publicKey: sha256([1]))
        let add = LogCommand.addKey(kid: "k2", publicKey: sha256([2]))
        let state = try self.decided([open, add, .retireKey(kid: "k1")])
        #expect(state.log.keys.map(\.kid) == ["k1", "k2"])
        #expect(state.log.signers.map(\.kid) == ["k2"])
        #expect(state.retiredKeyIDs == ["k1"])
        #expect(
            try self.refusal(of: .retireKey(kid: "k2"), after: [open, add, .retireKey(kid: "k1")]) == .logKeyLast("k2"))
        #expect(
            try self.refusal(of: .retireKey(kid: "k1"), after: [open, add, .retireKey(kid: "k1")]) == .keyRetired("k1"))
        #expect(try self.refusal(of: .retireKey(kid: "k3"), after: [open]) == .keyUnknown("k3"))
        #expect(try self.refusal(of: add, after: [open, add]) == .keyExists("k2"))
        #expect(try self.refusal(of: add, after: []) == .logNotOpen)
    }

    @Test func `a log is private and records no documents, until both are changed`() throws {
        let origin = try #require(self.origin)
        let open = LogCommand.open(origin: origin, kid: "k1", publicKey: sha256([1]))
        let given = try self.decided([open])
        #expect(!given.log.isPublic && !given.log.recordsDocuments)
        let opening = LogCommand.update(isPublic: true, recordsDocuments: nil)
        #expect(throws: Refusal.self, "everyone's access takes a reason") {
            try given.decide(.log(opening), in: context())
        }
        let isPublic = try given.decide(.log(opening), in: context("report")).events
        #expect(isPublic == [.log(.logAccessSet(isPublic: true))])
        let both = LogCommand.update(isPublic: false, recordsDocuments: true)
        #expect(try given.decide(.log(both), in: context()).events == [.log(.logDocumentProofsSet(true))])
        #expect(try self.refusal(of: both, after: []) == .logNotOpen)
    }

    @Test func `a published version is recorded once, where documents are recorded`() throws {
        let origin = try #require(self.origin)
        var state = try self.decided([.open(origin: origin, kid: "k1", publicKey: sha256([1]))])
        state.take(try state.decide(.app(shop, [.create(displayName: "Shop")]), in: context()).after)
        func record(_ version: Int64, _ content: UInt8 = 1) throws -> [Event] {
            let publication = Publication(version: version, contentDigest: sha256([content]))
            let decision = try state.decide(.publication(shop, publication), in: context())
            state.take(decision.after)
            return decision.events
        }
        #expect(try record(1).isEmpty)
        let setting = try state.decide(.log(.update(isPublic: nil, recordsDocuments: true)), in: context())
        state.take(setting.after)
        let document = state.documentVersion(of: shop)
        #expect(try record(1).count == 1)
        #expect(try record(1).isEmpty && record(1, 2).isEmpty, "one version has one content")
        #expect(try record(3).count == 1)
        #expect(try record(2).count == 1, "another node was faster with a later version")
        #expect(try record(2).isEmpty && record(3).isEmpty)
        #expect(state.apps[shop]?.watch.published?.publication.version == 3)
        #expect(state.apps[shop]?.watch.published?.streamVersion == 2)
        for version in Int64(10)...30 { #expect(try record(version).count == 1) }
        #expect(try record(4).isEmpty, "it is too long ago to tell")
        #expect(state.apps[shop]?.watch.publishedVersions.count == 8)
        #expect(state.documentVersion(of: shop) == document, "a record makes no other document")
        #expect(throws: Refusal.appUnknown(try AppID("com.example.nowhere"))) {
            try state.decide(
                .publication(AppID("com.example.nowhere"), Publication(version: 1, contentDigest: sha256([1]))),
                in: context())
        }
    }

    @Test func `no more than four keys sign at the same time`() throws {
        let origin = try #require(self.origin)
        let first = LogCommand.open(origin: origin, kid: "k1", publicKey: sha256([1]))
        let more = (2...4).map { LogCommand.addKey(kid: "k\($0)", publicKey: sha256([UInt8($0)])) }
        let fifth = LogCommand.addKey(kid: "k5", publicKey: sha256([5]))
        #expect(try self.refusal(of: fifth, after: [first] + more) == .tooManyLogKeys(limit: 4))
        #expect(try self.refusal(of: fifth, after: [first] + more + [.retireKey(kid: "k1")]) == nil)
    }

    @Test func `witnesses are added and removed, and never fewer than the quorum`() throws {
        let origin = try #require(self.origin)
        let open = LogCommand.open(origin: origin, kid: "k1", publicKey: sha256([1]))
        let (first, second) = (try self.witness(1), try self.witness(2))
        let both: [LogCommand] = [open, .addWitness(first), .addWitness(second)]
        #expect(try self.decided(both + [.setQuorum(2)]).log.quorum == 2)
        #expect(try self.decided(both + [.setQuorum(1), .removeWitness(keyID: first.keyID)]).log.witnesses == [second])
        #expect(
            try self.refusal(of: .removeWitness(keyID: first.keyID), after: both + [.setQuorum(2)])
                == .quorumUnreachable(2, of: 1))
        #expect(try self.refusal(of: .setQuorum(3), after: both) == .quorumUnreachable(3, of: 2))
        #expect(try self.refusal(of: .addWitness(first), after: both) == .witnessExists(first.keyID))
        #expect(try self.refusal(of: .addWitness(first), after: []) == .logNotOpen)
        // A key under another name is no other witness: it would count twice.
        let renamed = LogWitness(
            name: try #require(LogName("elsewhere.example.net")), publicKey: first.publicKey, url: first.url,
            monitoringURL: nil)
        #expect(try self.refusal(of: .addWitness(renamed), after: both) == .witnessExists(renamed.keyID))
        // What changes nothing is no event.
        #expect(try self.decided(both + [.setQuorum(1), .setQuorum(1)]).log.version == 4)
    }

    @Test func `a witness's key as text is the one that C2SP derives`() throws {
        // The key of Tests/KeysTests/SignedNoteTests.
        let key = try #require(Base64.decode("BHQ36cEh+K1pR4heKOHN+FOq6QTGzcCgS2MmMzV1junQ"))
        let witness = LogWitness(
            name: try #require(LogName("witness.example.net/w1")), publicKey: Array(key.dropFirst()),
            url: webhookURL("https://witness.example.net"), monitoringURL: nil)
        #expect(witness.keyID == "621ef7a3")
        #expect(
            witness.verifier == "witness.example.net/w1+621ef7a3+BHQ36cEh+K1pR4heKOHN+FOq6QTGzcCgS2MmMzV1junQ")
    }

    private func witness(_ number: UInt8) throws -> LogWitness {
        LogWitness(
            name: try #require(LogName("w\(number).example.net")), publicKey: sha256([number]),
            url: webhookURL("https://w\(number).example.net"),
            monitoringURL: number == 1 ? webhookURL("https://logs.example.net") : nil)
    }

    @Test func `a snapshot keeps the log's settings`() throws {
        let origin = try #require(self.origin)
        let state = try self.decided([
            .open(origin: origin, kid: "k1", publicKey: sha256([1])), .addKey(kid: "k2", publicKey: sha256([2])),
            .retireKey(kid: "k1"), .addWitness(try self.witness(1)), .addWitness(try self.witness(2)), .setQuorum(1),
        ])
        var restored = LedgerState()
        for part in 0..<LedgerState.snapshotPartCount {
            try restored.restore(part: part, from: state.snapshotPart(part)[...])
        }
        #expect(restored.log == state.log)
    }
}

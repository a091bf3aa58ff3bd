import Fixtures
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

@testable import EventStore

/// How a node without the key-encryption key follows the signatures of batches.
@Suite(.database, .timeLimit(.minutes(60)))
struct BatchSignatureTests {
    /// A pair of keys. Its signature is a hash, which everyone could make: what a real one is worth, the tests of whole
    /// servers show.
    private struct Pair {
        let publicKey: [UInt8]

        init(_ number: UInt8) { self.publicKey = [UInt8](repeating: number, count: 32) }

        private static func sign(_ message: [UInt8], _ publicKey: [UInt8]) -> [UInt8] {
            MerkleTree.leafHash(publicKey + message).bytes + MerkleTree.leafHash(message + publicKey).bytes
        }

        /// What signs, and makes MACs with a key that all nodes share.
        var key: BatchKey {
            let publicKey = self.publicKey
            return BatchSignatureTests.key(BatchSigner(publicKey: publicKey) { Self.sign($0, publicKey) })
        }

        /// What signs snapshots, with a MAC that differs from that of other pairs.
        var snapshotKey: SnapshotKey {
            let publicKey = self.publicKey
            return SnapshotKey(signer: BatchSigner(publicKey: publicKey) { Self.sign($0, publicKey) }) {
                MerkleTree.leafHash(publicKey + $0).bytes
            }
        }

        /// What signs everything wrong.
        var forger: BatchKey {
            BatchSignatureTests.key(BatchSigner(publicKey: self.publicKey) { _ in [UInt8](repeating: 7, count: 64) })
        }

        var verifier: BatchVerifier {
            let publicKey = self.publicKey
            return BatchVerifier(publicKey: publicKey) { $0 == Self.sign($1, publicKey) }
        }
    }

    private static func key(_ signer: BatchSigner?) -> BatchKey {
        BatchKey(id: [UInt8](repeating: 1, count: 8), signer: signer) { MerkleTree.leafHash($0).bytes }
    }

    private static let (first, second) = (Pair(1), Pair(2))

    private static func writing(_ key: BatchKey?, from view: LedgerView = LedgerView()) -> TestNode.Setup {
        .with { setup in
            setup.keys = key.map { BatchKeys($0) }
            setup.view = view
            setup.follows = false
        }
    }

    private static func reading(_ verifiers: BatchVerifier...) -> TestNode.Setup {
        .with { setup in
            setup.verifiers = verifiers
            setup.follows = false
            setup.user = .reader
        }
    }

    /// Appends events of the node's own, each a batch.
    private static func record(_ app: AppID, _ names: String..., on database: TestDatabase, with key: BatchKey?)
        async throws
    {
        try await TestNode.run(on: database, self.writing(key)) { node in
            try await node.follower.catchUp()
            if node.ledger.position == 0 { _ = try await node.writer.execute(try Sample.create(app)) }
            for name in names { _ = try await node.writer.execute(try Sample.rename(app, name)) }
        }
    }

    private static func findings(_ database: TestDatabase, _ verifiers: BatchVerifier...) async throws
        -> [LedgerFinding]
    {
        var expectations = LedgerAuditor.Expectations()
        expectations.verifiers = verifiers
        let auditor = LedgerAuditor(expectations: expectations)
        return try await auditor.run(on: try await database.connect(as: .reader)) { _ in 0 }.0.findings.kept
    }

    @Test func `a node without the key follows what is signed, and records nothing`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "One", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { node in
            try await node.follower.catchUp()
            #expect(node.ledger.position == 2)
            for name in ["Two", "Three"] {
                try await Self.record(app, name, on: database, with: Self.first.key)
                try await node.follower.catchUp()
                #expect(node.ledger.view.state.apps[app]?.displayName == name)
            }
            #expect(node.ledger.unsigned == nil && node.ledger.partialFault == nil)
            #expect(node.ledger.refusal == .noKey)
        }
        #expect(try await Self.findings(database, Self.first.verifier) == [])
    }

    @Test(arguments: ["no signature", "a wrong signature", "another key's signature", "an earlier signature"])
    func `an event that no known key has signed waits for a signature behind it`(_ kind: String) async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "Signed", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { node in
            try await node.follower.catchUp()
            let key: BatchKey =
                switch kind {
                case "a wrong signature": Self.first.forger
                case "another key's signature": Self.second.key
                default: Self.key(nil)
                }
            try await Self.record(app, "Unsigned", "Unsigned too", on: database, with: key)
            if kind == "an earlier signature" {
                try await database.connect().execute(
                    script: """
                        ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                        ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                        UPDATE pinledger.event SET signature =
                            (SELECT signature FROM pinledger.event WHERE position = 1) WHERE position > 1
                        """)
            }
            for _ in 0..<3 {
                try await node.follower.catchUp()
                #expect(node.ledger.view.state.apps[app]?.displayName == "Signed")
                // Tokens may have been revoked by what is not signed.
                #expect(node.ledger.partialFault == .unsigned(from: 2, to: 4))
                #expect(node.ledger.fault == nil)
                #expect(node.ledger.endSeen == 4)
            }
            try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { started in
                try await started.follower.catchUp()
                #expect(started.ledger.view.head == node.ledger.view.head)
                #expect(started.ledger.partialFault == .unsigned(from: 2, to: 4))
            }
            #expect(try await Self.findings(database, Self.first.verifier).map(\.code).contains(.signatureWrong))
            // A signature vouches for all events before it.
            try await Self.record(app, "Signed again", on: database, with: Self.first.key)
            try await node.follower.catchUp()
            #expect(node.ledger.view.state.apps[app]?.displayName == "Signed again")
            #expect(node.ledger.partialFault == nil && node.ledger.endSeen == 5)
        }
        // The test sees a node that does not look.
        try await TestNode.run(on: database, Self.reading()) { believing in
            try await believing.follower.catchUp()
            #expect(believing.ledger.position == 5)
        }
    }

    @Test func `a node that knows no key of the ledger takes in nothing`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { node in
            try await node.follower.catchUp()
            #expect(node.ledger.partialFault == nil)
        }
        try await Self.record(try Sample.app(), "One", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.reading(Self.second.verifier)) { node in
            try await node.follower.catchUp()
            #expect(node.ledger.position == 0)
            #expect(node.ledger.partialFault == .unsigned(from: 0, to: 2))
        }
    }

    @Test func `a node that knows both keys follows a change of the key`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "Old", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.reading(Self.second.verifier, Self.first.verifier)) { node in
            try await node.follower.catchUp()
            try await Self.record(app, "New", on: database, with: Self.second.key)
            try await node.follower.catchUp()
            #expect(node.ledger.view.state.apps[app]?.displayName == "New")
            #expect(node.ledger.partialFault == nil)
        }
        #expect(try await Self.findings(database, Self.second.verifier) == [])
        #expect(try await Self.findings(database, Self.first.verifier).map(\.code) == [.signatureWrong])
    }

    @Test func `the last signature is found among many wrong ones, and tokens are refused before it is`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "Signed", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.writing(Self.first.forger)) { node in
            try await node.follower.catchUp()
            for number in 0..<450 { _ = try await node.writer.execute(try Sample.rename(app, "Name \(number)")) }
        }
        try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { node in
            // Each call looks at a limited number.
            try await node.follower.catchUp()
            #expect(node.ledger.position == 0 && !node.ledger.hasSearched)
            #expect(node.ledger.partialFault == .unsigned(from: 0, to: 452))
            try await node.follower.catchUp()
            #expect(node.ledger.view.state.apps[app]?.displayName == "Signed")
            #expect(node.ledger.partialFault == .unsigned(from: 2, to: 452))
            try await node.follower.catchUp()
            #expect(node.ledger.hasSearched)
        }
    }

    @Test func `an unsigned end that is lost later is missed`() async throws {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "Signed", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.reading(Self.first.verifier)) { node in
            try await node.follower.catchUp()
            let head = try await database.query("SELECT frontier FROM pinledger.head").only.bytes(0)
            try await Self.record(app, "Unsigned", on: database, with: Self.second.key)
            try await node.follower.catchUp()
            // As after a failover that lost it: the node has nothing of the event, and knows that it was there.
            try await database.connect().execute(
                script: """
                    ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
                    ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
                    DELETE FROM pinledger.event WHERE position = 2;
                    UPDATE pinledger.head SET next_position = 2, frontier = '\\x\(Hex.encode(head))';
                    """)
            await #expect(throws: LedgerFault.shrunk(from: 3, to: 2)) { try await node.follower.catchUp() }
            #expect(node.ledger.partialFault == .unsigned(from: 2, to: 3))
        }
    }

    @Test func `a node that starts halts where the last events are gone, and has what is signed before them`()
        async throws
    {
        let database = try TestDatabase.current
        let app = try Sample.app()
        try await Self.record(app, "Signed", on: database, with: Self.first.key)
        try await Self.record(app, "Unsigned", on: database, with: Self.key(nil))
        try await Self.record(app, "Gone", "Gone too", on: database, with: Self.first.key)
        try await database.execute(
            """
            ALTER TABLE pinledger.event DISABLE TRIGGER refuse_change;
            ALTER TABLE pinledger.event_00000000000000 DISABLE TRIGGER refuse_change;
            DELETE FROM pinledger.event WHERE position >= 3;
            """)
        let gone = LedgerFault.position(expected: 4, found: 5)
        for setup in [Self.reading(Self.first.verifier), Self.reading(), Self.writing(Self.first.key)] {
            try await TestNode.run(on: database, setup) { node in
                do {
                    try await node.follower.readToEnd()
                    Issue.record("it has read to the end")
                } catch let fault as LedgerFault {
                    #expect(setup.verifiers.isEmpty ? fault == .position(expected: 3, found: 5) : fault == gone)
                }
                #expect(node.ledger.position == 0)
                try await node.follower.catchUpToVerified()
                // Who follows signatures takes in nothing behind the last one; all batches have a MAC.
                #expect(node.ledger.position == (setup.verifiers.isEmpty ? 3 : 2))
                #expect(
                    node.ledger.view.state.apps[app]?.displayName == (setup.verifiers.isEmpty ? "Unsigned" : "Signed"))
            }
        }
    }

    @Test func `a search for signatures goes on where it stopped, and never looks twice`() {
        var tail = UnsignedTail(end: 100)
        #expect(tail.unsearched(from: 10) == 10..<100)
        tail.note(searched: 60..<100)
        #expect(tail.unsearched(from: 10) == 10..<60)
        // New events come first.
        tail.end = 120
        #expect(tail.unsearched(from: 10) == 100..<120)
        tail.note(searched: 100..<120)
        #expect(tail.unsearched(from: 10) == 10..<60)
        tail.note(searched: 10..<60)
        #expect(tail.unsearched(from: 10) == nil)
        // More of them than one call looks at.
        tail.end = 200
        tail.note(searched: 150..<200)
        #expect(tail.unsearched(from: 10) == 10..<150)
        // The view went on meanwhile.
        #expect(tail.unsearched(from: 150) == nil)
        #expect(tail.unsearched(from: 170) == nil)
    }

    @Test func `a node without the key starts from a snapshot that is signed, and from no other`() async throws {
        let database = try TestDatabase.current
        try await Self.record(try Sample.app(), "One", on: database, with: Self.first.key)
        try await TestNode.run(on: database, Self.writing(Self.first.key)) { node in
            try await node.follower.catchUp()
            func load(_ verifiers: BatchVerifier...) async throws -> SnapshotStore.Start {
                try await SnapshotStore(pool: node.pool, verifiers: verifiers, logger: .silent).load()
            }
            for maker in [SnapshotKey { MerkleTree.leafHash($0).bytes }, Self.second.snapshotKey] {
                try await database.execute("DELETE FROM pinledger.snapshot")
                try await SnapshotStore(pool: node.pool, key: maker, logger: .silent).store(node.ledger.view)
                #expect(try await load(Self.first.verifier).unusable == 1)
            }
            #expect(try await load(Self.first.verifier, Self.second.verifier).view.head == node.ledger.view.head)
            // A changed key signs it again.
            try await database.execute("DELETE FROM pinledger.snapshot")
            try await SnapshotStore(pool: node.pool, key: Self.first.snapshotKey, logger: .silent).store(
                node.ledger.view)
            _ = try await node.pool.withConnection { connection in
                try await connection.transaction { @Sendable connection in
                    try SnapshotStore.retag(from: Self.first.snapshotKey, to: Self.second.snapshotKey, on: connection)
                }
            }
            #expect(try await load(Self.first.verifier).unusable == 1)
            #expect(try await load(Self.second.verifier).view.head == node.ledger.view.head)
            // Whatever its signature says, its tree is the ledger's.
            try await database.execute(
                "UPDATE pinledger.snapshot SET signature = set_byte(signature, 70, 1 # get_byte(signature, 70))")
            #expect(try await load(Self.second.verifier).unusable == 1)
        }
    }
}

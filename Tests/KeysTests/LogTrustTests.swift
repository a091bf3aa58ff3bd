import Keys
import PinWire
import Testing
import TransparencyLog

@Suite struct `What a reader believes of a log` {
    /// The proof of the sixth of the example log's 7 entries, with the cosigned checkpoint.
    static let proof = """
        c2sp.org/tlog-proof@v1
        index 5
        I18TDgnlwwGCkNZv/mIy6fCQVfceFaq9R2BppDKBbyc=
        WLnCH/UwPeGuAFmQSmOA1utYDucMJKbRh9eBi5clEjE=
        Ghd3vwy2S0tixFO/1AoB5mXxdlVf3Pc3lqV6eoj34uY=

        \(`Signed notes`.checkpoint)
        """
    static let entry =
        #"{"actor":"admin@example.com","event":"PinActivated","seq":5,"ts":"2026-01-01T00:00:05Z"}"#

    private let log = NoteKey(text: `Signed notes`.log)
    private let witness = NoteKey(text: `Signed notes`.witness)

    private func trust(_ log: NoteKey?, _ witnesses: [NoteKey?] = [], quorum: Int = 0) throws -> LogTrust {
        let log = try #require(log)
        return try #require(LogTrust(log: [log], witnesses: witnesses.compactMap { $0 }, quorum: quorum))
    }

    @Test func `a proof file is verified with the log's key and a witness's`() throws {
        let trust = try self.trust(self.log, [self.witness], quorum: 1)
        let proof = try LogProof(Array(Self.proof.utf8))
        let verified = try trust.verify(proof, leaf: MerkleTree.leafHash(Array(Self.entry.utf8)))
        #expect(verified.checkpoint.size == 7)
        #expect(verified.cosignatures.map(\.seconds) == [1_767_225_600])
        #expect(throws: LogTrust.Invalid.log(.rootMismatch)) {
            try trust.verify(proof, leaf: MerkleTree.leafHash(Array(Self.entry.dropLast().utf8)))
        }
    }

    @Test func `a checkpoint without the log's own signature is refused, though a witness signed it`() throws {
        let note = `Signed notes`.checkpoint.split(separator: "\n", omittingEmptySubsequences: false)
        let witnessed = (note[..<4] + note[5...]).joined(separator: "\n")
        let trust = try self.trust(self.log, [self.witness])
        #expect(throws: LogTrust.Invalid.unsigned) { try trust.verify(checkpoint: Array(witnessed.utf8)) }
    }

    @Test func `a checkpoint of another log under a key of this one is refused`() throws {
        let seed = try #require(Hex.decode(`Signed notes`.logSeed))
        let signer = NoteSigner(
            name: try #require(LogName("pins.example.com/audit")), privateKey: try Ed25519PrivateKey(seed: seed))
        let other = try #require(LogName("pins.example.com/other"))
        let text = Checkpoint(origin: other, size: 0, root: MerkleTree.emptyRoot).text
        let note = SignedNote(text: text, signatures: [try signer.sign(text)])
        #expect(throws: LogTrust.Invalid.foreign(origin: other)) {
            try self.trust(self.log).verify(checkpoint: note.encoded)
        }
    }

    @Test func `a text that the log signed and that is no checkpoint is refused`() throws {
        let trust = try self.trust(NoteKey(text: `Signed notes`.foo))
        #expect(throws: LogTrust.Invalid.log(.malformedCheckpoint)) {
            try trust.verify(checkpoint: Array(`Signed notes`.fooNote.utf8))
        }
    }

    @Test func `too few witnesses are refused, and one under two names is one`() throws {
        let note = `Signed notes`.checkpoint.split(separator: "\n", omittingEmptySubsequences: false)
        let alone = note[..<5].joined(separator: "\n") + "\n"
        #expect(throws: LogTrust.Invalid.noQuorum(of: 1, cosigned: 0)) {
            try self.trust(self.log, [self.witness], quorum: 1).verify(checkpoint: Array(alone.utf8))
        }
        let witness = try #require(self.witness)
        let log = try #require(self.log)
        let renamed = NoteKey(
            name: try #require(LogName("w2")), kind: .cosignature, publicKey: witness.publicKey)
        #expect(LogTrust(log: [log], witnesses: [witness, renamed], quorum: 2) == nil)
        #expect(LogTrust(log: [], witnesses: []) == nil)
        #expect(LogTrust(log: [witness]) == nil)
        #expect(LogTrust(log: [log], witnesses: [log]) == nil)
    }
}

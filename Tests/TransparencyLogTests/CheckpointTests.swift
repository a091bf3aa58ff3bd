import PinWire
import Testing
import TransparencyLog

@Suite struct `Checkpoints and proof files` {
    /// The example log's checkpoint of 7 entries, signed by the log and a witness.
    static let note = """
        pins.example.com/audit
        7
        v9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=

        — pins.example.com/audit +bARFIHisaeOEoUqSw0HwppmZd9+e5ga9dC5hgbP/UnUb2tO+VAy1tbgwt7AadvsFkAFI/KpJe6fAMR3vj7IoFwSFQE=
        — witness.example.net/w1 Yh73owAAAABpVbkAlaBVrYhn/+fgQPhBoXymrpnrBACq8fn1pcFboRSenxRG4HsedNEZxtFPTKk3B6svNZqsjcvfS//Mo9Uxu0D5BA==

        """
    static let text = note.split(separator: "\n\n")[0] + "\n"
    static let proof = """
        c2sp.org/tlog-proof@v1
        index 5
        I18TDgnlwwGCkNZv/mIy6fCQVfceFaq9R2BppDKBbyc=
        WLnCH/UwPeGuAFmQSmOA1utYDucMJKbRh9eBi5clEjE=
        Ghd3vwy2S0tixFO/1AoB5mXxdlVf3Pc3lqV6eoj34uY=

        \(note)
        """

    @Test func `the example log's checkpoint is written and read back`() throws {
        let checkpoint = Checkpoint(
            origin: try #require(LogName("pins.example.com/audit")), size: 7,
            root: MerkleFrontier(leaves: auditLeaves(7)).root)
        #expect(String(decoding: checkpoint.text, as: UTF8.self) == Self.text)
        #expect(try Checkpoint(text: checkpoint.text) == checkpoint)
    }

    @Test func `a checkpoint's extension lines are read over`() throws {
        let extended = try Checkpoint(text: Array("\(Self.text)an extension\n".utf8))
        #expect(try extended == Checkpoint(text: Array(Self.text.utf8)))
    }

    @Test(arguments: [
        "", "\n", "a\n1\n", "a\n07\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a\n+7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n", "a\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g\n",
        "a\n7\nv9Tq\n", "\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=", "a\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n\n",
        "a\n18446744073709551616\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a b\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a+b\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "ä\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a\n0\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
        "a\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\nb\n\nc\n",
        "a\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n\nc\n",
        "a\n٧\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n",
    ])
    func `a text that is no checkpoint's is refused`(_ text: String) {
        #expect(throws: LogError.malformedCheckpoint) { try Checkpoint(text: Array(text.utf8)) }
    }

    @Test func `the checkpoint of the empty log is read`() throws {
        let empty = Checkpoint(origin: try #require(LogName("a")), size: 0, root: MerkleTree.emptyRoot)
        #expect(try Checkpoint(text: empty.text) == empty)
    }

    @Test func `a checkpoint of a tree that no ledger has is refused`() {
        let text = "a\n18446744073709551615\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n"
        #expect(throws: LogError.treeTooLarge(size: .max)) { try Checkpoint(text: Array(text.utf8)) }
    }

    @Test func `the example log's proof file is made, read and verified`() throws {
        let tree = StoredTree(leaves: auditLeaves(7))
        let made = LogProof(
            extra: nil, index: 5, hashes: try tree.inclusionProof(leafIndex: 5, treeSize: 7).hashes,
            checkpoint: Array(Self.note.utf8))
        #expect(String(decoding: made.encoded, as: UTF8.self) == Self.proof)
        let read = try LogProof(Array(Self.proof.utf8))
        #expect(read == made)
        let checkpoint = try Checkpoint(text: Array(Self.text.utf8))
        try read.verify(leaf: auditLeaves(7)[5], against: checkpoint)
        #expect(throws: LogError.rootMismatch) { try read.verify(leaf: auditLeaves(7)[4], against: checkpoint) }
    }

    @Test(arguments: [1, 2, 255, 256, 257, 300])
    func `a proof file with an entry in it is read back for every size`(_ size: UInt64) throws {
        let leaves = auditLeaves(Int(size))
        let tree = StoredTree(leaves: leaves)
        let checkpoint = Checkpoint(origin: try #require(LogName("a")), size: size, root: tree.frontier.root)
        for index in [0, size / 2, size - 1] {
            let proof = LogProof(
                extra: auditEntry(Int(index)), index: index,
                hashes: try tree.inclusionProof(leafIndex: index, treeSize: size).hashes, checkpoint: checkpoint.text)
            let read = try LogProof(proof.encoded)
            #expect(read == proof)
            try read.verify(leaf: MerkleTree.leafHash(try #require(read.extra)), against: checkpoint)
        }
    }

    @Test(arguments: [
        "", "\n\n", "c2sp.org/tlog-proof@v2\nindex 5\n\na\n", "c2sp.org/tlog-proof@v1\n\na\n",
        "c2sp.org/tlog-proof@v1\nindex 05\n\na\n", "c2sp.org/tlog-proof@v1\nindex -1\n\na\n",
        "c2sp.org/tlog-proof@v1\nextra !\nindex 5\n\na\n", "c2sp.org/tlog-proof@v1\nindex 5\nextra AA==\n\na\n",
        "c2sp.org/tlog-proof@v1\nindex 5\nAA==\n\na\n", "c2sp.org/tlog-proof@v1\nindex 5\n",
    ])
    func `a file that is no proof is refused`(_ text: String) {
        #expect(throws: LogError.malformedProof) { try LogProof(Array(text.utf8)) }
    }

    @Test func `a proof with more hashes than any tree has levels is refused`() {
        let hash = "v9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n"
        let text = "c2sp.org/tlog-proof@v1\nindex 5\n\(String(repeating: hash, count: 64))\na\n"
        #expect(throws: LogError.malformedProof) { try LogProof(Array(text.utf8)) }
    }
}

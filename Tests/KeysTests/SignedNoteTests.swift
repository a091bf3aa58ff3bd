import PinWire
import Testing
import TransparencyLog

@testable import Keys

@Suite struct `Signed notes` {
    /// The example of C2SP signed-note.
    static let foo = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    static let fooNote = """
        This is an example message.

        — example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=

        """
    static let log = "pins.example.com/audit+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg"
    static let witness = "witness.example.net/w1+621ef7a3+BHQ36cEh+K1pR4heKOHN+FOq6QTGzcCgS2MmMzV1junQ"
    /// A checkpoint of 7 entries, signed by the log and at second 1767225600 by the witness.
    static let checkpoint = """
        pins.example.com/audit
        7
        v9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=

        — pins.example.com/audit +bARFIHisaeOEoUqSw0HwppmZd9+e5ga9dC5hgbP/UnUb2tO+VAy1tbgwt7AadvsFkAFI/KpJe6fAMR3vj7IoFwSFQE=
        — witness.example.net/w1 Yh73owAAAABpVbkAlaBVrYhn/+fgQPhBoXymrpnrBACq8fn1pcFboRSenxRG4HsedNEZxtFPTKk3B6svNZqsjcvfS//Mo9Uxu0D5BA==

        """
    static let logSeed = "ddf991c32e4541ace33c597410b943e6df29748dbfd1188f6a5814fe7114a1d4"

    func key(_ text: String) throws -> NoteKey { try #require(NoteKey(text: text)) }

    @Test(arguments: [foo, log, witness, "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"])
    func `a key's text is read and written back`(_ text: String) throws {
        #expect(try self.key(text).text == text)
    }

    @Test(arguments: [
        "", "+", "++", "example.com/foo", "example.com/foo+530d903a",
        "example.com/fop+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530D903A+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2",
        "a b+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+CekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
    ])
    func `a text that is no key's is refused`(_ text: String) {
        #expect(NoteKey(text: text) == nil)
    }

    @Test func `the published example verifies`() throws {
        let note = try SignedNote(Array(Self.fooNote.utf8))
        #expect(note.encoded == Array(Self.fooNote.utf8))
        #expect(try note.verified(by: [self.key(Self.foo)]) == [.init(key: self.key(Self.foo), seconds: nil)])
    }

    @Test func `a log's signature is made, and a log's and a witness's are verified`() throws {
        let seed = try #require(Hex.decode(Self.logSeed))
        let log = NoteSigner(
            name: try #require(LogName("pins.example.com/audit")), privateKey: try Ed25519PrivateKey(seed: seed))
        #expect(log.key.text == Self.log)
        let read = try SignedNote(Array(Self.checkpoint.utf8))
        #expect(try log.sign(read.text) == read.signatures.first)
        #expect(SignedNote(text: read.text, signatures: read.signatures).encoded == Array(Self.checkpoint.utf8))
        let witness = try self.key(Self.witness)
        #expect(
            try read.verified(by: [witness, log.key])
                == [.init(key: witness, seconds: 1_767_225_600), .init(key: log.key, seconds: nil)])
    }

    @Test func `signatures of unknown keys are ignored`() throws {
        let note = try SignedNote(Array(Self.checkpoint.utf8))
        let known = [try self.key(Self.log), try self.key(Self.foo)]
        #expect(try note.verified(by: known).map(\.key) == [self.key(Self.log)])
        #expect(try note.verified(by: [self.key(Self.foo)]) == [])
        #expect(try note.verified(by: []) == [])
    }

    @Test func `a key counts once, however often it is known and under whatever name`() throws {
        let witness = try self.key(Self.witness)
        let other = NoteKey(
            name: try #require(LogName("witness.example.net/w2")), kind: .cosignature, publicKey: witness.publicKey)
        let note = try SignedNote(Array(Self.checkpoint.utf8))
        // The signature does not cover the name, so that the witness's line fits the other name too.
        let line = try #require(Self.checkpoint.split(separator: "\n").last)
        let encoded = try #require(line.split(separator: " ").last)
        let bytes = try #require(Base64.decode(String(encoded))).dropFirst(4)
        let renamed = "— \(other.name) \(Base64.encode(other.id + bytes))\n"
        let both = try SignedNote(Array((Self.checkpoint + renamed).utf8))
        #expect(try note.verified(by: [witness, witness]).count == 1)
        #expect(try both.verified(by: [other]).count == 1)
        #expect(try both.verified(by: [witness, other]).count == 1)
    }

    @Test func `a signature of a known key that does not fit condemns the note, also with other signatures`() throws {
        let changed = Self.checkpoint.replacing("\n7\n", with: "\n8\n")
        let note = try SignedNote(Array(changed.utf8))
        #expect(throws: SignedNote.Invalid.wrongSignature(of: "pins.example.com/audit")) {
            try note.verified(by: [self.key(Self.log)])
        }
        #expect(throws: SignedNote.Invalid.wrongSignature(of: "witness.example.net/w1")) {
            try note.verified(by: [self.key(Self.witness)])
        }
    }

    @Test(arguments: [0, 7, 8, 71]) func `a witness's signature holds for its time alone`(_ changed: Int) throws {
        let note = try SignedNote(Array(Self.checkpoint.utf8))
        var signature = try #require(note.signatures.last).bytes
        signature[changed] ^= 0x80
        let witness = try self.key(Self.witness)
        let forged = SignedNote(
            text: note.text,
            signatures: [.init(name: Array(witness.name.text.utf8), keyID: witness.id, bytes: signature)])
        #expect(throws: SignedNote.Invalid.wrongSignature(of: "witness.example.net/w1")) {
            try forged.verified(by: [witness])
        }
    }

    @Test(arguments: [
        "", "\n", "text\n", "text\n\n", "text\n\n\n", "text\n\n— name", "text\n\n— name AAAA\n",
        "text\n\n— name AAAAAAA=",
        "text\n\n- name AAAAAAA=\n", "text\n\n—name AAAAAAA=\n", "text\n\n—  AAAAAAA=\n", "text\n\n— a+b AAAAAAA=\n",
        "text\n\n— name AAAAAAA=\n\u{7}", "te\u{0}xt\n\n— name AAAAAAA=\n", "te\rxt\n\n— name AAAAAAA=\n",
        "text\n\n— name AAAAAAA=\nmore\n", "text\n\n— name AAAAAAB=\n", "text\n\n— a\u{A0}b AAAAAAA=\n",
        "text\n\n— a\u{2003}b AAAAAAA=\n", "text\n\n— a\u{85}b AAAAAAA=\n",
        "text\n\n— \(String(repeating: "a", count: 256)) AAAAAAA=\n",
        "text\n\n— a\(String(repeating: "\u{301}", count: 40)) AAAAAAA=\n",
    ])
    func `bytes that are no note are refused`(_ text: String) {
        #expect(throws: SignedNote.Invalid.self) { try SignedNote(Array(text.utf8)) }
    }

    @Test func `a text may have empty lines, and the last one separates`() throws {
        let text = "a\n\n— name AAAAAAA=\n\n— name AAAAAAA=\n"
        let note = try SignedNote(Array(text.utf8))
        #expect(note.text == Array("a\n\n— name AAAAAAA=\n".utf8))
        #expect(note.encoded == Array(text.utf8))
    }

    @Test func `signatures of later algorithms have room`() throws {
        let line = "— name \(Base64.encode([UInt8](repeating: 1, count: 2424)))\n"
        let note = Self.checkpoint + String(repeating: line, count: SignedNote.maximumSignatures - 2)
        #expect(try SignedNote(Array(note.utf8)).verified(by: [self.key(Self.log)]).count == 1)
    }

    @Test func `a note has a largest size and number of signatures`() throws {
        let line = "— name AAAAAAA=\n"
        let most = "a\n\n" + String(repeating: line, count: SignedNote.maximumSignatures)
        #expect(try SignedNote(Array(most.utf8)).signatures.count == SignedNote.maximumSignatures)
        #expect(throws: SignedNote.Invalid.malformedSignature) { try SignedNote(Array("\(most)\(line)".utf8)) }
        let large = [UInt8](repeating: 0x61, count: SignedNote.maximumSize) + Array("\n\n\(line)".utf8)
        #expect(throws: SignedNote.Invalid.tooLarge(large.count)) { try SignedNote(large) }
        #expect(throws: SignedNote.Invalid.malformed) { try SignedNote([0xFF] + Array("\n\n\(line)".utf8)) }
    }
}

import PinWire
import RootKeys
import Testing

@Suite struct `The root of trust` {
    private static let end = Timestamp(seconds: 1_924_992_000)
    private func file(
        _ version: Int64, people: [String] = ["Ada", "Bob", "Cleo"], threshold: Int = 2, signedBy: [String]? = nil
    ) throws -> SignedRoot {
        let key = try RootSigner("document").publicKey
        return try .made(
            version, people: people, threshold: threshold, documents: [key], expiresAt: Self.end, signedBy: signedBy)
    }

    @Test func `a root says which keys sign documents and when it ends`() throws {
        let root = try RootOfTrust(try self.file(1).bytes)
        let key = try RootSigner("document").publicKey
        #expect(root.version == 1 && root.expiresAt == Self.end)
        #expect(root.documentKeys == [RootOfTrust.thumbprint(key): key])
        #expect(try RootOfTrust(root.bytes) == root)
    }

    @Test func `a key's id is the one that TUF gives it`() throws {
        // Both from TUF's reference implementation.
        let key = try #require(Hex.decode("28750ed97c8e18c90803b83654e502e59c68c8b7f06281c53f54428bb8b7ef53"))
        #expect(
            RootMetadata.keyID(key) == "759a0014bcecffafe7025e640eefae163cd5eb13eced8a82d8d41fdb79772031")
    }

    @Test(arguments: [
        (["Ada", "Bob"], true), (["Ada", "Bob", "Cleo"], true), (["Ada"], false), ([], false), (["Ada", "Eve"], false),
    ])
    func `a root needs the signatures of enough of its own keys`(signers: [String], isTaken: Bool) throws {
        let bytes = try self.file(1, signedBy: signers).bytes
        if isTaken {
            #expect(throws: Never.self) { try RootOfTrust(bytes) }
        } else {
            #expect(throws: RootOfTrust.Failure.missingSignatures) { try RootOfTrust(bytes) }
        }
    }

    static let successions: [(people: [String], signers: [String], isTaken: Bool)] = [
        (["Ada", "Bob", "Cleo"], ["Ada", "Cleo"], true),
        // Bob leaves, Dora comes: two of each have signed.
        (["Ada", "Cleo", "Dora"], ["Ada", "Cleo"], true),
        (["Ada", "Cleo", "Dora"], ["Ada", "Dora"], false),
        // All of them change hands.
        (["Dora", "Eve", "Finn"], ["Ada", "Bob", "Dora", "Eve"], true),
        (["Dora", "Eve", "Finn"], ["Dora", "Eve", "Finn"], false),
        (["Dora", "Eve", "Finn"], ["Ada", "Bob"], false),
    ]

    @Test(arguments: Self.successions)
    func `the next root is signed by enough keys of both`(people: [String], signers: [String], isTaken: Bool) throws {
        let first = try RootOfTrust(try self.file(1).bytes)
        let next = try self.file(2, people: people, signedBy: signers)
        if isTaken {
            #expect(try first.next(next.bytes).file == next)
        } else {
            #expect(throws: RootOfTrust.Failure.missingSignatures) { try first.next(next.bytes) }
        }
    }

    @Test(arguments: [Int64(1), 3, JSON.largestInteger])
    func `a root is followed by no other version than the next one`(version: Int64) throws {
        let first = try RootOfTrust(try self.file(1).bytes)
        let other = try self.file(version)
        #expect(throws: RootOfTrust.Failure.otherVersion) { try first.next(other.bytes) }
    }

    @Test func `a signature of other bytes does not count`() throws {
        var root = try self.file(1, signedBy: ["Ada"])
        let other = try self.file(2)
        let bob = try RootSigner("Bob").keyID
        root.add(try #require(other.signatures[bob]), by: bob)
        #expect(throws: RootOfTrust.Failure.missingSignatures) { try RootOfTrust(root.bytes) }
    }

    @Test func `a root is never larger than 16 KiB, and looked at only then`() throws {
        let bytes = [UInt8](repeating: UInt8(ascii: "["), count: RootOfTrust.byteLimit + 1)
        #expect(throws: RootOfTrust.Failure.tooLarge) { try RootOfTrust(bytes) }
        #expect(throws: RootOfTrust.Failure.malformedRoot) { try RootOfTrust(Array(bytes.dropLast())) }
    }

    /// What is replaced in a sound root, and by what.
    static let defects: [(String, String)] = [
        (#""_type":"root""#, #""_type":"targets""#), (#""1.0.34""#, #""2.0.0""#), (#""version":1"#, #""version":0"#),
        (#""version":1"#, #""version":"1""#), (#""version":1"#, #""version":1.5"#),
        (#""consistent_snapshot":true"#, #""consistent_snapshot":0.5"#),
        (#""threshold":2"#, #""threshold":4"#),
        (#""threshold":2"#, #""threshold":0"#), ("T00:00:00Z", "T00:00:00.5Z"), ("T00:00:00Z", "T00:00:00+00:00"),
        (#""keytype":"ed25519""#, #""keytype":"rsa""#), (#""scheme":"ed25519""#, #""scheme":"ed448""#),
        (#""roles":"#, #""rules":"#), (#""signatures":["#, #""signatures": ["#), ("consistent", #"cons\"istent"#),
        (#""consistent_snapshot":true"#, #""consistent_snapshot":"é""#),
        (#"{"signatures""#, #"{"extra":1,"signatures""#),
    ]

    @Test(arguments: Self.defects)
    func `a root in another form is malformed`(text: String, replacement: String) throws {
        let sound = String(decoding: try self.file(1).bytes, as: UTF8.self)
        let unsound = sound.replacing(text, with: replacement)
        try #require(unsound != sound)
        #expect(throws: RootOfTrust.Failure.malformedRoot) { try RootOfTrust(Array(unsound.utf8)) }
    }

    /// What is replaced in a sound root so that some TUF tool does not read it, by what, and the place of the defect.
    static let strange: [(String, String, String)] = [
        (#""1.0.34""#, #""1.x""#, "/signed/spec_version"), (#""1.0.34""#, #""1.0.3.4""#, "/signed/spec_version"),
        (#""consistent_snapshot":true"#, #""consistent_snapshot":1"#, "/signed/consistent_snapshot"),
        (#""snapshot":{"keyids""#, #""snapshots":{"keyids""#, "/signed/roles/snapshot"),
        (
            #""timestamp":{"keyids":[],"threshold":1}"#, #""timestamp":{"keyids":[],"threshold":0}"#,
            "/signed/roles/timestamp/threshold"
        ),
        (#""timestamp":{"keyids":[]"#, #""timestamp":{"keyids":["x"]"#, "/signed/roles/timestamp/keyids/0"),
        (#""roles":{"#, #""roles":{"mirrors":{"keyids":[],"threshold":1},"#, "/signed/roles/mirrors"),
        (#""keys":{"#, #""keys":{"00":{"keytype":"rsa","keyval":{"public":"x"},"scheme":"rsa"},"#, "/signed/keys/00"),
        (#""scheme":"ed25519"}"#, #""scheme":"ed25519","x-owner":"ada"}"#, "/signed/keys/"),
    ]

    @Test(arguments: Self.strange)
    func `a root that some TUF tool does not read is one for clients, and is not published`(
        text: String, replacement: String, place: String
    ) throws {
        let sound = String(decoding: try self.file(1).bytes, as: UTF8.self)
        let strange = try SignedRoot(Array(sound.replacing(text, with: replacement).utf8))
        let defect = #expect(throws: JSONDefect.self) { try strange.checkProfile() }
        #expect(defect?.pointer.text.hasPrefix(place) == true, "\(defect?.pointer.text ?? "")")
    }

    @Test func `a root that is drafted here may be published, with further members of later releases too`() throws {
        let root = try self.file(1)
        #expect(throws: Never.self) { try root.checkProfile() }
        var members = try #require(root.signed.objectValue)
        members["x-note"] = "later"
        let later = try SignedRoot(JSONField(["signatures": [], "signed": .object(members)]))
        #expect(throws: Never.self) { try later.checkProfile() }
    }

    @Test func `a key under another one's id is malformed`() throws {
        let sound = String(decoding: try self.file(1).bytes, as: UTF8.self)
        let (ada, bob) = (try RootSigner("Ada").publicKey, try RootSigner("Bob").publicKey)
        let unsound = sound.replacing(Hex.encode(ada), with: Hex.encode(bob))
        #expect(throws: RootOfTrust.Failure.malformedRoot) { try RootOfTrust(Array(unsound.utf8)) }
    }

    @Test func `members that are not known yet do no harm where they are signed`() throws {
        let root = try self.file(1, signedBy: [])
        var members = try #require(root.signed.objectValue)
        members["x-note"] = "later"
        var later = try SignedRoot(JSONField(["signatures": [], "signed": .object(members)]))
        for name in ["Ada", "Bob"] { try RootSigner(name).sign(&later) }
        #expect(try RootOfTrust(later.bytes).version == 1)
    }

    @Test func `a file of another TUF tool is read, and written in canonical form`() throws {
        let root = try self.file(1)
        let spaced = String(decoding: root.bytes, as: UTF8.self).replacing(",", with: ",\n ")
        #expect(throws: SignedRoot.Malformed.self) { try SignedRoot(Array(spaced.utf8)) }
        #expect(try SignedRoot(Array(spaced.utf8), isLenient: true).bytes == root.bytes)
    }

    @Test func `bytes that changed by one bit make no root, or none that is signed`() throws {
        let bytes = try self.file(1, signedBy: ["Ada", "Bob"]).bytes
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(throws: RootOfTrust.Failure.self, "\(place)") { try RootOfTrust(changed) }
        }
    }
}

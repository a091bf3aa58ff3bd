import PinWire
import SeededRandom

/// Random roots of trust, most of them damaged: in their text, in what they say, or signed by others than they should be. What is damaged
/// below the signatures is signed as it stands, so that each rule is come to.
struct RandomRoots {
    private var generator: SeededGenerator
    private static let people = ["ada", "bob", "cleo", "dora", "eve"]
    private static let documents = ["first", "second", "stranger"]

    init(seed: UInt64) { self.generator = SeededGenerator(seed: seed ^ 0x2007) }

    mutating func next(_ number: Int) throws -> JSON {
        let version = self.generator.pick([Int64(1), 2, 7, 9_007_199_254_740_990, 9_007_199_254_740_991])
        let present = try self.root(version, signedByAll: true, isPresent: true)
        let isShipped = self.generator.once(in: 5)
        let wanted = self.generator.once(in: 8) ? version + self.generator.pick([0, 2, -1]) : version + 1
        var draft = try self.root(isShipped ? version : max(0, wanted), signedByAll: !self.generator.once(in: 4))
        if self.generator.once(in: 2) {
            draft.signed = self.changed(.object(draft.signed)).objectValue ?? [:]
            draft = try RootMaker.sign(draft.signed, by: Self.people)
        }
        if self.generator.once(in: 8) { draft.signatures = self.changed(.array(draft.signatures)).arrayValue ?? [] }
        var bytes = draft.bytes
        if self.generator.once(in: 5) { bytes = self.damaged(bytes) }
        return .members([
            "kind": "root", "name": .string("random \(number)"),
            "root": isShipped ? nil : .string(present.json.canonicalText), "next": .string(Base64.encode(bytes)),
        ])
    }

    private mutating func root(
        _ version: Int64, signedByAll: Bool, isPresent: Bool = false
    ) throws -> RootMaker.Draft {
        let people = Array(Self.people.shuffled(using: &self.generator).prefix(self.generator.pick([1, 2, 3, 3, 5])))
        var (morePeople, moreDocuments): ([[UInt8]], [[UInt8]]) = ([], [])
        // The present root passes its rules.
        if !isPresent, self.generator.once(in: 6) {
            let odd = self.generator.pick(OddKeys.small + OddKeys.uncanonical + OddKeys.taken).bytes
            if self.generator.once(in: 2) { morePeople = [odd] } else { moreDocuments = [odd] }
        }
        let content = try RootMaker.content(
            version, people: people, threshold: Int.random(in: 1...people.count, using: &self.generator),
            documents: Array(Self.documents.shuffled(using: &self.generator).prefix(self.generator.pick([1, 2, 3]))),
            morePeople: morePeople, moreDocuments: moreDocuments)
        let signers = signedByAll ? Self.people : Self.people.filter { _ in self.generator.once(in: 2) }
        return try RootMaker.sign(content, by: signers)
    }

    private mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let place = Int.random(in: bytes.indices, using: &self.generator)
        switch self.generator.next() % 6 {
        case 0: bytes[place] ^= UInt8(1 << (self.generator.next() % 8))
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(UInt8(truncatingIfNeeded: self.generator.next()), at: place)
        case 3: bytes = Array(bytes.prefix(place))
        case 4: bytes += Array(self.generator.pick([" ", "\n", "}", "{}", "\u{0}"]).utf8)
        default:
            bytes = Array(
                self.generator.pick(["", "null", "[]", "{}", "{\"signatures\":[],\"signed\":{}}", "\u{feff}{}"]).utf8)
        }
        return bytes
    }

    /// The value with one place of it changed.
    private mutating func changed(_ json: JSON) -> JSON {
        switch json {
        case .object(var members):
            let names = members.keys.sorted()
            guard !names.isEmpty, !self.generator.once(in: 10) else {
                members[self.generator.pick(["x-note", "keys", "roles", ""])] = self.generator.pick(Self.odd)
                return .object(members)
            }
            let name = self.generator.pick(names)
            switch self.generator.next() % 8 {
            case 0: members[name] = nil
            case 1: members[name] = self.generator.pick(Self.odd)
            default: members[name] = members[name].map { self.changed($0) }
            }
            return .object(members)
        case .array(var elements):
            guard !elements.isEmpty else { return .array([self.generator.pick(Self.odd)]) }
            let place = Int.random(in: elements.indices, using: &self.generator)
            switch self.generator.next() % 6 {
            case 0: elements.remove(at: place)
            case 1: elements.append(elements[place])
            case 2: elements.shuffle(using: &self.generator)
            default: elements[place] = self.changed(elements[place])
            }
            return .array(elements)
        case .string(let text):
            return self.generator.once(in: 3) ? self.generator.pick(Self.odd) : .string(self.changed(text))
        case .null, .bool, .integer, .number: return self.generator.pick(Self.odd)
        }
    }

    private mutating func changed(_ text: String) -> String {
        switch self.generator.next() % 5 {
        case 0: text.uppercased()
        case 1: String(text.dropLast())
        case 2: text + "0"
        case 3: text.replacing("0", with: "1", maxReplacements: 1)
        default: self.generator.pick(Self.times)
        }
    }

    private static let times = [
        "2031-01-01T00:00:00Z", "2031-02-29T00:00:00Z", "2032-02-29T00:00:00Z", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "2031-01-01T24:00:00Z", "2031-01-01T00:00:60Z", "2031-13-01T00:00:00Z",
        "2031-00-10T00:00:00Z",
        "2031-01-00T00:00:00Z", "2031-01-01 00:00:00Z", "2031-01-01T00:00:00z", "2031-1-01T000:00:00Z",
        "1900-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z", "+031-01-01T00:00:00Z",
    ]
    private static let odd: [JSON] = [
        .null, true, false, 0, 1, 2, 3, -1, 33, 9_007_199_254_740_991, .integer(9_007_199_254_740_992), .number(1.5),
        "", "a", "é",
        "\u{0}", "a\"b", "a\\b", "\u{7f}", [], [:], [[]], "ed25519", "root", "1.", "1.0.34", ["a"],
    ]
}

import PinWire

/// Roots of trust that are taken, and one at least for each reason to refuse one.
struct RootVectors {
    private let present: RootMaker.Draft

    init() throws { self.present = try RootMaker.sign(RootMaker.content(7), by: ["ada", "bob"]) }

    var file: VectorFile {
        get throws {
            VectorFile(
                name: "root",
                about: "Which roots of trust a client takes: handbook page client-integration, The root of trust.",
                cases: try self.shipped() + self.successors() + self.forms() + self.oddKeys() + self.texts())
        }
    }

    private func one(_ name: String, _ next: [UInt8], after root: RootMaker.Draft?) -> JSON {
        .members([
            "kind": "root", "name": .string(name), "root": root.map { .string($0.json.canonicalText) },
            "next": .string(Base64.encode(next)),
        ])
    }

    private func next(_ name: String, _ draft: RootMaker.Draft) -> JSON {
        self.one(name, draft.bytes, after: self.present)
    }

    private func shipped() throws -> [JSON] {
        let content = try RootMaker.content(1)
        return [
            self.one("shipped: signed by enough", try RootMaker.sign(content, by: ["ada", "cleo"]).bytes, after: nil),
            self.one(
                "shipped: any version", try RootMaker.sign(RootMaker.content(12), by: ["ada", "bob"]).bytes, after: nil),
            self.one("shipped: signed by one of two", try RootMaker.sign(content, by: ["ada"]).bytes, after: nil),
            self.one(
                "shipped: signed by a stranger too", try RootMaker.sign(content, by: ["ada", "eve"]).bytes, after: nil),
            self.one("shipped: signed by nobody", try RootMaker.sign(content, by: []).bytes, after: nil),
            self.one(
                "shipped: that has ended",
                try RootMaker.sign(RootMaker.content(1, expires: 1), by: ["ada", "bob"]).bytes,
                after: nil),
        ]
    }

    private func successors() throws -> [JSON] {
        let people = ["ada", "dora", "eve"]
        var wrong = try RootMaker.sign(RootMaker.content(8), by: ["ada"])
        let other = try RootMaker.signature(RootMaker.content(9), by: "bob")
        wrong.signatures = (wrong.signatures + [other]).sorted {
            ($0["keyid"]?.stringValue ?? "") < ($1["keyid"]?.stringValue ?? "")
        }
        return [
            self.next("the next one", try RootMaker.sign(RootMaker.content(8), by: ["bob", "cleo"])),
            self.next(
                "the next one, with a key less",
                try RootMaker.sign(RootMaker.content(8, documents: ["second"]), by: ["bob", "cleo"])),
            self.next("the present one", self.present),
            self.next("the one after the next", try RootMaker.sign(RootMaker.content(9), by: ["ada", "bob"])),
            self.next("an earlier one", try RootMaker.sign(RootMaker.content(6), by: ["ada", "bob"])),
            self.next(
                "other people, signed by enough of both",
                try RootMaker.sign(RootMaker.content(8, people: people), by: ["ada", "bob", "dora"])),
            self.next(
                "other people, signed by too few of the old ones",
                try RootMaker.sign(RootMaker.content(8, people: people), by: ["ada", "dora", "eve"])),
            self.next(
                "other people, signed by too few of the new ones",
                try RootMaker.sign(RootMaker.content(8, people: people), by: ["ada", "bob"])),
            self.next(
                "a higher threshold that is not met",
                try RootMaker.sign(RootMaker.content(8, threshold: 3), by: ["ada", "bob"])),
            self.next(
                "a lower threshold does not lower the old one",
                try RootMaker.sign(RootMaker.content(8, threshold: 1), by: ["ada"])),
            self.next("a signature of another content", wrong),
            self.next("the version before the signatures", try RootMaker.sign(RootMaker.content(9), by: ["eve"])),
            self.next("signed by nobody", try RootMaker.sign(RootMaker.content(8), by: [])),
        ]
    }

    /// Contents that are signed as they stand.
    private func forms() throws -> [JSON] {
        let sound = try RootMaker.content(8)
        let ada = try RootMaker.keyID("ada")
        func changed(_ change: (inout [String: JSON]) throws -> Void) rethrows -> [String: JSON] {
            var content = sound
            try change(&content)
            return content
        }
        func inside(_ name: String, _ member: String, _ value: JSON?) -> [String: JSON] {
            changed { content in
                var object = content[name]?.objectValue ?? [:]
                object[member] = value
                content[name] = .object(object)
            }
        }
        func role(_ name: String, _ member: String, _ value: JSON?) -> [String: JSON] {
            var object = sound["roles"]?[name]?.objectValue ?? [:]
            object[member] = value
            return inside("roles", name, .object(object))
        }
        func key(_ member: String, _ value: JSON?) -> [String: JSON] {
            var object = sound["keys"]?[ada]?.objectValue ?? [:]
            object[member] = value
            return inside("keys", ada, .object(object))
        }
        let ids = sound["roles"]?["root"]?["keyids"]?.arrayValue ?? []
        let contents: [(String, [String: JSON])] = [
            ("unknown members everywhere", changed { $0["x-note"] = "later" }),
            ("another role, with a key of another kind", try Self.strange(sound)),
            (
                "a role without keys that has no meaning here",
                inside("roles", "timestamp", ["keyids": [], "threshold": 0])
            ),
            ("no other roles", inside("roles", "snapshot", nil)),
            ("an unknown member of a key", key("x-owner", "ada")),
            ("a specification of 1.1", changed { $0["spec_version"] = "1.1" }),
            ("a specification of 2", changed { $0["spec_version"] = "2.0.0" }),
            ("a specification of 1 without more", changed { $0["spec_version"] = "1" }),
            ("targets metadata", changed { $0["_type"] = "targets" }),
            ("a version as text", changed { $0["version"] = "8" }),
            ("the version zero", changed { $0["version"] = 0 }),
            ("a version too large", changed { $0["version"] = .integer(9_007_199_254_740_992) }),
            ("no end", changed { $0["expires"] = nil }),
            ("an end with a fraction", changed { $0["expires"] = "2031-01-01T00:00:00.5Z" }),
            ("an end with an offset", changed { $0["expires"] = "2031-01-01T00:00:00+00:00" }),
            ("an end in lower case", changed { $0["expires"] = "2031-01-01t00:00:00z" }),
            ("an end that does not exist", changed { $0["expires"] = "2031-02-29T00:00:00Z" }),
            ("an end in a leap second", changed { $0["expires"] = "2031-12-31T23:59:60Z" }),
            ("an end at twenty-four", changed { $0["expires"] = "2031-12-31T24:00:00Z" }),
            ("a leap day", changed { $0["expires"] = "2032-02-29T00:00:00Z" }),
            ("no keys", changed { $0["keys"] = nil }),
            ("a role's key that is missing", inside("keys", ada, nil)),
            ("a role without root", inside("roles", "root", nil)),
            ("a role without targets", inside("roles", "targets", nil)),
            ("a threshold of zero", role("root", "threshold", 0)),
            ("a threshold above the keys", role("root", "threshold", 4)),
            ("a threshold as text", role("root", "threshold", "2")),
            ("targets with a threshold of two", role("targets", "threshold", 2)),
            ("targets without keys", role("targets", "keyids", [])),
            ("a key id twice", role("root", "keyids", .array(ids + ids.prefix(1)))),
            ("a key of another type", key("keytype", "rsa")),
            ("a key of another scheme", key("scheme", "ed25519ph")),
            (
                "a key of upper-case digits",
                key("keyval", ["public": .string(Hex.encode(try RootMaker.publicKey("ada")).uppercased())])
            ),
            (
                "another key under the id",
                key("keyval", ["public": .string(Hex.encode(try RootMaker.publicKey("eve")))])
            ),
            ("a short key", key("keyval", ["public": "00"])),
            ("a number that is no integer", changed { $0["x-note"] = .number(0.5) }),
            ("the largest integer", changed { $0["x-note"] = .integer(9_007_199_254_740_991) }),
            ("a negative integer", changed { $0["x-note"] = -7 }),
            ("an integer that is too large", changed { $0["x-note"] = .integer(9_007_199_254_740_992) }),
            ("brackets in a text", changed { $0["x-note"] = .string(String(repeating: "[{", count: 40)) }),
            (
                "other members of keyval",
                key("keyval", ["public": .string(Hex.encode(try RootMaker.publicKey("ada"))), "x": 1])
            ),
            ("anything under other keys and roles", inside("keys", "x", .null)),
            ("one key in both roles", try RootMaker.content(8, documents: ["ada"])),
            ("as deep as may be", changed { $0["x-note"] = Self.nested(14) }),
            ("too deep", changed { $0["x-note"] = Self.nested(15) }),
            ("a character outside of ASCII", changed { $0["x-note"] = "é" }),
            ("a quotation mark", changed { $0["x-note"] = "a\"b" }),
            ("a line feed", changed { $0["x-note"] = "a\nb" }),
        ]
        let signatures: [(String, JSON)] = try {
            let draft = try RootMaker.sign(sound, by: ["ada", "bob"])
            let (first, last) = (draft.signatures[0], draft.signatures[1])
            func altered(_ member: String, _ value: JSON) -> JSON {
                var object = first.objectValue ?? [:]
                object[member] = value
                return .object(object)
            }
            return [
                ("signatures in another order", [last, first]), ("a signature twice", [first, first, last]),
                ("a signature that is too short", [altered("sig", "00"), last]),
                (
                    "a signature in upper case",
                    [altered("sig", .string((first["sig"]?.stringValue ?? "").uppercased())), last]
                ),
                ("a key id that is too short", [altered("keyid", "00"), last]),
                ("an unknown member of a signature", [altered("x", 1), last]),
                ("signatures in an object", ["a": first]),
            ]
        }()
        return try contents.map { self.next("form: \($0)", try RootMaker.sign($1, by: ["ada", "bob", "cleo"])) }
            + signatures.map { name, list in
                self.one(
                    "form: \(name)", JSON.object(["signatures": list, "signed": .object(sound)]).canonicalBytes,
                    after: self.present)
            }
    }

    /// Keys of small order, or encoded in another way than RFC 8032 says, in either role.
    private func oddKeys() throws -> [JSON] {
        let refused = try (OddKeys.small + OddKeys.uncanonical).map { name, bytes in
            self.next(
                "keys: \(name)",
                try RootMaker.sign(RootMaker.content(8, moreDocuments: [bytes]), by: ["ada", "bob"]))
        }
        let ofPeople = try [OddKeys.small[0], OddKeys.uncanonical[0]].map { name, bytes in
            self.next(
                "keys: \(name), of a person",
                try RootMaker.sign(RootMaker.content(8, morePeople: [bytes]), by: ["ada", "bob"]))
        }
        let taken = try OddKeys.taken.map { name, bytes in
            self.next(
                "keys: \(name)", try RootMaker.sign(RootMaker.content(8, morePeople: [bytes]), by: ["ada", "bob"]))
        }
        return refused + ofPeople + taken
    }

    private static func nested(_ depth: Int) -> JSON { (0..<depth).reduce(0) { inner, _ in [inner] } }

    /// A role and a key that this kit knows nothing of.
    private static func strange(_ sound: [String: JSON]) throws -> [String: JSON] {
        var content = sound
        var keys = content["keys"]?.objectValue ?? [:]
        keys["strange"] = ["keytype": "ecdsa", "keyval": ["public": "pem"], "scheme": "ecdsa-sha2-nistp256"]
        var roles = content["roles"]?.objectValue ?? [:]
        roles["mirrors"] = ["keyids": ["strange"], "threshold": 7]
        (content["keys"], content["roles"]) = (.object(keys), .object(roles))
        return content
    }

    /// Files that are not the canonical text of a sound root.
    private func texts() throws -> [JSON] {
        let sound = try RootMaker.sign(RootMaker.content(8), by: ["ada", "bob"])
        let text = sound.json.canonicalText
        let texts: [(String, String)] = [
            ("white space", text.replacing(#""signed":"#, with: #""signed": "#)),
            ("a line feed at the end", text + "\n"),
            ("an escape", text.replacing("root", with: #"roo\u0074"#)),
            (
                "members in another order",
                "{\"signed\":" + JSON.object(sound.signed).canonicalText + ",\"signatures\":"
                    + JSON.array(sound.signatures).canonicalText + "}"
            ),
            ("a member besides the two", text.dropLast() + ",\"x\":1}"),
            ("a member twice", "{\"signatures\":[]," + text.dropFirst()),
            ("nothing", ""), ("an array", "[]"), ("no JSON", "root"),
            ("signed alone", JSON.object(sound.signed).canonicalText),
            ("a version in another spelling", text.replacing(#""version":8"#, with: #""version":8.0"#)),
        ]
        return texts.map { self.one("text: \($0)", Array($1.utf8), after: self.present) }
            + [self.one("text: bytes that are no text", [0xFF, 0xFE], after: self.present)]
    }
}

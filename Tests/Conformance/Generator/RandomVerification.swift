import PinWire
import SeededRandom

/// Random documents, most of them damaged: in the token's bytes, in the header, in the text of the payload or in what it says, or signed,
/// held and read at the wrong place and time. What is damaged below the signature is signed again, so that each rule is come to.
struct RandomVerification {
    private var generator: SeededGenerator
    private var documents: RandomDecisions
    private let keys: [SigningKey]
    private let stranger: SigningKey
    private let set: JSON

    init(seed: UInt64) {
        self.generator = SeededGenerator(seed: seed)
        self.documents = RandomDecisions(seed: seed ^ 0x5EED)
        guard let keys = try? ["first", "second"].map({ try SigningKey($0) }),
            let stranger = try? SigningKey("stranger")
        else {
            preconditionFailure("32 bytes make a key")
        }
        self.keys = keys
        self.stranger = stranger
        self.set = SigningKey.set(keys)
    }

    mutating func next(_ number: Int) throws -> JSON {
        let issued = RandomDecisions.now
        let document = try self.documents.document()
        let payload = document.payload(
            issuedAt: Timestamp(seconds: issued), expiresAt: Timestamp(seconds: issued + 86_400))
        let key = self.generator.pick(self.keys)
        var one: [String: JSON] = [
            "kind": "verify", "name": .string("random \(number)"), "app": "com.example.shop", "issuer": "pinledger",
            "keys": self.set,
            "now": .integer(issued + self.generator.pick([60, 60, 60, -299, -300, -301, 86_399, 86_400])),
        ]
        if self.generator.once(in: 8) { one["now"] = nil }
        let token: [UInt8]
        switch self.generator.next() % 12 {
        case 0, 10, 11:
            token = try key.sign(payload)
            try self.misplace(&one, document, issued)
        case 1: token = self.damaged(try key.sign(payload))
        case 2: token = try key.sign(payload, header: self.header(key))
        case 3: token = try key.sign(self.rewritten(payload))
        case 4: token = try self.stranger.sign(payload, header: key.header)
        case 5: token = try self.stranger.sign(payload)
        default: token = try key.sign(try self.changed(payload))
        }
        one["document"] = .string(Base64.encode(token))
        return .object(one)
    }

    // MARK: The surroundings

    /// Another app, another issuer, other keys, or a held document to which this one relates.
    private mutating func misplace(_ one: inout [String: JSON], _ document: Document, _ issued: Int64) throws {
        switch self.generator.next() % 8 {
        case 0: one["app"] = .string(self.generator.pick(["com.example.shop2", "com.example.Shop", "a"]))
        case 1: one["issuer"] = .string(self.generator.pick(["pinledger2", "Pinledger", ""]))
        case 2: one["keys"] = SigningKey.set([self.generator.pick(self.keys)])
        case 3: try self.ships(root: &one)
        default:
            var held = document
            held.version += self.generator.pick([0, 0, 0, 1, -1])
            if self.generator.once(in: 2) { held.monitoring.isEnabled.toggle() }
            let time = issued + self.generator.pick([0, -1, 1, 86_400])
            let payload = held.payload(issuedAt: Timestamp(seconds: time), expiresAt: Timestamp(seconds: time + 86_400))
            // A held document of a key that is no trust anchor counts as none.
            let key = self.generator.once(in: 3) ? self.stranger : self.generator.pick(self.keys)
            guard held.version >= 0 else { return }
            one["held"] = .string(String(decoding: try key.sign(payload), as: UTF8.self))
        }
    }

    /// A root of trust in place of the key set, which ends about now.
    private mutating func ships(root one: inout [String: JSON]) throws {
        let now = one["now"]?.integerValue ?? RandomDecisions.now
        let root = try RootMaker.sign(
            RootMaker.content(
                self.generator.pick([1, 7]),
                documents: self.generator.pick([["first"], ["second"], ["first", "second"]]),
                expires: now + self.generator.pick([-1, 0, 1, 1000])), by: ["ada", "bob"])
        one["keys"] = nil
        one["root"] = .string(root.json.canonicalText)
    }

    // MARK: The token

    private mutating func damaged(_ token: [UInt8]) -> [UInt8] {
        var token = token
        let place = Int.random(in: token.indices, using: &self.generator)
        switch self.generator.next() % 12 {
        case 0: token[place] ^= UInt8(1 << (self.generator.next() % 8))
        case 1: token.remove(at: place)
        case 2: token.insert(UInt8(truncatingIfNeeded: self.generator.next()), at: place)
        case 3: token.removeLast(self.generator.pick([1, 2, 4, 86, 87]))
        case 4: token += Array(self.generator.pick(["=", "==", "\n", ".", ".AAAA", "A", " "]).utf8)
        case 5: token = Array(self.generator.pick([" ", "\u{feff}", "\n", "."]).utf8) + token
        case 6: token = Array(token.prefix(place))
        case 7: token = Array(token.suffix(token.count - place))
        case 8:
            // Another spelling of the same signature: its last character has four bits that are not used.
            token[token.count - 1] = UInt8(ascii: "_")
        case 9:
            let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).shuffled(
                using: &self.generator)
            token = Array(parts.joined(separator: [UInt8(ascii: ".")]))
        case 10:
            token = self.generator.pick([
                [], [0], [UInt8](repeating: 46, count: 5), [0xFF, 0xFE], [UInt8](repeating: 65, count: 9),
            ])
        default: token = Array(token.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 })
        }
        return token
    }

    private mutating func header(_ key: SigningKey) -> [UInt8] {
        let kid = key.keyID
        let texts = [
            #"{"alg":"EdDSA","kid":"\#(kid)","typ":"pinset-evaluated+jws"}"#,
            #"{"alg":"none","kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"HS256","kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"\#(kid)","typ":"pinset+jws","x":1}"#,
            #"{"kid":"\#(kid)","alg":"EdDSA","typ":"pinset+jws"}"#,
            #"{"alg": "EdDSA","kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"","typ":"pinset+jws"}"#, #"{"alg":"EdDSA","kid":"\#(kid)A","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"\#(self.stranger.keyID)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"\#(kid)","kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"a\"b","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","crit":["exp"],"kid":"\#(kid)","typ":"pinset+jws"}"#, "", "{}", "null",
            #"{"alg":"EdDSA"}"#,
            #"{"alg":"EdDSA","kid":"\#(kid)","typ":"pinset+jws"} "#,
            #"{"alg":"EdDS\u0041","kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","jwk":{},"kid":"\#(kid)","typ":"pinset+jws"}"#,
            #"{"alg":"EdDSA","kid":"\#(kid)é","typ":"pinset+jws"}"#,
        ]
        return Array(self.generator.pick(texts).utf8)
    }

    // MARK: The payload's text

    /// The same content in another text, or a text that is no JSON.
    private mutating func rewritten(_ payload: [UInt8]) -> [UInt8] {
        var text = String(decoding: payload, as: UTF8.self)
        switch self.generator.next() % 16 {
        case 0: text = text.replacing(":", with: ": ", maxReplacements: 1)
        case 1: text += self.generator.pick(["\n", " ", "}", "{}", "\u{0}"])
        case 2:
            text = text.replacing(
                "\"iat\":1790000000",
                with: self.generator.pick(["\"iat\":1790000000.0", "\"iat\":179e7", "\"iat\":+1790000000"]))
        case 3: text = text.replacing("pinledger", with: #"pinledge\u0072"#)
        case 4: text = text.replacing("{\"aud\"", with: "{\"aud\":\"com.example.shop\",\"aud\"")
        case 5: text = "\u{feff}" + text
        case 6: text = text.replacing("pinledger", with: "pin\u{301}ledger")
        case 7:
            text = text.replacing(
                "\"pinledger\"",
                with: self.generator.pick(["\"pin\\/ledger\"", "'pinledger'", "\"pin\tledger\"", "\"\\ud800\""]))
        case 8:
            text = text.replacing(
                "true", with: self.generator.pick(["True", "1", "null", "\"true\""]), maxReplacements: 1)
        case 9: text = String(repeating: "[", count: 100_000)
        case 10: text = self.generator.pick(["", "null", "[]", "\"\"", "0", "-0", "NaN", "{", "{\"a\":", "{}"])
        case 11: text = String(text.dropLast(Int(self.generator.next() % 40) + 1))
        case 12:
            text = text.replacing(
                "\"exp\":1790086400",
                with: "\"exp\":"
                    + self.generator.pick(["01790086400", "-0", "1e400", String(repeating: "9", count: 5000)]))
        case 13: return payload.map { $0 == UInt8(ascii: "p") ? 0xFF : $0 }
        case 14: text = text.replacing("\"version\"", with: "\"Version\"")
        default:
            var bytes = payload
            let place = Int.random(in: bytes.indices, using: &self.generator)
            bytes[place] = UInt8(truncatingIfNeeded: self.generator.next())
            return bytes
        }
        return Array(text.utf8)
    }

    // MARK: What the payload says

    /// The payload with one place of its content changed, in canonical form and with the digest that belongs to it.
    private mutating func changed(_ payload: [UInt8]) throws -> [UInt8] {
        var json = try JSON(parsing: payload)
        for _ in 0..<self.generator.pick([1, 1, 1, 2]) { json = self.changed(json, under: "") }
        guard case .object(let members) = json else { return json.canonicalBytes }
        if self.generator.once(in: 20) { return JSON.object(members).canonicalBytes }
        return sealed(members)
    }

    private mutating func changed(_ json: JSON, under name: String) -> JSON {
        switch json {
        case .object(var members):
            let names = members.keys.sorted()
            if let name = names.isEmpty ? nil : self.generator.pick(names), let value = members[name] {
                switch self.generator.next() % 12 {
                case 0: members[name] = nil
                case 1: members[name] = .null
                case 2: members[self.generator.pick(Self.members)] = self.generator.pick(Self.odd)
                default: members[name] = self.changed(value, under: name)
                }
            } else {
                members[self.generator.pick(Self.members)] = self.generator.pick(Self.odd)
            }
            return .object(members)
        case .array(var elements):
            guard !elements.isEmpty else { return .array([self.replacement(under: name)]) }
            let place = Int.random(in: elements.indices, using: &self.generator)
            switch self.generator.next() % 8 {
            case 0: elements.remove(at: place)
            case 1: elements.append(elements[place])
            case 2: elements.shuffle(using: &self.generator)
            case 3: elements.append(self.replacement(under: name))
            default: elements[place] = self.changed(elements[place], under: name)
            }
            return .array(elements)
        case .null, .bool, .integer, .number, .string: return self.replacement(under: name)
        }
    }

    /// A value for a member: often one that lies at the edge of what it may be.
    private mutating func replacement(under name: String) -> JSON {
        if let values = Self.values[name], !self.generator.once(in: 5) { return self.generator.pick(values) }
        return self.generator.pick(Self.odd)
    }

    private static let members = [
        "unknown", "arm", "candidate", "rollout", "salt", "salt_utf8", "countries", "whitelist", "exclusions",
        "bucketing", "versions",
        "host", "evaluated_from", "archived_at", "pins_valid_until", "version_gate", "reaction", "count_unsigned",
        "minimum", "maximum",
        "excluded", "minimum_build", "Host", "",
    ]
    private static let odd: [JSON] = [
        .null, true, false, 0, 1, -1, 9_007_199_254_740_991, .integer(9_007_199_254_740_992), .number(1.5),
        .number(1e300), "", "a", "é",
        "\u{0}", [], [:], [[]], "baseline", "unleash-murmur3", "pinroll/v1", "shadow", "act", ["a"],
    ]
    private static let seconds: [JSON] = [
        0, -1, 1_790_000_000, 253_402_300_799, 253_402_300_800, "1790000000", .number(1790000000.5),
    ]
    private static let hosts: [JSON] = [
        "api.example.com", "*.example.com", "Api.example.com", "api.example.com.", "*.*.example.com", "a.*.example.com",
        "*", "*.", "",
        "-a.example.com", "a-.example.com", "a--b.example.com", "ab--c.example.com", "xn--a.example.com",
        "xn--bcher-kva.example",
        "xn--zz--zz.com", "xn--", "xn--.com", "192.0.2.1", "a.1", "a.0x", "a.0x1f", "a.0xg", "*.1", "a_b.com",
        "a b.com", "a..b", "münchen.de", "a:443",
        .string(String(repeating: "a", count: 63) + ".com"), .string(String(repeating: "a", count: 64) + ".com"),
        .string(String(repeating: "a.", count: 126) + "b"), .string("*." + String(repeating: "a.", count: 126) + "b"),
        .string(String(repeating: "a.", count: 125) + "abcd"), "localhost", "0", "1a", "a.1a", "*.xn--a", "x--a.com",
        "xn-a.com",
    ]
    private static let versions: [JSON] = [
        "1", "1.2.3.4", "1.2.3.4.5", "01.002", "1234567890", "123456789", "1.5-", "1.5-a", "1.5-01", "1.5+", "1.5+b",
        "1.5+b+c", "v1", " 1",
        "1 ", "1.5-a..b", "1.5-é", "", "9.9.9.9", "0", .string("1-" + String(repeating: "a", count: 126)),
        .string("1-" + String(repeating: "a", count: 127)),
    ]
    private static let pins: [JSON] = [
        .string(Base64.encode(sha256([1]))), .string(Base64.encode(sha256([1]).dropLast())),
        .string(String(Base64.encode(sha256([1])).dropLast())),
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
        "____________________________________________", "", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA8=",
    ]
    private static let listed: [JSON] = [
        .string(Hex.encode(sha256([2]))), .string(Hex.encode(sha256([2])).uppercased()), "",
        .string(Hex.encode(sha256([2])) + "00"),
        .string(String(Hex.encode(sha256([2])).dropLast()) + "g"),
    ]
    private static let values: [String: [JSON]] = [
        "iss": ["pinledger", "", "other", "é", "a\"b\\c", "\u{7f}"],
        "aud": ["com.example.shop", "", "a..b", "-a", "a.", "a b", "com.example.other"],
        "version": [0, -1, 9_007_199_254_740_991, .integer(9_007_199_254_740_992), "1"], "iat": Self.seconds,
        "exp": Self.seconds,
        "pins_valid_until": Self.seconds, "archived_at": Self.seconds, "engaged_at": Self.seconds,
        "expires_at": Self.seconds,
        "bucketing": ["pinroll/v1", "pinroll/v2", "unleash-murmur3", ""],
        "scope": ["everything", "app", "host", "app_versions", "all", ""],
        "host": Self.hosts, "builtin_pin_hosts": Self.hosts, "minimum": Self.versions, "maximum": Self.versions,
        "excluded": Self.versions,
        "minimum_build": [0, -1, 9_007_199_254_740_991, .integer(9_007_199_254_740_992), "1"],
        "mode": ["enforce", "report_only", "off", "on", ""],
        "source": ["document", "builtin", ""], "alg": ["sha256", "sha1", "SHA256"],
        "role": ["primary", "backup", "emergency", "other"],
        "spki": Self.pins, "basis_points": [0, 10_000, 10_001, -1, 1234, 100],
        "method": ["percentage", "whitelist", "geography", "other"],
        "seed": ["device_id", "user_id", "install_id", "other"],
        "salt": [
            "a", "", "é", "a\tb", .string(String(repeating: "s", count: 128)),
            .string(String(repeating: "s", count: 129)),
        ],
        "salt_utf8": [
            "c3a9", "C3A9", "61", "", "ff", "c3", "c3a900", "c2857a", "f09f9491", "eda080", "c080",
            .string(String(repeating: "c3a9", count: 64)), .string(String(repeating: "c3a9", count: 65)),
            .string(String(repeating: "cc81", count: 64)), "7f", "c3a97f",
        ],
        "countries": ["DE", "de", "DEU", "D", "", "D1"], "whitelist": Self.listed, "exclusions": Self.listed,
        "failure_threshold_bp": [1, 9999, 0, 10_000], "reaction": ["off", "act", "shadow", ""],
        "content_sha256": Self.listed,
    ]
}

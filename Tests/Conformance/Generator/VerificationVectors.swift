import PinWire

/// Documents that are accepted, and one at least for each reason to refuse one.
struct VerificationVectors {
    private let now: Int64 = 1_790_000_060
    private let issued: Int64 = 1_790_000_000
    private let key: SigningKey
    private let other: SigningKey
    private let stranger: SigningKey

    init() throws {
        self.key = try SigningKey("first")
        self.other = try SigningKey("second")
        self.stranger = try SigningKey("stranger")
    }

    var file: VectorFile {
        get throws {
            VectorFile(
                name: "verify",
                about:
                    "Which documents a client accepts, and why it refuses others: handbook page client-integration, Verify.",
                cases: try self.accepted() + self.tokens() + self.headers() + self.payloads() + self.surroundings()
                    + self.roots())
        }
    }

    private func one(
        _ name: String, _ document: [UInt8], held: [UInt8]? = nil, now: Int64? = nil, isStored: Bool = false,
        keys: [SigningKey]? = nil, root: RootMaker.Draft? = nil,
        app: String = "com.example.shop", issuer: String = "pinledger"
    ) -> JSON {
        .members([
            "kind": "verify", "name": .string(name), "app": .string(app), "issuer": .string(issuer),
            "keys": root == nil ? SigningKey.set(keys ?? [self.key, self.other]) : nil,
            "root": root.map { .string($0.json.canonicalText) }, "document": .string(Base64.encode(document)),
            "held": held.map { .string(String(decoding: $0, as: UTF8.self)) },
            "now": isStored ? nil : .integer(now ?? self.now),
        ])
    }

    // MARK: Documents

    private func document(_ version: Int64 = 7) throws -> Document {
        let pins = (1...2).compactMap { Pin(bytes: sha256([$0])) }
        let policy = Document.Policy(
            mode: .enforce, pins: zip(pins, [PinRole.primary, .backup]).map { Document.RolePin(pin: $0, role: $1) })
        return Document(
            issuer: "pinledger", app: try AppID("com.example.shop"), version: version, pinsValidUntil: nil,
            killSwitches: [], rollout: nil, versionGate: nil,
            hosts: [
                Document.Host(
                    pattern: try HostPattern("api.example.com"), includesSubdomains: false, baseline: policy,
                    candidate: policy,
                    rollout: Rollout(basisPoints: 2500, seed: [.installID], salt: "host:api.example.com"))
            ],
            fallback: Fallback(usesBuiltinPins: false), monitoring: Monitoring())
    }

    private func payload(
        _ version: Int64 = 7, issued: Int64? = nil, _ change: (inout Document) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var document = try self.document(version)
        try change(&document)
        let issued = issued ?? self.issued
        return document.payload(issuedAt: Timestamp(seconds: issued), expiresAt: Timestamp(seconds: issued + 86_400))
    }

    private func accepted() throws -> [JSON] {
        let token = try self.key.sign(try self.payload())
        let stale = self.issued + 86_400
        let full = try self.key.sign(
            try self.payload { document in
                document.pinsValidUntil = Timestamp(seconds: 1_800_000_000)
                document.killSwitches = [
                    Document.KillSwitch(
                        scope: "app_versions", host: nil, versions: VersionGate(maximum: try AppVersion("1.9")),
                        engagedAt: Timestamp(seconds: 1), expiresAt: Timestamp(seconds: 2))
                ]
                document.versionGate = VersionGate(minimum: try AppVersion("1.0-rc.1+b"), minimumBuild: 0)
                document.rollout = Rollout(
                    basisPoints: 100, method: .geography, seed: [.userID, .deviceID, .installID], isSticky: false,
                    salt: "Grüße \u{1f511}",
                    countries: ["DE"], whitelist: [Rollout.hashedID("a", salt: "s")],
                    exclusions: [Rollout.hashedID("b", salt: "s")],
                    bucketing: .unleash)
                document.fallback = Fallback(hosts: [
                    try HostPattern("*.example.com"), try HostPattern("old.example.com"),
                ])
                document.monitoring = Monitoring(
                    isEnabled: true, failureThreshold: 1, autoDisables: true, reaction: .act)
                document.hosts[0].baseline = nil
            })
        return [
            self.one("a document of the first key", token),
            self.one("a document of the second key", try self.other.sign(try self.payload())),
            self.one("every member that a document may have", full),
            self.one("the last second before exp", token, now: stale - 1),
            self.one("stale from exp on, and still valid", token, now: stale),
            self.one("a clock 300 seconds behind", token, now: self.issued - 300),
            self.one("from the client's own store, whatever its clock says", token, isStored: true),
            self.one("the held document again", token, held: token),
            self.one(
                "the held document, signed again later", try self.key.sign(try self.payload(issued: self.issued + 1)),
                held: token),
            self.one("a higher version", try self.key.sign(try self.payload(8)), held: token),
            self.one(
                "a lower version than one whose key is no trust anchor any more", token,
                held: try self.stranger.sign(try self.payload(900), header: self.stranger.header)),
            self.one("the highest version", try self.key.sign(try self.payload(9_007_199_254_740_991))),
            self.one(
                "an A-label that only its own table of Unicode could judge",
                try self.key.sign(self.replacing("api.example.com", with: "xn--a.example.com"))),
        ]
    }

    private func replacing(_ text: String, with other: String) throws -> [UInt8] {
        let text = String(decoding: try self.payload(), as: UTF8.self).replacing(text, with: other)
        guard let members = try JSON(text: text).objectValue else { return [] }
        return sealed(members)
    }

    // MARK: What is refused

    private func tokens() throws -> [JSON] {
        let token = try self.key.sign(try self.payload())
        let text = String(decoding: token, as: UTF8.self)
        let cases: [(String, [UInt8])] = [
            ("nothing", []), ("two parts", Array("a.b".utf8)), ("four parts", token + Array(".AAAA".utf8)),
            ("an empty first part", Array(text.drop { $0 != "." }.utf8)),
            ("padding", token + [UInt8(ascii: "=")]), ("a line feed at the end", token + [10]),
            ("a space before", [32] + token),
            ("a byte order mark before", [0xEF, 0xBB, 0xBF] + token), ("bytes beyond ASCII", token + [0xC3, 0xA9]),
            ("a signature of 63 bytes", Array(token.dropLast(2)) + [UInt8(ascii: "A")]),
            ("unused bits in the signature's last character", Array(token.dropLast()) + [UInt8(ascii: "_")]),
            (
                "the standard alphabet",
                Array(text.replacing("-", with: "+").replacing("_", with: "/").utf8) + [UInt8(ascii: "+")]
            ),
            ("a changed signature", Array(token.dropLast(4)) + Array("AAAA".utf8)),
            (
                "a changed payload",
                Array(text.replacing(text.split(separator: ".")[1], with: Base64URL.encode(try self.payload(8))).utf8)
            ),
        ]
        return cases.map { self.one($0, $1) }
    }

    private func headers() throws -> [JSON] {
        let kid = self.key.keyID
        let texts: [(String, String)] = [
            ("an evaluated document's header", #"{"alg":"EdDSA","kid":"\#(kid)","typ":"pinset-evaluated+jws"}"#),
            ("the algorithm none", #"{"alg":"none","kid":"\#(kid)","typ":"pinset+jws"}"#),
            ("the algorithm HS256", #"{"alg":"HS256","kid":"\#(kid)","typ":"pinset+jws"}"#),
            ("a further member", #"{"alg":"EdDSA","crit":[],"kid":"\#(kid)","typ":"pinset+jws"}"#),
            ("another order", #"{"kid":"\#(kid)","alg":"EdDSA","typ":"pinset+jws"}"#),
            ("white space", #"{"alg": "EdDSA","kid":"\#(kid)","typ":"pinset+jws"}"#),
            ("an escape", #"{"alg":"EdDS\u0041","kid":"\#(kid)","typ":"pinset+jws"}"#),
            ("an empty kid", #"{"alg":"EdDSA","kid":"","typ":"pinset+jws"}"#),
            ("a kid with a quotation mark", #"{"alg":"EdDSA","kid":"a\"b","typ":"pinset+jws"}"#),
            ("no JSON", "header"),
        ]
        return try texts.map {
            self.one("header: \($0)", try self.key.sign(try self.payload(), header: Array($1.utf8)))
        } + [
            self.one("a key that is no trust anchor", try self.stranger.sign(try self.payload())),
            self.one(
                "another key's signature under a trust anchor's kid",
                try self.stranger.sign(try self.payload(), header: self.key.header)),
        ]
    }

    private func payloads() throws -> [JSON] {
        let payload = try self.payload()
        let text = String(decoding: payload, as: UTF8.self)
        guard let members = try JSON(parsing: payload).objectValue else { return [] }
        func with(_ changes: [String: JSON?]) -> [UInt8] {
            var members = members
            for (name, value) in changes { members[name] = value }
            return sealed(members)
        }
        func host(_ changes: (inout [String: JSON]) -> Void) -> [UInt8] {
            guard var host = members["hosts"]?.arrayValue?.first?.objectValue else { return [] }
            changes(&host)
            return with(["hosts": [.object(host)]])
        }
        let texts: [(String, [UInt8])] = [
            ("no JSON", Array("{".utf8)), ("an array", Array("[]".utf8)),
            ("white space", Array(text.replacing("\":", with: "\": ").utf8)),
            ("a member twice", Array(text.replacing("{\"aud\"", with: "{\"aud\":\"com.example.shop\",\"aud\"").utf8)),
            ("an escape that need not be", Array(text.replacing("pinledger", with: #"pin\u006cedger"#).utf8)),
            ("an integer with a fraction", Array(text.replacing("\"version\":7", with: "\"version\":7.0").utf8)),
            ("a line feed at the end", payload + [10]),
            ("bytes that are not UTF-8", payload.map { $0 == UInt8(ascii: "k") ? 0xFF : $0 }),
            ("deep nesting", [UInt8](repeating: UInt8(ascii: "["), count: 100_000)),
            (
                "another digest",
                JSON.object(members.merging(["content_sha256": .string(Hex.encode(sha256([])))]) { $1 }).canonicalBytes
            ),
            ("an unknown member", with(["more": 1])), ("a missing member", with(["monitoring": nil])),
            ("null", with(["rollout": .null])),
            ("another bucketing", with(["bucketing": "pinroll/v2"])), ("a negative version", with(["version": -1])),
            ("a version above 2^53 - 1", with(["version": .integer(9_007_199_254_740_992)])),
            ("a text as version", with(["version": "7"])),
            ("a time of the year 10000", with(["exp": .integer(253_402_300_800)])),
            ("an issuer beyond ASCII", with(["iss": "pinlédger"])),
            (
                "a host twice",
                with(["hosts": .array((members["hosts"]?.arrayValue ?? []) + (members["hosts"]?.arrayValue ?? []))])
            ),
            ("an unknown member of a host", host { $0["more"] = 1 }),
            ("an arm, as evaluated documents have", host { $0["arm"] = "baseline" }),
            ("a host in upper case", host { $0["host"] = "API.example.com" }),
            ("an address as host", host { $0["host"] = "192.0.2.1" }),
            ("a candidate of built-in pins", host { $0["candidate"] = ["source": "builtin"] }),
            (
                "a pin of 31 bytes",
                host {
                    $0["baseline"] = [
                        "source": "document", "mode": "enforce",
                        "pins": [
                            [
                                "alg": "sha256", "role": "primary",
                                "spki": .string(Base64.encode(sha256([1]).dropLast())),
                            ]
                        ],
                    ]
                }
            ),
            (
                "an empty list that has to be absent",
                host {
                    $0["rollout"] = [
                        "basis_points": 0, "method": "percentage", "seed": ["device_id"], "sticky": true,
                        "whitelist": [],
                    ]
                }
            ),
            (
                "a share above 10000",
                host {
                    $0["rollout"] = [
                        "basis_points": 10_001, "method": "percentage", "seed": ["device_id"], "sticky": true,
                    ]
                }
            ),
            (
                "a broken percentage of Unleash",
                host {
                    $0["rollout"] = [
                        "basis_points": 150, "bucketing": "unleash-murmur3", "method": "percentage",
                        "seed": ["device_id"], "sticky": true,
                    ]
                }
            ),
            (
                "a geography of no countries",
                host {
                    $0["rollout"] = ["basis_points": 100, "method": "geography", "seed": ["device_id"], "sticky": true]
                }
            ),
            (
                "a printable salt in hexadecimal",
                host {
                    $0["rollout"] = [
                        "basis_points": 100, "method": "percentage", "salt_utf8": "61", "seed": ["device_id"],
                        "sticky": true,
                    ]
                }
            ),
            (
                "a gate whose maximum is below its minimum",
                with(["version_gate": ["minimum": "2.0", "maximum": "1.9"]])
            ),
            (
                "a kill switch for a host that names none",
                with(["kill_switches": [["scope": "host", "engaged_at": 1, "expires_at": 2]]])
            ),
            (
                "a kill switch for all versions",
                with(["kill_switches": [["scope": "app_versions", "versions": [:], "engaged_at": 1, "expires_at": 2]]])
            ),
            (
                "built-in hosts that are not sorted",
                with(["fallback": ["use_builtin_pins": true, "builtin_pin_hosts": ["b.com", "a.com"]]])
            ),
            (
                "a default that has to be absent",
                with([
                    "monitoring": [
                        "auto_disable": false, "enabled": false, "failure_threshold_bp": 500, "reaction": "shadow",
                    ]
                ])
            ),
            ("an evaluated document's payload", with(["evaluated_from": .string(Hex.encode(sha256([1])))])),
        ]
        return try texts.map { self.one("payload: \($0)", try self.key.sign($1)) }
    }

    /// With a root of trust instead of a key set.
    private func roots() throws -> [JSON] {
        let token = try self.key.sign(try self.payload())
        let root = try RootMaker.sign(
            RootMaker.content(3, documents: ["first"], expires: self.now + 1), by: ["ada", "bob"])
        let ended = try RootMaker.sign(
            RootMaker.content(3, documents: ["first"], expires: self.now), by: ["ada", "bob"])
        let ahead = try self.key.sign(try self.payload(issued: self.now + 301))
        return [
            self.one("root: a document of its key", token, root: root),
            self.one("root: a document of another key", try self.other.sign(try self.payload()), root: root),
            self.one("root: that ends now", token, root: ended),
            self.one("root: that has ended, and a stored document", token, isStored: true, root: ended),
            self.one("root: the clock before the root's end", ahead, root: ended),
            self.one(
                "root: a lower version before the root's end", token, held: try self.key.sign(try self.payload(8)),
                root: ended),
            self.one(
                "root: a held document of a key that it does not have", token,
                held: try self.other.sign(try self.payload(8)), root: root),
        ]
    }

    private func surroundings() throws -> [JSON] {
        let token = try self.key.sign(try self.payload())
        let other = try self.payload { $0.monitoring.isEnabled = true }
        return [
            self.one("another app's document", token, app: "com.example.other"),
            self.one("another issuer's document", token, issuer: "pins.example.com"),
            self.one("the other app before the other issuer", token, app: "com.example.other", issuer: "other"),
            self.one("a lower version than the held one", token, held: try self.key.sign(try self.payload(8))),
            self.one("another content under the held version", try self.key.sign(other), held: token),
            self.one(
                "signed before the held document of the same version", token,
                held: try self.key.sign(try self.payload(issued: self.issued + 1))),
            self.one(
                "a higher version that was signed earlier",
                try self.key.sign(try self.payload(8, issued: self.issued - 1)), held: token),
            self.one("a clock 301 seconds behind", token, now: self.issued - 301),
            self.one("a retired key's document", token, keys: [self.other]),
        ]
    }
}

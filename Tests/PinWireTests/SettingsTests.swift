import PinWire
import Testing

/// Version gate, rollout, fallback and monitoring: what an app's clients are told besides hosts and pins.
@Suite struct `Settings` {
    struct Bad: Sendable {
        var text: String
        var pointer: String
        var message: String

        init(_ text: String, _ pointer: String, _ message: String) {
            self.text = text
            self.pointer = pointer
            self.message = message
        }
    }

    private func expect<T>(_ bad: Bad, _ read: (JSONField) throws -> T) throws {
        let found = try defect { try read(try field(bad.text)) }
        #expect(found?.pointer.text == bad.pointer, "\(bad.text)")
        #expect(found?.message.hasPrefix(bad.message) == true, "\(bad.text): \(found?.message ?? "accepted")")
    }

    // Version gate

    @Test(arguments: [
        "{}", #"{"minimum":"1.5"}"#, #"{"maximum":"2.0.0-rc.1+b"}"#, #"{"excluded":["1.0","1.1-a"]}"#,
        #"{"minimum_build":0}"#, #"{"excluded":["3"],"maximum":"2","minimum":"2.0","minimum_build":9007199254740991}"#,
    ])
    func `a version gate reads back as it was`(text: String) throws {
        let gate = try VersionGate(try field(text))
        #expect(gate.json.canonicalText == text)
        #expect(gate.isOpen == (text == "{}"))
        #expect(try VersionGate(JSONField(gate.json)) == gate)
    }

    static let badGates = [
        Bad("[]", "/x", "must be an object"), Bad(#"{"min":"1"}"#, "/x/min", "is not a member here"),
        Bad(#"{"minimum":"v1"}"#, "/x/minimum", "must be a version such as"),
        Bad(#"{"minimum":1}"#, "/x/minimum", "must be a string"),
        Bad(#"{"maximum":""}"#, "/x/maximum", "must be a version"),
        Bad(#"{"minimum":"2","maximum":"1.9"}"#, "/x", "the minimum 2 is above the maximum 1.9"),
        Bad(#"{"minimum":"2","maximum":"2-rc"}"#, "/x", "the minimum 2 is above the maximum 2-rc"),
        Bad(#"{"excluded":"1"}"#, "/x/excluded", "must be an array"),
        Bad(#"{"excluded":["1","x"]}"#, "/x/excluded/1", "must be a version"),
        Bad(
            #"{"excluded":[\#(Array(repeating: #""1""#, count: 101).joined(separator: ","))]}"#, "/x/excluded",
            "may have at most 100"),
        Bad(#"{"minimum_build":-1}"#, "/x/minimum_build", "must be from 0"),
        Bad(#"{"minimum_build":1.5}"#, "/x/minimum_build", "must be a whole number"),
        Bad(#"{"minimum_build":9007199254740992}"#, "/x/minimum_build", "must be a whole number"),
    ]

    @Test(arguments: badGates) func `a bad version gate is refused at its place`(bad: Bad) throws {
        try self.expect(bad) { try VersionGate($0) }
    }

    // Rollout

    static let hash = String(repeating: "0123456789abcdef", count: 4)

    @Test func `a rollout needs no more than a percentage`() throws {
        let rollout = try Rollout(try field(#"{"basis_points":2500}"#))
        #expect(rollout == Rollout(basisPoints: 2500))
        #expect(
            rollout.json.canonicalText
                == #"{"basis_points":2500,"method":"percentage","seed":["device_id"],"sticky":true}"#
        )
    }

    @Test(arguments: [
        Rollout(basisPoints: 0),
        Rollout(basisPoints: 10_000, method: .whitelist, whitelist: [hash], exclusions: [hash]),
        Rollout(basisPoints: 1, method: .geography, seed: [.userID, .installID, .deviceID], countries: ["DE", "AT"]),
        Rollout(basisPoints: 5000, isSticky: false, salt: "a salt~"),
        Rollout(basisPoints: 7, salt: String(repeating: "s", count: 128)),
        Rollout(basisPoints: 8, salt: "日本"), Rollout(basisPoints: 9, salt: String(repeating: "é", count: 64)),
    ])
    func `a rollout reads back as it was`(rollout: Rollout) throws {
        #expect(try Rollout(JSONField(rollout.json)) == rollout)
        #expect(try Rollout(JSONField(JSON(parsing: rollout.json.canonicalBytes))) == rollout)
    }

    static let badRollouts = [
        Bad("{}", "/x/basis_points", "is required"),
        Bad(#"{"basis_points":-1}"#, "/x/basis_points", "must be from 0 to 10000"),
        Bad(#"{"basis_points":10001}"#, "/x/basis_points", "must be from 0 to 10000"),
        Bad(#"{"basis_points":0.5}"#, "/x/basis_points", "must be a whole number"),
        Bad(#"{"basis_points":1,"percentage":2}"#, "/x/percentage", "is not a member here"),
        Bad(#"{"basis_points":1,"method":"random"}"#, "/x/method", "must be one of"),
        Bad(#"{"basis_points":1,"seed":[]}"#, "/x/seed", "must name at least one id"),
        Bad(#"{"basis_points":1,"seed":["user_id","user_id"]}"#, "/x/seed", "names an id twice"),
        Bad(#"{"basis_points":1,"seed":["user_id","ip"]}"#, "/x/seed/1", "must be one of"),
        Bad(#"{"basis_points":1,"seed":"user_id"}"#, "/x/seed", "must be an array"),
        Bad(#"{"basis_points":1,"sticky":1}"#, "/x/sticky", "must be true or false"),
        Bad(#"{"basis_points":1,"salt":""}"#, "/x/salt", "must be 1 to 128 bytes"),
        Bad(#"{"basis_points":1,"salt":"\u0085"}"#, "/x/salt", "must be 1 to 128 bytes"),
        Bad(#"{"basis_points":1,"salt":"\#(String(repeating: "é", count: 65))"}"#, "/x/salt", "must be 1 to 128"),
        Bad(#"{"basis_points":1,"salt_utf8":"61"}"#, "/x/salt_utf8", "must be the UTF-8 of a salt"),
        Bad(#"{"basis_points":1,"salt_utf8":"E697A5"}"#, "/x/salt_utf8", "must be the UTF-8 of a salt"),
        Bad(#"{"basis_points":1,"salt_utf8":"e697"}"#, "/x/salt_utf8", "must be the UTF-8 of a salt"),
        Bad(#"{"basis_points":1,"salt":"a","salt_utf8":"e697a5"}"#, "/x/salt_utf8", "is not a member here"),
        Bad(#"{"basis_points":1,"salt":"a\u0000"}"#, "/x/salt", "must be 1 to 128 bytes"),
        Bad(#"{"basis_points":1,"salt":"\u007f"}"#, "/x/salt", "must be 1 to 128 bytes"),
        Bad(#"{"basis_points":1,"salt":"\#(String(repeating: "s", count: 129))"}"#, "/x/salt", "must be 1 to 128"),
        Bad(#"{"basis_points":1,"countries":["DE","de"]}"#, "/x/countries/1", "must be a country code"),
        Bad(#"{"basis_points":1,"countries":["DEU"]}"#, "/x/countries/0", "must be a country code"),
        Bad(#"{"basis_points":1,"method":"geography"}"#, "/x/countries", "must name at least one country"),
        Bad(
            #"{"basis_points":1,"method":"geography","countries":[]}"#, "/x/countries", "must name at least one country"
        ),
        Bad(#"{"basis_points":1,"whitelist":["alice"]}"#, "/x/whitelist/0", "must be the 64 hexadecimal digits"),
        Bad(#"{"basis_points":1,"exclusions":["\#(hash.uppercased())"]}"#, "/x/exclusions/0", "must be the 64"),
        Bad(
            #"{"basis_points":1,"whitelist":[\#(Array(repeating: "0", count: 251).joined(separator: ","))]}"#,
            "/x/whitelist", "may have at most 250"),
    ]

    @Test(arguments: badRollouts) func `a bad rollout is refused at its place`(bad: Bad) throws {
        try self.expect(bad) { try Rollout($0) }
    }

    @Test func `an id is hashed under its salt`() {
        let hashed = Rollout.hashedID("alice", salt: "s")
        #expect(hashed == Hex.encode(hmacSHA256(key: Array("pinroll/v1/id\0s".utf8), Array("alice".utf8))))
        #expect(hashed.utf8.count == 64 && Hex.decode(hashed) != nil)
        #expect(hashed != Rollout.hashedID("alice", salt: "t") && hashed != Rollout.hashedID("bob", salt: "s"))
    }

    // Fallback and monitoring

    @Test func `a fallback's hosts come back in order`() throws {
        let fallback = Fallback(usesBuiltinPins: false, hosts: [try host("b.example"), try host("*.a.example")])
        let text = #"{"builtin_pin_hosts":["*.a.example","b.example"],"use_builtin_pins":false}"#
        #expect(fallback.json.canonicalText == text)
        let read = try Fallback(JSONField(fallback.json))
        #expect(read.hosts.map(\.text) == ["*.a.example", "b.example"] && !read.usesBuiltinPins)
        #expect(try Fallback(JSONField(read.json)) == read)
        #expect(try Fallback(try field(#"{"use_builtin_pins":true}"#)) == Fallback())
    }

    static let badFallbacks = [
        Bad("{}", "/x/use_builtin_pins", "is required"),
        Bad(#"{"use_builtin_pins":0}"#, "/x/use_builtin_pins", "must be true"),
        Bad(#"{"use_builtin_pins":true,"hosts":[]}"#, "/x/hosts", "is not a member here"),
        Bad(#"{"use_builtin_pins":true,"builtin_pin_hosts":{}}"#, "/x/builtin_pin_hosts", "must be an array"),
        Bad(
            #"{"use_builtin_pins":true,"builtin_pin_hosts":["a.b","A.b"]}"#, "/x/builtin_pin_hosts/1",
            "must be in lower"),
        Bad(
            #"{"use_builtin_pins":true,"builtin_pin_hosts":["a.b","a.b"]}"#, "/x/builtin_pin_hosts/1",
            "names the same host twice"),
        Bad(
            #"{"use_builtin_pins":true,"builtin_pin_hosts":[\#(Array(repeating: "0", count: 1001).joined(separator: ","))]}"#,
            "/x/builtin_pin_hosts", "may have at most 1000"
        ),
    ]

    @Test(arguments: badFallbacks) func `a bad fallback is refused at its place`(bad: Bad) throws {
        try self.expect(bad) { try Fallback($0) }
    }

    @Test(arguments: [
        Monitoring(), Monitoring(isEnabled: true, failureThreshold: 1, autoDisables: true),
        Monitoring(isEnabled: true, reaction: .act), Monitoring(reaction: .off),
        Monitoring(isEnabled: true, countsUnsigned: true),
    ])
    func `monitoring settings read back as they were`(monitoring: Monitoring) throws {
        #expect(try Monitoring(JSONField(monitoring.json)) == monitoring)
        #expect(try Monitoring(try field(#"{"enabled":false}"#)) == Monitoring())
        #expect(try Monitoring(try field(#"{"enabled":false,"reaction":"shadow"}"#)) == Monitoring())
    }

    @Test func `monitoring settings say how to react only where that is not in the shadow`() {
        let silent = #"{"auto_disable":false,"enabled":true,"failure_threshold_bp":500}"#
        #expect(Monitoring(isEnabled: true).json.canonicalText == silent)
        #expect(Monitoring(isEnabled: true, reaction: .act).json["reaction"] == "act")
    }

    @Test func `monitoring settings for clients leave out how unsigned reports count`() {
        let counting = Monitoring(isEnabled: true, reaction: .act, countsUnsigned: true)
        #expect(counting.json["count_unsigned"] == true)
        #expect(counting.published == Monitoring(isEnabled: true, reaction: .act))
        #expect(Monitoring().json["count_unsigned"] == nil)
    }

    static let badMonitorings = [
        Bad("{}", "/x/enabled", "is required"), Bad(#"{"enabled":"yes"}"#, "/x/enabled", "must be true"),
        Bad(#"{"enabled":true,"failure_threshold_bp":0}"#, "/x/failure_threshold_bp", "must be from 1 to 9999"),
        Bad(#"{"enabled":true,"failure_threshold_bp":10000}"#, "/x/failure_threshold_bp", "must be from 1 to 9999"),
        Bad(#"{"enabled":true,"auto_disable":null,"auto":1}"#, "/x/auto", "is not a member here"),
        Bad(#"{"enabled":true,"reaction":"on"}"#, "/x/reaction", "must be one of \"off\", \"shadow\", \"act\""),
    ]

    @Test(arguments: badMonitorings) func `bad monitoring settings are refused at their place`(bad: Bad) throws {
        try self.expect(bad) { try Monitoring($0) }
    }
}

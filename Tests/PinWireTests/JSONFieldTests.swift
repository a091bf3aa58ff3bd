import PinWire
import Testing

@Suite struct `A JSON field` {
    enum Colour: String, CaseIterable { case red, green }

    @Test func `a JSON field reads a value of each kind`() throws {
        #expect(try field(#""a""#).string() == "a")
        #expect(try field("true").bool())
        #expect(try field("7").integer(7...7) == 7)
        #expect(try field("7.0").integer(0...10) == 7)
        #expect(try field(#""green""#).oneOf(Colour.self) == .green)
        #expect(try field(#""1970-01-01T00:00:01Z""#).timestamp() == Timestamp(seconds: 1))
        #expect(try field("[1,2]").elements(atMost: 2).map(\.pointer.text) == ["/x/0", "/x/1"])
        #expect(try field(#""a.example""#).parse(HostPattern.init).text == "a.example")
    }

    struct Case: Sendable {
        var text: String
        var message: String
        var read: @Sendable (JSONField) throws -> Void

        init(_ text: String, _ message: String, _ read: @escaping @Sendable (JSONField) throws -> Void) {
            self.text = text
            self.message = message
            self.read = read
        }
    }

    static let refused: [Case] = [
        Case("1", "must be a string, and is a number") { _ = try $0.string() },
        Case("null", "must be a string, and is null") { _ = try $0.string() },
        Case("[]", "must be a string, and is an array") { _ = try $0.string() },
        Case("{}", "must be a string, and is an object") { _ = try $0.string() },
        Case("1", "must be true or false, and is a number") { _ = try $0.bool() },
        Case(#""true""#, "must be true or false, and is a string") { _ = try $0.bool() },
        Case("1.5", "must be a whole number from 1 to 3") { _ = try $0.integer(1...3) },
        Case(#""1""#, "must be a whole number from 1 to 3") { _ = try $0.integer(1...3) },
        Case("true", "must be a whole number from 1 to 3") { _ = try $0.integer(1...3) },
        Case("9007199254740992", "must be a whole number from 1 to 3") { _ = try $0.integer(1...3) },
        Case("0", "must be from 1 to 3, and is 0") { _ = try $0.integer(1...3) },
        Case("4", "must be from 1 to 3, and is 4") { _ = try $0.integer(1...3) },
        Case("{}", "must be an array, and is an object") { _ = try $0.elements(atMost: 1) },
        Case("[1,2]", "may have at most 1 elements, and has 2") { _ = try $0.elements(atMost: 1) },
        Case(#""blue""#, #"must be one of "red", "green""#) { _ = try $0.oneOf(Colour.self) },
        Case(#""Red""#, #"must be one of "red", "green""#) { _ = try $0.oneOf(Colour.self) },
        Case("1", #"must be one of "red", "green""#) { _ = try $0.oneOf(Colour.self) },
        Case(#""2026""#, "must be a time such as 2026-01-31T12:00:00Z (RFC 3339)") { _ = try $0.timestamp() },
        Case("1", "must be a string, and is a number") { _ = try $0.timestamp() },
        Case("[]", "must be an object, and is an array") { _ = try $0.object { _ in 1 } },
        Case(#""""#, "must not be empty") { _ = try $0.parse(HostPattern.init) },
        Case("1", "must be a string, and is a number") { _ = try $0.parse(HostPattern.init) },
    ]

    @Test(arguments: refused)
    func `a JSON field of another kind is refused at its own place`(refused: Case) throws {
        let field = try field(refused.text)
        #expect(throws: JSONDefect(pointer: JSONPointer(["x"]), message: refused.message)) { try refused.read(field) }
    }

    @Test func `an element's defect names the element`() throws {
        let found = try defect { for element in try field("[true,1]").elements(atMost: 9) { _ = try element.bool() } }
        #expect(found?.pointer.text == "/x/1")
    }

    private func read(_ text: String) throws -> [String?] {
        try field(text).object { (members) throws(JSONDefect) in
            [try members.required("a").string(), try members.optional("b")?.string()]
        }
    }

    @Test func `an object's members are read by name, and null counts as absent`() throws {
        #expect(try self.read(#"{"a":"1"}"#) == ["1", nil])
        #expect(try self.read(#"{"b":"2","a":"1"}"#) == ["1", "2"])
        #expect(try self.read(#"{"a":"1","b":null}"#) == ["1", nil])
    }

    @Test(arguments: [
        ("{}", "/x/a", "is required"), (#"{"a":null}"#, "/x/a", "is required"), (#"{"b":"2"}"#, "/x/a", "is required"),
        (#"{"a":1}"#, "/x/a", "must be a string, and is a number"),
        (#"{"a":"1","b":2}"#, "/x/b", "must be a string, and is a number"),
        (#"{"a":"1","c":2}"#, "/x/c", "is not a member here; known are a, b"),
        (#"{"a":"1","c":null}"#, "/x/c", "is not a member here; known are a, b"),
        (#"{"a":"1","z":0,"d/e":2}"#, "/x/d~1e", "is not a member here; known are a, b"),
        (#"{"a":"1","A":2}"#, "/x/A", "is not a member here; known are a, b"),
    ])
    func `a missing, wrong or unknown member is refused by name`(text: String, pointer: String, message: String) throws
    {
        let found = try defect { try self.read(text) }
        #expect(found?.pointer.text == pointer)
        #expect(found?.message == message)
    }

    @Test func `a member can be asked about without being read`() throws {
        let seen = try field(#"{"a":null}"#).object { (members) throws(JSONDefect) in
            let seen = (members.mentions("a"), members.mentions("b"))
            _ = members.optional("a")
            return [seen.0, seen.1]
        }
        #expect(seen == [true, false])
    }

    @Test func `a defect describes itself with its place`() {
        #expect(
            JSONDefect(pointer: JSONPointer(["a", "0"]), message: "is required").description == "/a/0: is required")
        #expect(JSONDefect(pointer: JSONPointer(), message: "is required").description == "the body: is required")
    }

    /// RFC 6901 section 5.
    @Test(
        arguments: [
            ([], ""), (["foo"], "/foo"), (["foo", "0"], "/foo/0"), ([""], "/"), (["a/b"], "/a~1b"), (["c%d"], "/c%d"),
            (["e^f"], "/e^f"), (["k\"l"], "/k\"l"), ([" "], "/ "), (["m~n"], "/m~0n"), (["~1"], "/~01"),
            (["/~"], "/~1~0"),
        ] as [([String], String)])
    func `a pointer's text escapes tilde and slash`(path: [String], text: String) {
        #expect(JSONPointer(path).text == text)
        #expect(JSONPointer(Array(path.dropLast())).appending(path.last ?? "").text == (path.isEmpty ? "/" : text))
    }

    @Test func `a JSON value gives its parts only as what they are`() {
        let value: JSON = ["a": [1, "b"], "c": true]
        #expect(value["a"]?.arrayValue?.first?.integerValue == 1)
        #expect(value["a"]?.arrayValue?.last?.stringValue == "b")
        #expect(value.objectValue?.count == 2)
        #expect(value["d"] == nil && JSON.null["a"] == nil && value.arrayValue == nil && value.stringValue == nil)
        #expect(
            JSON.string("1").integerValue == nil && JSON.number(1.5).integerValue == nil && JSON.null.objectValue == nil
        )
        #expect(JSON.members(["a": 1, "b": nil]) == ["a": 1])
    }
}

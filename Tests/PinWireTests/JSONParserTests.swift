import Testing

@testable import PinWire

@Suite struct `The JSON parser` {
    struct Refused: CustomTestStringConvertible, Sendable {
        var text: String
        var bytes: [UInt8]
        var message: String
        var offset: Int
        var pointer: String

        init(_ text: String, _ message: String, at offset: Int, _ pointer: String = "") {
            self.init(Array(text.utf8), text, message, at: offset, pointer)
        }

        init(_ bytes: [UInt8], _ text: String, _ message: String, at offset: Int, _ pointer: String = "") {
            self.text = text
            self.bytes = bytes
            self.message = message
            self.offset = offset
            self.pointer = pointer
        }

        var testDescription: String { self.text }
    }

    /// The pointer that a text spells; one that the parser never gives for a text that spells none.
    private static func pointer(_ text: String) -> JSONPointer {
        JSONPointer(text: text) ?? JSONPointer(["not a pointer: \(text)"])
    }

    static let syntax: [Refused] = [
        Refused("", "the text is empty", at: 0),
        Refused(" \n\t\r", "the text is empty", at: 0),
        Refused("\u{FEFF}{}", "the text begins with a byte order mark", at: 0),
        Refused("{} x", "there is more after the end of the value", at: 3),
        Refused("[]]", "there is more after the end of the value", at: 2),
        Refused("1 2", "there is more after the end of the value", at: 2),
        Refused("{}\u{0}", "there is more after the end of the value", at: 2),
        Refused("{} // a", "there is more after the end of the value", at: 3),
        Refused([0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00], "UTF-16", "there is no JSON value here", at: 0),
        Refused("x", "there is no JSON value here", at: 0),
        Refused("tru", "there is no JSON value here", at: 0),
        Refused("True", "there is no JSON value here", at: 0),
        Refused("[nul]", "there is no JSON value here", at: 1, "/0"),
        Refused("NaN", "there is no JSON value here", at: 0),
        Refused("Infinity", "there is no JSON value here", at: 0),
        Refused("'a'", "there is no JSON value here", at: 0),
        Refused("[1,]", "there is no JSON value here", at: 3, "/1"),
        Refused("[,1]", "there is no JSON value here", at: 1, "/0"),
        Refused("// a\n1", "there is no JSON value here", at: 0),
        Refused("\u{A0}1", "there is no JSON value here", at: 0),
        Refused("[", "the text ends where a value should be", at: 1, "/0"),
        Refused(#"{"a":"#, "the text ends where a value should be", at: 5, "/a"),
        Refused("[1 2]", "a comma or a closing bracket should be here", at: 3),
        Refused("[1", "a comma or a closing bracket should be here", at: 2),
        Refused("[1}", "a comma or a closing bracket should be here", at: 2),
        Refused("{", "a member name should be here", at: 1),
        Refused("{a:1}", "a member name should be here", at: 1),
        Refused("{1:1}", "a member name should be here", at: 1),
        Refused("{'a':1}", "a member name should be here", at: 1),
        Refused(#"{"a":1,}"#, "a member name should be here", at: 7),
        Refused(#"{"a" 1}"#, "a colon should be here", at: 5, "/a"),
        Refused(#"{"a"}"#, "a colon should be here", at: 4, "/a"),
        Refused(#"{"a":1 "b":2}"#, "a comma or a closing brace should be here", at: 7),
        Refused(#"{"a":{"b":1]}"#, "a comma or a closing brace should be here", at: 11, "/a"),
    ]

    static let duplicates: [Refused] = [
        Refused(#"{"a":1,"a":2}"#, "the member name stands here twice", at: 7, "/a"),
        Refused(#"{"a":1,"\u0061":2}"#, "the member name stands here twice", at: 7, "/a"),
        Refused(#"{"":null,"":null}"#, "the member name stands here twice", at: 9, "/"),
        Refused(#"[{"x":{"a/b":1,"~":0,"a\/b":1}}]"#, "the member name stands here twice", at: 21, "/0/x/a~1b"),
        Refused(#"{"\ud83d\ude00":1,"😀":2}"#, "the member name stands here twice", at: 18, "/😀"),
        // One name to people and to Swift, though two byte strings: refused rather than told apart.
        Refused(#"{"\u00e9":1,"e\u0301":2}"#, "the member name stands here twice", at: 12, "/e\u{301}"),
    ]

    static let strings: [Refused] = [
        Refused(#"["\ud800"]"#, "a surrogate stands alone", at: 2, "/0"),
        Refused(#"["\udc00"]"#, "a surrogate stands alone", at: 2, "/0"),
        Refused(#"["a\udbff\ud800"]"#, "a surrogate stands alone", at: 3, "/0"),
        Refused(#"["\ud83dx"]"#, "a surrogate stands alone", at: 2, "/0"),
        Refused(#"["\ud83d\n"]"#, "a surrogate stands alone", at: 2, "/0"),
        Refused(#"["\ude00\ud83d"]"#, "a surrogate stands alone", at: 2, "/0"),
        Refused(#"{"\ud800":1}"#, "a surrogate stands alone", at: 2),
        Refused(#""\x""#, "there is no such escape", at: 1),
        Refused(#""\U0041""#, "there is no such escape", at: 1),
        Refused(#""\u00g0""#, "an escape needs four hexadecimal digits", at: 5),
        Refused(#""\u00""#, "an escape needs four hexadecimal digits", at: 3),
        Refused(#""\u004"#, "an escape needs four hexadecimal digits", at: 3),
        Refused(#""\"#, "the text ends in an escape", at: 2),
        Refused(#""\""#, "the string does not end", at: 0),
        Refused(#"{"a":"b"#, "the string does not end", at: 5, "/a"),
        Refused("\"a\nb\"", "a control character in a string must be escaped", at: 2),
        Refused("\"\u{0}\"", "a control character in a string must be escaped", at: 1),
        Refused("\"\u{1F}\"", "a control character in a string must be escaped", at: 1),
        Refused(#""\u００４１""#, "an escape needs four hexadecimal digits", at: 3),
    ]

    static let encodings: [Refused] = [
        ("a lone continuation byte", [0x80]), ("a cut sequence", [0xC3]), ("an overlong slash", [0xC0, 0xAF]),
        ("an overlong NUL", [0xE0, 0x80, 0x80]), ("an encoded surrogate", [0xED, 0xA0, 0x80]),
        ("above U+10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("no UTF-8 byte at all", [0xFF]),
        ("an encoded surrogate pair", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), ("Latin-1", [0x63, 0x61, 0x66, 0xE9]),
    ].map { name, bytes in
        Refused([0x5B, 0x22] + bytes + [0x22, 0x5D], name, "the string is not valid UTF-8", at: 1, "/0")
    }

    static let numbers: [Refused] = [
        Refused("01", "a number has no leading zero", at: 1),
        Refused("-01", "a number has no leading zero", at: 2),
        Refused("00", "a number has no leading zero", at: 1),
        Refused("-", "a digit should be here", at: 1),
        Refused("+1", "there is no JSON value here", at: 0),
        Refused(".5", "there is no JSON value here", at: 0),
        Refused("1.", "a digit should be here", at: 2),
        Refused("[1.e5]", "a digit should be here", at: 3, "/0"),
        Refused("1e", "a digit should be here", at: 2),
        Refused("1e+", "a digit should be here", at: 3),
        Refused("-Infinity", "a digit should be here", at: 1),
        Refused("0x10", "there is more after the end of the value", at: 1),
        Refused("1_000", "there is more after the end of the value", at: 1),
        Refused("１", "there is no JSON value here", at: 0),
        Refused("[0,1e999]", "the number is too large", at: 3, "/1"),
        Refused("-1e309", "the number is too large", at: 0),
        Refused("1.7976931348623159e308", "the number is too large", at: 0),
        Refused(String(repeating: "9", count: 400), "the number is too large", at: 0),
        Refused(String(repeating: "9", count: 401), "the number is absurdly long", at: 0),
    ]

    @Test(arguments: syntax + duplicates + strings + encodings + numbers)
    func `malformed JSON is refused with the place and the reason`(refused: Refused) {
        #expect(
            throws: JSONSyntaxError(
                message: refused.message, offset: refused.offset, pointer: Self.pointer(refused.pointer))
        ) { try JSON(parsing: refused.bytes) }
    }

    @Test(
        arguments: [
            ("0", .integer(0)), ("-0", .integer(0)), ("-0.0", .integer(0)), ("0e5", .integer(0)),
            ("-0e-5", .integer(0)),
            ("1", .integer(1)), ("1.0", .integer(1)), ("1e0", .integer(1)), ("10E-1", .integer(1)),
            ("0.1e1", .integer(1)),
            ("1e2", .integer(100)), ("1E+2", .integer(100)), ("-7", .integer(-7)), ("1.5", .number(1.5)),
            ("9007199254740991", .integer(9_007_199_254_740_991)),
            ("-9007199254740991", .integer(-9_007_199_254_740_991)),
            ("9007199254740991.0", .integer(9_007_199_254_740_991)),
            ("9007199254740992", .number(9_007_199_254_740_992)),
            ("9007199254740993", .number(9_007_199_254_740_992)),
            ("-9007199254740992", .number(-9_007_199_254_740_992)),
            ("9223372036854775807", .number(9_223_372_036_854_775_808)), ("1e400e", nil),
            ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)), ("5e-324", .number(.leastNonzeroMagnitude)),
            ("1e-400", .integer(0)), ("0.1", .number(0.1)), ("1e21", .number(1e21)),
        ] as [(String, JSON?)])
    func `a number has one value however it is spelled`(text: String, value: JSON?) {
        #expect((try? JSON(text: text)) == value)
    }

    @Test(arguments: [
        (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0000\u001f\u007f""#, "\u{0}\u{1F}\u{7F}"),
        (#""\u00E9\u20aC""#, "é€"), (#""\ud83d\ude00""#, "😀"), (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        (#""\ud800\udc00""#, "\u{10000}"), (#""\uFFFF\uFFFD""#, "\u{FFFF}\u{FFFD}"),
        ("\"\u{7F}\u{2028}é😀\"", "\u{7F}\u{2028}é😀"),
    ])
    func `a string holds what its escapes mean`(text: String, value: String) throws {
        let read = try #require(try JSON(text: text).stringValue)
        #expect(Array(read.unicodeScalars) == Array(value.unicodeScalars))
    }

    @Test func `white space may stand between all tokens`() throws {
        let text = " \t\r\n{ \n\"a\" : [ 1 , true , null ] , \"b\" : { } , \"c\":[ ] } \r\n"
        #expect(try JSON(text: text) == ["a": [1, true, .null], "b": .object([:]), "c": .array([])])
    }

    @Test func `JSON names that differ only beyond ASCII case are different`() throws {
        #expect(try JSON(text: #"{"a":1,"A":2,"á":3}"#) == ["a": 1, "A": 2, "á": 3])
    }

    @Test func `JSON is read to 32 levels and refused at the 33rd, where it begins`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try JSON(text: nested(32)).arrayValue?.count == 1)
        let zeros = String(repeating: "/0", count: 32)
        #expect(
            throws: JSONSyntaxError(
                message: "the text is nested deeper than 32 levels", offset: 32, pointer: Self.pointer(zeros))
        ) { try JSON(text: nested(33)) }
        let objects = String(repeating: #"{"a":"#, count: 33) + "1" + String(repeating: "}", count: 33)
        let names = String(repeating: "/a", count: 32)
        #expect(
            throws: JSONSyntaxError(
                message: "the text is nested deeper than 32 levels", offset: 160, pointer: Self.pointer(names))
        ) { try JSON(text: objects) }
        #expect(throws: JSONSyntaxError.self) { try JSON(text: nested(3), limits: JSONLimits(depth: 2)) }
    }

    @Test(arguments: ["[", #"{"a":"#, "[[],"])
    func `a nesting of 200,000 levels is refused without running out of stack`(opening: String) {
        #expect(throws: JSONSyntaxError.self) { try JSON(text: String(repeating: opening, count: 200_000)) }
    }

    @Test func `JSON of 10,000 values is read, and the next value is refused at its place`() throws {
        func list(_ count: Int) -> String { "[" + Array(repeating: "0", count: count).joined(separator: ",") + "]" }
        #expect(try JSON(text: list(9999)).arrayValue?.count == 9999)
        #expect(
            throws: JSONSyntaxError(
                message: "the text has more than 10000 values", offset: 19_999, pointer: JSONPointer(["9999"]))
        ) { try JSON(text: list(10_000)) }
        #expect(try JSON(text: list(10_000), limits: JSONLimits(nodes: 10_001)).arrayValue?.count == 10_000)
    }

    @Test func `every way to cut or to change a text gives a value or an error, and no crash`() {
        let text = Array(#"{"a":[1,-2.5e+3,"\u00e9\ud83d\ude00\n",true,null,{"b":"é"}]}"#.utf8)
        for length in 0..<text.count { #expect(throws: JSONSyntaxError.self) { try JSON(parsing: text[..<length]) } }
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[place] = byte
                guard let value = try? JSON(parsing: changed) else { continue }
                #expect((try? JSON(parsing: value.canonicalBytes)) == value)
            }
        }
    }

    @Test func `a JSON error says what is wrong, where and in which value`() {
        #expect(throws: JSONSyntaxError.self) { try JSON(text: "[01]") }
        let error = JSONSyntaxError(message: "a number has no leading zero", offset: 2, pointer: JSONPointer(["0"]))
        #expect(error.description == "a number has no leading zero, at byte 2 (/0)")
    }
}

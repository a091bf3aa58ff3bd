import Testing

@testable import PinWire

@Suite struct `Text from outside` {
    private static func marks(_ count: Int) -> String { "x" + String(repeating: "\u{301}", count: count) }

    @Test(arguments: [
        (Self.marks(30), true), (Self.marks(31), false), (Self.marks(30) + Self.marks(30), true),
        (String(repeating: "\u{F73}", count: 31), false), (String(repeating: "\u{1F1E6}", count: 128), true),
        (String(repeating: "\u{1F1E6}", count: 129), false), ("é क्षि 日本 👨\u{200D}👩\u{200D}👧", true), ("", true),
    ])
    func `text from outside has at most thirty marks in a row`(text: String, isAccepted: Bool) {
        #expect(StreamSafeText.accepts(text.utf8) == isAccepted)
        #expect((String(streamSafe: Array(text.utf8)) == text) == isAccepted)
    }

    @Test func `stored text from outside may keep more marks`() {
        let text = Self.marks(31)
        let bytes = Array("\"\(text)\"".utf8)
        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: bytes) }
        #expect((try? JSON(parsing: bytes, limits: .stored(depth: 1, nodes: 1))) == .string(text))
    }

    @Test func `text from outside is refused with its place where JSON has more marks or a long name`() throws {
        let marks = try #require(throws: JSONSyntaxError.self) { try JSON(text: #"{"a":"\#(Self.marks(31))"}"#) }
        #expect(marks.message == "the string has more than 30 combining marks in a row" && marks.offset == 5)
        let escaped = String(repeating: #"\u0301"#, count: 31)
        #expect(throws: JSONSyntaxError.self) { try JSON(text: "\"\(escaped)\"") }
        let name = String(repeating: "n", count: 1024)
        #expect((try? JSON(text: #"{"\#(name)":1}"#)) != nil)
        let long = try #require(throws: JSONSyntaxError.self) { try JSON(text: #"{"\#(name)n":1}"#) }
        #expect(long.message == "a member name has more than 1024 bytes" && long.offset == 1)
    }

    @Test func `text from outside is ASCII, or shown as such`() {
        #expect(String(ascii: Array("a~".utf8)) == "a~" && String(ascii: Array("é".utf8)) == nil)
        #expect(String(shown: Array("a\u{0}é".utf8)) == "a???")
    }
}

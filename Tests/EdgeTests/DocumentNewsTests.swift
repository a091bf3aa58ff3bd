import Edge
import PinWire
import SeededRandom
import Testing

@Suite("News of an upstream's documents") struct DocumentNewsTests {
    private static func event(_ app: String, _ tag: String, document: String? = nil) -> String {
        var members: [String: JSON] = ["app": .string(app), "etag": .string(tag), "version": 1]
        members["document"] = document.map { .string($0) }
        return "event: document\ndata: \(JSON.object(members).canonicalText)\n\n"
    }

    private static func read(_ text: String, cut: Int) throws -> [DocumentNews] {
        var reader = DocumentNewsReader()
        var news: [DocumentNews] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            news += try reader.read(rest.prefix(cut))
            rest = rest.dropFirst(cut)
        }
        return news
    }

    @Test(arguments: [1, 2, 3, 7, 64, 10_000])
    func `news are read however the stream is cut`(cut: Int) throws {
        let text =
            ": pinledger\nretry: 4711\n\n" + Self.event("com.example.a", "\"1\"", document: "x.y.z")
            + ": alive\n\n" + Self.event("com.example.b", "\"2\"").replacing("\n", with: "\r\n")
        let news = try Self.read(text, cut: cut)
        #expect(news.map(\.app.text) == ["com.example.a", "com.example.b"])
        #expect(news.map(\.tag) == ["\"1\"", "\"2\""])
        #expect(news.map(\.document) == [Array("x.y.z".utf8), nil])
    }

    @Test(arguments: [
        "event: other\ndata: {\"app\":\"com.example.a\",\"etag\":\"x\"}\n\n", "event: document\ndata: {}\n\n",
        "data: {\"app\":\"com.example.a\",\"etag\":\"x\"}\n\n", "event: document\n\n", "event: document\ndata: [\n\n",
        "event: document\ndata: {\"app\":\"../x\",\"etag\":\"x\"}\n\n", "\n\n\n",
    ])
    func `events of another kind or form are skipped`(text: String) throws {
        #expect(try Self.read(text + Self.event("com.example.b", "y"), cut: 5).map(\.app.text) == ["com.example.b"])
    }

    @Test func `a line without an end is refused when it is too long`() throws {
        var reader = DocumentNewsReader()
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 64 * 1024)
        #expect(try reader.read(piece).isEmpty)
        #expect(throws: DocumentNewsReader.LineTooLong.self) { try reader.read(piece) }
    }

    @Test func `damaged streams are read or refused, and nothing traps`() {
        var random = SeededGenerator(seed: 19)
        let sound = Array(
            (0..<4).map { Self.event("com.example.a\($0)", "\"\($0)\"", document: "a.b.c") }.joined().utf8)
        for _ in 0..<TestDepth.rounds(2_000) {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
                }
            }
            var reader = DocumentNewsReader()
            _ = try? reader.read(bytes)
        }
    }
}

@Suite("The list of an upstream's documents") struct DocumentListTests {
    @Test func `an upstream's list has apps, tags and versions`() throws {
        let text = "{\"documents\":[{\"app\":\"com.example.a\",\"etag\":\"\\\"1\\\"\",\"version\":7}]}"
        let list = try DocumentList(Array(text.utf8), tag: "\"t\"")
        #expect(list.entries.map(\.app.text) == ["com.example.a"])
        #expect(list.entries.map(\.tag) == ["\"1\""] && list.entries.map(\.version) == [7])
        #expect(list.tag == "\"t\"")
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"documents\":{}}", "{\"documents\":[1]}",
        "{\"documents\":[{\"app\":\"a b\",\"etag\":\"x\",\"version\":1}]}",
        "{\"documents\":[{\"app\":\"com.example.a\",\"etag\":\"x\"}]}",
        "{\"documents\":[{\"app\":\"com.example.a\",\"etag\":\"x\",\"version\":1.5}]}",
    ])
    func `a list of another form is refused as a whole`(text: String) {
        #expect(throws: UpstreamFailure.self) { try DocumentList(Array(text.utf8), tag: "") }
    }
}

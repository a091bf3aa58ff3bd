import NIOCore
import NIOEmbedded
import NIOHTTP1
import SeededRandom
import Testing

@testable import PinledgerServer

/// What is answered without the decoder must be what the decoder would have read.
@Suite(.timeLimit(.minutes(60)))
struct HeadReaderTests {
    /// A request as one of the two readers sees it.
    private struct Seen: Hashable {
        var target: String
        var acceptEncoding: String?
        var ifNoneMatch: String?
        var clientReport: String?
        var lastEventID: String?
        /// Bytes behind it.
        var rest: Int
    }

    private static func read(_ bytes: [UInt8]) -> Seen? {
        bytes.withUnsafeBytes { bytes in
            HeadReader.read(bytes).map { request in
                func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
                return Seen(
                    target: text(request.target), acceptEncoding: request.acceptEncoding.map(text),
                    ifNoneMatch: request.ifNoneMatch.map(text), clientReport: request.clientReport.map(text),
                    lastEventID: request.lastEventID.map(text),
                    rest: bytes.count - request.length
                )
            }
        }
    }

    /// What the decoder makes of bytes that are one GET and nothing else; nil where it makes something else of them.
    private static func decode(_ bytes: [UInt8]) throws -> Seen? {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        do { try channel.writeInbound(ByteBuffer(bytes: bytes)) } catch { return nil }
        guard case .head(let head)? = try channel.readInbound(as: HTTPServerRequestPart.self),
            case .end(nil)? = try channel.readInbound(as: HTTPServerRequestPart.self),
            try channel.readInbound(as: HTTPServerRequestPart.self) == nil,
            head.method == .GET, head.version == .http1_1, head.isKeepAlive, head.headers["Host"].count == 1
        else { return nil }
        return Seen(
            target: head.uri, acceptEncoding: Self.trimmed(head.headers.first(name: "Accept-Encoding")),
            ifNoneMatch: Self.trimmed(head.headers.first(name: "If-None-Match")),
            clientReport: Self.trimmed(head.headers.first(name: "Pinledger-Client")),
            lastEventID: Self.trimmed(head.headers.first(name: "Last-Event-ID")), rest: 0
        )
    }

    /// A value without the blanks around it, which are none of its own.
    private static func trimmed(_ value: String?) -> String? {
        value.map { value in
            let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            return String(value.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
        }
    }

    private static func head(_ fields: String..., line: String = "GET /a/b-c_d.e HTTP/1.1", host: String = "Host: a")
        -> [UInt8]
    {
        Array(([line, host] + fields + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private static let examples = [
        head(), head("Accept-Encoding: gzip, br", "User-Agent: x (y; z) \"w\"", "Accept: */*"),
        head("if-none-match:\"abc\"  ", "Connection: Keep-Alive"), head("If-None-Match:", host: "hOST:  [::1]:8080 "),
        head(line: "GET /a?b=c&d=1.0~-_:e HTTP/1.1"), head(line: "GET /a? HTTP/1.1"),
        head("X-Forwarded-For: 10.0.0.1", "Cache-Control: no-cache", "Cookie: a=b; c=d", "Traceparent: 00-0-0-01"),
        head("Last-Event-ID:  42-1769860800", "Accept: text/event-stream", "Cache-Control: no-cache"),
        head("pinledger-client:  version=3, platform=ios ", "If-None-Match: \"3.x\""),
    ]

    @Test func `plain requests are recognised as the decoder reads them`() throws {
        for example in Self.examples {
            let seen = try #require(Self.read(example), "\(String(decoding: example, as: UTF8.self))")
            #expect(try Self.decode(example) == seen)
        }
    }

    @Test func `the bytes after a request stay where they are`() throws {
        let two = Self.head("Accept-Encoding: br") + Self.head("If-None-Match: \"x\"")
        let first = try #require(Self.read(two))
        #expect(first.rest == Self.head("If-None-Match: \"x\"").count)
        #expect(first.ifNoneMatch == nil)
        #expect(Self.read(Array(two.suffix(first.rest)))?.ifNoneMatch == "\"x\"")
    }

    @Test func `an incomplete head is not recognised`() {
        for example in Self.examples {
            for count in example.indices { #expect(Self.read(Array(example.prefix(count))) == nil) }
        }
    }

    @Test func `everything else is left to the decoder`() {
        for bytes in Self.others { #expect(Self.read(bytes) == nil, "\(String(decoding: bytes, as: UTF8.self))") }
    }

    private static let others = [
        head("Content-Length: 0"), head("Content-Length: 5"), head("Transfer-Encoding: chunked"), head("TE: trailers"),
        head("transfer-encoding:chunked"), head("Expect: 100-continue"), head("Upgrade: h2c"), head("Trailer: x"),
        head("Connection: close"), head("Connection: keep-alive, close"), head("Proxy-Connection: close"),
        head("HTTP2-Settings: x"), head("Content-Type: a/b"), head("Keep-Alive: timeout=5"), head("Host: b"),
        head("Accept-Encoding: br", "Accept-Encoding: gzip"), head("If-None-Match: a", "If-None-Match: b"),
        head("Pinledger-Client: version=1", "Pinledger-Client: platform=ios"), head("Pinledger-Client: ü"),
        head("X : y"), head(" X: y"), head("X: y", " z"), head("X: \u{1}"), head("X: ü"), head("X: a\tb"), head("X"),
        head(": x"), head("X: a\rb"), head("X: a\nb"), head(host: "Host: "), head(host: "Host: a b"),
        head(host: "Host: a/b"), head(host: "X: y"), head(host: "Host: a@b"), head(line: "GET /a?b=%41 HTTP/1.1"),
        head(line: "GET /a?b+c HTTP/1.1"), head(line: "GET /a?b?c HTTP/1.1"),
        head(line: "GET /%41 HTTP/1.1"), head(line: "GET http://a/ HTTP/1.1"), head(line: "GET * HTTP/1.1"),
        head(line: "GET /a HTTP/1.0"), head(line: "GET /a HTTP/2.0"), head(line: "GET  /a HTTP/1.1"),
        head(line: "GET /a  HTTP/1.1"), head(line: "get /a HTTP/1.1"), head(line: "HEAD /a HTTP/1.1"),
        head(line: "POST /a HTTP/1.1"), head(line: "GET /a HTTP/1.1 "), head(line: "GET /a#b HTTP/1.1"),
        head(line: "GET /ä HTTP/1.1"), head(line: "\r\nGET /a HTTP/1.1"),
        head("X: " + String(repeating: "y", count: 5000)),
    ]

    /// Heads with a few bytes changed, taken out, doubled or put in: whatever is still recognised, the decoder reads the
    /// same way.
    @Test func `no request is recognised that the decoder reads in another way`() throws {
        var random = SeededGenerator(seed: TestSeed.chosen(or: 9112))
        let odd = Array(
            "\r\n\t :,;\0/?%\u{7F}\u{80}\u{FF}aZ0-_.[]\"".unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        let pieces = [
            "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "\r\n", "Host: b\r\n", "X: y\r\n", "\n",
        ]
        var recognised = 0
        let rounds = TestDepth.rounds(20_000)
        for round in 0..<rounds {
            var bytes = Self.examples[round % Self.examples.count]
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...4, using: &random) {
                case 0: bytes[place] = odd.randomElement(using: &random) ?? 0
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[place], at: place)
                case 3: bytes.insert(odd.randomElement(using: &random) ?? 0, at: place)
                default: bytes.insert(contentsOf: Array((pieces.randomElement(using: &random) ?? "").utf8), at: place)
                }
            }
            guard let seen = Self.read(bytes) else { continue }
            recognised += 1
            let whole = Array(bytes.prefix(bytes.count - seen.rest))
            var expected = seen
            expected.rest = 0
            #expect(try Self.decode(whole) == expected, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(recognised > rounds / 40)
    }
}

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHPACK
import PinWire
import Publishing
import SeededRandom
import Testing

@testable import PinledgerServer

/// What is answered from frames, what goes on to NIOHTTP2, and that the two keep to one connection's rules.
@Suite(.timeLimit(.minutes(60)))
struct PreparedStreamsTests {
    private static let target = "/client/v1/jwks.json"
    private static let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    private struct Frame: Hashable {
        var head: FrameHead
        var payload: [UInt8]
    }

    /// A connection: what a client sends goes in, what NIOHTTP2 would see and what the client sees come out.
    private struct Connection {
        let channel = EmbeddedChannel()
        let served = ServedCount()

        init(window: Int = 1 << 20, settings: [(UInt16, UInt32)] = []) throws {
            let push = DocumentPush(table: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) }), limit: 0)
            let share = EventLoopState(
                clock: { .init(seconds: 1_800_000_000) }, served: self.served, intake: nil,
                streams: LoopStreams(push: push, wakeup: LoopWakeup()))
            let streams = PreparedStreams(answers: ExampleServer.routes.answers, share: share, limits: .init())
            try self.channel.pipeline.syncOperations.addHandler(streams)
            try self.receive(PreparedStreamsTests.preface)
            var payload = ByteBuffer()
            for (name, value) in settings { payload.writeMultipleIntegers(name, value) }
            try self.receive(PreparedStreamsTests.frame(FrameHead.Kind.settings, 0, 0, payload))
            if window > 0 {
                try self.receive(
                    PreparedStreamsTests.frame(FrameHead.Kind.windowUpdate, 0, 0, ByteBuffer(integer: UInt32(window))))
            }
            #expect(try self.bytesPassed().starts(with: PreparedStreamsTests.preface.readableBytesView))
        }

        func receive(_ bytes: ByteBuffer) throws { try self.channel.writeInbound(bytes) }

        func send(_ bytes: ByteBuffer) throws { try self.channel.writeOutbound(IOData.byteBuffer(bytes)) }

        func bytesPassed() throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let next = try self.channel.readInbound(as: ByteBuffer.self) { bytes += next.readableBytesView }
            return bytes
        }

        func passed() throws -> [Frame] { PreparedStreamsTests.frames(try self.bytesPassed()) }

        func sent() throws -> [Frame] {
            var bytes: [UInt8] = []
            while case .byteBuffer(let next)? = try self.channel.readOutbound(as: IOData.self) {
                bytes += next.readableBytesView
            }
            return PreparedStreamsTests.frames(bytes)
        }
    }

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: ByteBuffer) -> ByteBuffer {
        var frame = ByteBuffer()
        FrameHead(length: payload.readableBytes, kind: kind, flags: flags, stream: stream).write(to: &frame)
        frame.writeImmutableBuffer(payload)
        return frame
    }

    private static func frames(_ bytes: [UInt8]) -> [Frame] {
        var buffer = ByteBuffer(bytes: bytes)
        var frames: [Frame] = []
        while let head = FrameHead(buffer, at: buffer.readerIndex) {
            buffer.moveReaderIndex(forwardBy: FrameHead.size)
            frames.append(Frame(head: head, payload: buffer.readBytes(length: head.length) ?? []))
        }
        #expect(buffer.readableBytes == 0)
        return frames
    }

    private static func fields(
        _ more: (String, String)..., method: String = "GET", path: String = Self.target
    ) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)] + more
    }

    private static func request(
        _ stream: UInt32, _ fields: [(String, String)] = Self.fields(), isEnd: Bool = true,
        _ encoder: inout HPACKEncoder
    ) throws -> ByteBuffer {
        var block = ByteBuffer()
        try encoder.encode(headers: HPACKHeaders(fields), to: &block)
        return Self.frame(
            FrameHead.Kind.headers, FrameHead.Flag.endHeaders | (isEnd ? FrameHead.Flag.endStream : 0), stream, block)
    }

    private static func request(_ stream: UInt32, _ fields: [(String, String)] = Self.fields(), isEnd: Bool = true)
        throws -> ByteBuffer
    {
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        return try Self.request(stream, fields, isEnd: isEnd, &encoder)
    }

    private static func decode(_ frame: Frame) throws -> [String] {
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var block = ByteBuffer(bytes: frame.payload)
        return try decoder.decodeHeaders(from: &block).map { "\($0.name): \($0.value)" }
    }

    // MARK: Answers

    @Test func `an answer from frames is the prepared one, field by field`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1))
        #expect(try connection.passed().isEmpty)
        let sent = try connection.sent()
        #expect(sent.map(\.head.kind) == [FrameHead.Kind.headers, FrameHead.Kind.data])
        #expect(sent.map(\.head.flags) == [FrameHead.Flag.endHeaders, FrameHead.Flag.endStream])
        #expect(sent.allSatisfy { $0.head.stream == 1 })
        let answer = try ExampleServer.routes.keySet()
        let variant = try #require(answer.ready(ifNoneMatch: nil, CodingPreference(nil)))
        var expected = [":status: 200"]
        expected += variant.response.headerFields.map { "\($0.name.canonicalName): \($0.value)" }
        expected.append("date: Fri, 15 Jan 2027 08:00:00 GMT")
        #expect(try Self.decode(sent[0]) == expected)
        #expect(try sent[1].payload == Array(#require(variant.body).readableBytesView))
        #expect(connection.served.ok == 1)
    }

    @Test func `requests with HEAD and fulfilled conditions are answered without a body`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1, Self.fields(method: "HEAD")))
        let tag = try ExampleServer.routes.keySet().body.tag(in: .identity)
        try connection.receive(Self.request(3, Self.fields(("if-none-match", "\"a\""), ("if-none-match", tag))))
        #expect(try connection.passed().isEmpty)
        let sent = try connection.sent()
        #expect(sent.map(\.head.stream) == [1, 3])
        #expect(sent.allSatisfy { $0.head.flags == FrameHead.Flag.endHeaders | FrameHead.Flag.endStream })
        #expect(try sent.map { try Self.decode($0)[0] } == [":status: 200", ":status: 304"])
        #expect(connection.served.ok == 1 && connection.served.unmodified == 1)
    }

    @Test func `frames may be split anywhere`() throws {
        let connection = try Connection()
        var bytes = try Self.request(1)
        bytes.writeImmutableBuffer(try Self.request(3, Self.fields(path: "/other")))
        for byte in bytes.readableBytesView { try connection.receive(ByteBuffer(bytes: [byte])) }
        #expect(try connection.sent().map(\.head.stream) == [1, 1])
        #expect(try connection.passed().map(\.head.stream) == [3])
    }

    // MARK: Passing on

    @Test(arguments: [
        [("content-length", "0")], [("te", "trailers")], [("expect", "100-continue")], [("host", "localhost")],
        [("connection", "close")], [("transfer-encoding", "chunked")], [("X-Upper", "a")], [("a", "\u{1}")],
        [("accept-encoding", " gzip")], [(":path", "/again")], [(":path", "")], [(":protocol", "websocket")],
    ])
    func `unusual frames go on unchanged`(more: [(String, String)]) throws {
        let connection = try Connection()
        let fields = Self.fields() + more
        try connection.receive(Self.request(1, fields))
        #expect(try connection.sent().isEmpty)
        let passed = try connection.passed()
        #expect(passed.map(\.head.flags) == [FrameHead.Flag.endHeaders | FrameHead.Flag.endStream])
        #expect(try Self.decode(passed[0]) == fields.map { "\($0.0): \($0.1)" })
    }

    @Test func `requests with a body, or for something else, go on`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1, isEnd: false))
        try connection.receive(Self.request(3, Self.fields(path: Self.target + "?a")))
        try connection.receive(Self.request(5, Self.fields(method: "POST")))
        try connection.receive(Self.request(7, Self.fields(path: "/client/v1/apps/none/document")))
        #expect(try connection.sent().isEmpty)
        #expect(try connection.passed().map(\.head.stream) == [1, 3, 5, 7])
    }

    @Test func `references reach across what is answered and what goes on`() throws {
        let connection = try Connection()
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        let long = String(repeating: "a", count: 1000)
        for number in 0..<20 {
            let path = number.isMultiple(of: 3) ? Self.target : "/other"
            let fields = Self.fields(("x-number", "\(number % 5)"), ("x-long", long), path: path)
            try connection.receive(Self.request(UInt32(number * 2 + 1), fields, &encoder))
            let passed = try connection.passed()
            #expect(passed.isEmpty == (path == Self.target))
            #expect(try connection.sent().isEmpty == (path != Self.target))
            if let frame = passed.first { #expect(try Self.decode(frame) == fields.map { "\($0.0): \($0.1)" }) }
        }
    }

    @Test func `frames for answered streams are kept from NIOHTTP2`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1, Self.fields(path: "/other")))
        try connection.receive(Self.request(3))
        _ = try (connection.passed(), connection.sent())
        for stream in [1, 3] as [UInt32] {
            try connection.receive(Self.frame(FrameHead.Kind.windowUpdate, 0, stream, ByteBuffer(integer: 1 as UInt32)))
            try connection.receive(Self.frame(FrameHead.Kind.resetStream, 0, stream, ByteBuffer(integer: 8 as UInt32)))
        }
        #expect(try connection.passed().map(\.head.stream) == [1, 1])
        #expect(try connection.sent().isEmpty)
    }

    @Test func `a client with a smaller table is left to NIOHTTP2`() throws {
        let connection = try Connection(settings: [(1, 0)])
        try connection.receive(Self.request(1))
        #expect(try connection.passed().map(\.head.kind) == [FrameHead.Kind.headers])
    }

    // MARK: Windows

    @Test(arguments: [(0, 65_535), (1 << 20, 10)])
    func `an answer that does not fit into a window goes on`(window: Int, streamWindow: Int) throws {
        let connection = try Connection(window: window, settings: [(4, UInt32(streamWindow))])
        try connection.receive(Self.request(1))
        #expect(try connection.sent().isEmpty)
        #expect(try connection.passed().map(\.head.stream) == [1])
        // What has no body needs no window.
        try connection.receive(Self.request(3, Self.fields(method: "HEAD")))
        #expect(try connection.sent().map(\.head.stream) == [3])
    }

    @Test func `NIOHTTP2 learns of skipped streams when it needs to`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1, Self.fields(path: "/other")))
        _ = try connection.passed()
        try connection.send(Self.frame(FrameHead.Kind.data, 0, 1, ByteBuffer(repeating: 0, count: 16_384)))
        connection.channel.embeddedEventLoop.run()
        let passed = try connection.passed()
        #expect(passed.map(\.head.kind) == [FrameHead.Kind.windowUpdate])
        let increment = ByteBuffer(bytes: passed[0].payload).getInteger(at: 0, as: UInt32.self)
        let wanted: UInt32 = 3 * 65_535 + 16_384
        #expect(increment == wanted)
        // The next one is not needed yet.
        try connection.send(Self.frame(FrameHead.Kind.data, 0, 1, ByteBuffer(repeating: 0, count: 16_384)))
        connection.channel.embeddedEventLoop.run()
        #expect(try connection.passed().isEmpty)
    }

    @Test func `no byte of a window is lost or made`() {
        let seed = TestSeed.chosen(or: 65)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<TestDepth.rounds(200) {
            var window = SplitFlowControlWindow()
            var (total, told, spent) = (65_535, 65_535, 0)
            for _ in 0..<500 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0:
                    let more = Int.random(in: 1...100_000, using: &generator)
                    total += more
                    let isTaken = window.grant(more)
                    #expect(isTaken)
                case 1:
                    let bytes = Int.random(in: 0...20_000, using: &generator)
                    if window.take(bytes) { total -= bytes }
                case 2:
                    // NIOHTTP2 sends no more than it was told.
                    let bytes = Int.random(in: 0...min(told - spent, 16_384), using: &generator)
                    spent += bytes
                    total -= bytes
                    window.spend(bytes)
                default: told += window.even(forGood: Int.random(in: 0..<20, using: &generator) == 0)
                }
                #expect(window.own + window.routed == total && window.own >= 0, "seed \(seed)")
                #expect(window.routed == told - spent && window.routed >= 0, "seed \(seed)")
            }
            told += window.even(forGood: false)
            // Nobody waits while there is something left.
            #expect(window.routed >= 65_535 || window.own == 0, "seed \(seed)")
        }
    }

    // MARK: Ends

    @Test func `a GOAWAY names the last stream of both`() throws {
        let connection = try Connection()
        try connection.receive(Self.request(1, Self.fields(path: "/other")))
        try connection.receive(Self.request(3))
        _ = try (connection.passed(), connection.sent())
        var payload = ByteBuffer()
        payload.writeMultipleIntegers(0x7FFF_FFFF as UInt32, 0 as UInt32)
        try connection.send(Self.frame(FrameHead.Kind.goAway, 0, 0, payload))
        #expect(try connection.sent()[0].payload.prefix(4) == [0x7F, 0xFF, 0xFF, 0xFF])
        // Between the two, what is prepared is answered and the rest refused.
        try connection.receive(Self.request(5))
        try connection.receive(Self.request(7, Self.fields(path: "/other")))
        #expect(
            try connection.sent().map(\.head.kind)
                == [FrameHead.Kind.headers, FrameHead.Kind.data, FrameHead.Kind.resetStream])
        payload.setInteger(1 as UInt32, at: 0)
        try connection.send(Self.frame(FrameHead.Kind.goAway, 0, 0, payload))
        #expect(try connection.sent()[0].payload.prefix(4) == [0, 0, 0, 7])
        try connection.receive(Self.request(9))
        #expect(try connection.sent().map(\.head.kind) == [FrameHead.Kind.resetStream])
        #expect(try connection.passed().isEmpty)
    }

    @Test func `mistakes in a header block are left to NIOHTTP2`() throws {
        let connection = try Connection()
        try connection.receive(Self.frame(FrameHead.Kind.headers, 5, 1, ByteBuffer(bytes: [0xFF, 0xFF, 0xFF, 0x7F])))
        let passed = try connection.passed()
        #expect(passed.map(\.payload) == [[0x80]])
        try connection.receive(Self.request(3))
        #expect(try connection.sent().isEmpty)
    }
}

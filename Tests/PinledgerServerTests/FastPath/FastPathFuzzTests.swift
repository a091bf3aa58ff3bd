import Foundation
import NIOCore
import SeededRandom
import Testing

@testable import PinledgerServer

/// The fast path beside the plain one, NIOHTTP2 alone, with the same bytes: orderly, mistaken and damaged.
///
/// `FUZZ_COUNT` makes more connections, `FUZZ_SEED` others; `FUZZ_SAVE` names a file beside which
/// another (`.frames`) says which connection is being played.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct FastPathFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = Self.environment["FUZZ_COUNT"].flatMap { Int($0) } ?? (TestDepth.isFull ? 100 : 50)
    private static let seed = Self.environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1

    @Test(arguments: FrameScript.Manner.allCases)
    func `a client sees the same with the fast path and without it`(manner: FrameScript.Manner) throws {
        var (answers, errors, prepared, stricter) = (0, 0, 0, 0)
        weak var ended: PreparedStreams?
        for index in 0..<Self.count {
            #expect(ended == nil, "a connection that ended is still in memory")
            let seed = Self.seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index)
            if let path = Self.environment["FUZZ_SAVE"] {
                try Data("\(manner) \(seed)\n".utf8).write(to: URL(filePath: "\(path).frames"))
            }
            let script = FrameScript(manner, seed: seed, tags: ExampleDocuments.answers.tags)
            let plain = try FrameExchange(isFast: false, reset: script.reset)
            let fast = try FrameExchange(isFast: true, reset: script.reset)
            var differences: [String] = []
            for exchange in [plain, fast] {
                for (place, chunk) in script.chunks.enumerated() where exchange.isOpen {
                    if place == script.chunks.count - 1 { differences += Self.excess(script, exchange.seen()) }
                    exchange.receive(chunk)
                    if let streams = exchange.streams { Self.checkMemory(of: streams) }
                }
            }
            ended = fast.streams
            // NIOHTTP2 judges a frame by its head, the fast path once all of it is there: it gets the rest.
            if !plain.isOpen, fast.isOpen { fast.receive(Self.rest) }
            let (expected, seen) = (plain.seen(), fast.seen())
            differences += Self.differences(script, expected, seen)
            #expect(differences.isEmpty, "\(manner) \(seed): \(differences.joined(separator: "; "))")
            answers += seen.answers.values.count(where: \.isEnded)
            prepared += seen.answers.values.count { $0.fields.contains { $0.hasPrefix("etag") } }
            errors += seen.isOpen ? 0 : 1
            stricter += expected.isOpen && !seen.isOpen ? 1 : 0
        }
        // The comparison means something.
        #expect(answers > Self.count && prepared > Self.count / 2)
        #expect(manner == .orderly ? errors == 0 : errors > Self.count / 10)
        #expect(stricter <= Self.count / 50)
    }

    /// What a client sees otherwise than it would without the fast path.
    private static func differences(
        _ script: FrameScript, _ plain: FrameExchange.Seen, _ fast: FrameExchange.Seen
    ) -> [String] {
        var differences = fast.violations.map { "breaks a rule: \($0)" }
        // Damage can make text of bytes that are not ASCII, which the fast path leaves out: then a request may lack a field.
        let isStricter = script.manner == .damaged && plain.isOpen
        if !isStricter, plain.isOpen != fast.isOpen || !Self.isSame(plain, fast) {
            differences.append("\(Self.end(of: fast)), not \(Self.end(of: plain))")
        }
        for stream in Set(plain.answers.keys).union(fast.answers.keys).sorted() {
            let (expected, seen) = (plain.answers[stream] ?? .init(), fast.answers[stream] ?? .init())
            // A client that gives a stream up gets what was on its way; after an error, what was sent before it.
            let isWhole = plain.isOpen && fast.isOpen && !script.reset.contains(stream)
            if isWhole ? expected == seen : Self.agree(expected, seen) { continue }
            differences.append("stream \(stream): \(Self.text(seen)), not \(Self.text(expected))")
        }
        return differences
    }

    /// What a server has sent beyond the client's windows.
    private static func excess(_ script: FrameScript, _ seen: FrameExchange.Seen) -> [String] {
        guard script.manner == .orderly else { return [] }
        var excess: [String] = []
        for (stream, answer) in seen.answers where answer.body.count > script.streamWindow {
            excess.append("stream \(stream) takes \(answer.body.count) bytes where \(script.streamWindow) may come")
        }
        if seen.bodyBytes > script.window { excess.append("\(seen.bodyBytes) bytes where \(script.window) may come") }
        return excess
    }

    /// Whether two connections ended alike, given that neither or both of them ended.
    private static func isSame(_ plain: FrameExchange.Seen, _ fast: FrameExchange.Seen) -> Bool {
        // A connection may end because of what stands behind NIOHTTP2, which tells the client nothing.
        if !plain.isOpen, plain.error == nil { return true }
        // PROTOCOL_ERROR, STREAM_CLOSED and FRAME_SIZE_ERROR say that a frame may not be there, or not be so.
        let broken: Set<UInt32?> = [1, 5, 6]
        // A block that is too long is PROTOCOL_ERROR to NIOHTTP2, and ENHANCE_YOUR_CALM to the fast path.
        return plain.error == fast.error || broken.isSuperset(of: [plain.error, fast.error])
            || plain.error == 1 && fast.error == 11
    }

    private static func end(of seen: FrameExchange.Seen) -> String {
        seen.error.map { "error \($0)" } ?? (seen.isOpen ? "no end" : "an end without an error")
    }

    /// Whether one of two answers may be the beginning of the other.
    private static func agree(_ one: FrameExchange.Answer, _ other: FrameExchange.Answer) -> Bool {
        if one.fields.isEmpty || other.fields.isEmpty { return true }
        let (short, long) = one.body.count < other.body.count ? (one, other) : (other, one)
        return one.fields == other.fields && long.body.starts(with: short.body)
            && (!short.isEnded || short.body.count == long.body.count)
    }

    private static func text(_ answer: FrameExchange.Answer) -> String {
        "\(answer.fields) \(answer.body.count) bytes\(answer.isEnded ? "" : " and no end") \(answer.resetCode ?? 0)"
    }

    // MARK: Memory

    /// A frame of the longest length, and a block of fields.
    private static let limit = 64 * 1024

    private static func checkMemory(of streams: PreparedStreams) {
        // The rest of what it keeps are numbers, and tables that HPACK bounds.
        for (name, value) in Mirror(reflecting: streams).children where name == "input" {
            let held = Self.held(value)
            if held > Self.limit { Issue.record("\(held) bytes are kept of what came") }
        }
    }

    /// Bytes of all buffers in a value.
    private static func held(_ value: Any) -> Int {
        if let buffer = value as? ByteBuffer { return buffer.readableBytes }
        return Mirror(reflecting: value).children.reduce(0) { $0 + Self.held($1.value) }
    }

    /// Pings, longer than a frame.
    private static let rest: ByteBuffer = {
        let ping = Self.frame(FrameHead.Kind.ping, FrameHead.Flag.acknowledgement, 0, [UInt8](repeating: 0, count: 8))
        return ByteBuffer(bytes: [[UInt8]](repeating: Array(ping.readableBytesView), count: 1000).joined())
    }()

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> ByteBuffer {
        var frame = ByteBuffer()
        FrameHead(length: payload.count, kind: kind, flags: flags, stream: stream).write(to: &frame)
        frame.writeBytes(payload)
        return frame
    }

    /// Frames that a client repeats, and after how many it is told off at the latest; nil where all of them are harmless.
    static let floods: [(name: String, first: ByteBuffer, frame: @Sendable (Int) -> ByteBuffer, limit: Int?)] = [
        (
            "a block without an end", frame(FrameHead.Kind.headers, 0, 1, [0x82]),
            { _ in frame(FrameHead.Kind.continuation, 0, 1, [0x82]) }, 10
        ),
        (
            "long parts of a block", frame(FrameHead.Kind.headers, 0, 1, [0x82]),
            { _ in frame(FrameHead.Kind.continuation, 0, 1, [UInt8](repeating: 0x82, count: 16_384)) }, 2
        ),
        ("windows", .init(), { _ in frame(FrameHead.Kind.windowUpdate, 0, 0, [0, 0, 0, 1]) }, 501),
        ("priorities", .init(), { _ in frame(2, 0, 1, [0, 0, 0, 0, 1]) }, 501),
        ("frames that nobody knows", .init(), { _ in frame(0xFE, 0, 0, [UInt8](repeating: 0, count: 16_384)) }, 501),
        ("pings", .init(), { _ in frame(FrameHead.Kind.ping, 0, 0, [UInt8](repeating: 0, count: 8)) }, 201),
        ("settings", .init(), { _ in frame(FrameHead.Kind.settings, 0, 0, []) }, 201),
        (
            "requests that are given up", .init(),
            { index in
                var frames = frame(FrameHead.Kind.headers, 5, UInt32(index * 2 + 1), keySet)
                frames.writeImmutableBuffer(frame(FrameHead.Kind.resetStream, 0, UInt32(index * 2 + 1), [0, 0, 0, 8]))
                return frames
            }, 201
        ),
        (
            "requests", .init(), { index in frame(FrameHead.Kind.headers, 5, UInt32(index * 2 + 1), keySet) }, nil
        ),
    ]

    /// A HEAD of the key set.
    private static let keySet: [UInt8] =
        [0x02, 4] + Array("HEAD".utf8) + [0x87, 0x04, 20] + Array("/client/v1/jwks.json".utf8)

    @Test(arguments: floods.indices)
    func `a client that repeats frames without end is told off, and costs little memory`(flood: Int) throws {
        let (name, first, frame, limit) = Self.floods[flood]
        let exchange = try FrameExchange(isFast: true)
        exchange.receive(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        exchange.receive(Self.frame(FrameHead.Kind.settings, 0, 0, []))
        exchange.receive(first)
        for index in 0..<(limit ?? 2000) {
            exchange.receive(frame(index))
            if let streams = exchange.streams { Self.checkMemory(of: streams) }
        }
        let seen = exchange.seen()
        #expect(seen.error == (limit == nil ? nil : 11), "\(name)")
        if limit == nil { #expect(seen.answers.values.count(where: \.isEnded) == 2000) }
    }
}

import NIOCore
import NIOHPACK
import SeededRandom

@testable import PinledgerServer

/// What a client sends on one HTTP/2 connection; it follows from a seed alone.
struct FrameScript {
    enum Manner: CaseIterable {
        /// Nothing breaks RFC 9113.
        case orderly
        /// Among orderly frames stands one that breaks it.
        case mistaken
        /// Orderly bytes, with some of them changed.
        case damaged
    }

    let manner: Manner
    /// The bytes, as they arrive one read after the other.
    private(set) var chunks: [ByteBuffer] = []
    /// Streams that the client has asked something on.
    private(set) var requested: [UInt32] = []
    /// Streams that the client has given up.
    private(set) var reset: Set<UInt32> = []
    /// Bytes of bodies that the client takes before the last chunk at the most: of a stream, and of all together.
    private(set) var streamWindow = 65_535
    private(set) var window = 65_535

    private let tags: [String]
    private var random: SeededGenerator
    private var encoder: HPACKEncoder
    private var bytes = ByteBuffer()
    private var nextStream: UInt32 = 1

    /// - Parameter tags: Entity tags that conditions may name.
    init(_ manner: Manner, seed: UInt64, tags: [String]) {
        self.manner = manner
        self.tags = tags
        self.random = SeededGenerator(seed: seed)
        self.encoder = HPACKEncoder(allocator: ByteBufferAllocator(), useHuffmanEncoding: seed.isMultiple(of: 2))
        self.bytes.writeString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.settings(isFirst: true)
        if !self.random.once(in: 3) { self.openWindow(by: self.random.pick([1, 20_000, 1 << 20, 1 << 24])) }
        let count = Int.random(in: 1...20, using: &self.random)
        let place = Int.random(in: 0..<count, using: &self.random)
        for index in 0..<count {
            self.step()
            if manner == .mistaken, index == place { self.mistake() }
        }
        if manner == .damaged { self.damage() }
        self.cut()
        // What waits for a window is sent now.
        self.bytes.clear()
        self.frame(FrameHead.Kind.windowUpdate, 0, [1, 0, 0, 0])
        for stream in self.requested where !self.reset.contains(stream) {
            self.frame(FrameHead.Kind.windowUpdate, stream, [1, 0, 0, 0])
        }
        self.chunks.append(self.bytes)
    }

    /// Cuts the bytes as networks do.
    private mutating func cut() {
        let longest = self.random.pick([1, 9, 100, 2000, 20_000, 1 << 20])
        var left = self.bytes
        // Single bytes take long, and change nothing once a few frames have come that way.
        var singles = 400
        while left.readableBytes > 0 {
            let length = singles > 0 ? Int.random(in: 1...longest, using: &self.random) : 20_000
            singles -= longest < 100 ? length : 0
            if let chunk = left.readSlice(length: min(length, left.readableBytes)) { self.chunks.append(chunk) }
        }
    }

    private mutating func frame(_ kind: UInt8, _ stream: UInt32, flags: UInt8 = 0, _ payload: [UInt8]) {
        FrameHead(length: payload.count, kind: kind, flags: flags, stream: stream).write(to: &self.bytes)
        self.bytes.writeBytes(payload)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    // MARK: In order

    private mutating func step() {
        switch Int.random(in: 0..<20, using: &self.random) {
        case 0: self.openWindow(by: self.random.pick([1, 100, 20_000, 1 << 20]))
        case 1: self.resetStream()
        case 2: self.frame(FrameHead.Kind.ping, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        case 3: if self.random.once(in: 2) { self.settings(isFirst: false) }
        case 4: self.frame(0x10, 0, [0, 0, 0, 1] + Array("u=1".utf8))
        case 5: self.frame(0xFA, self.random.pick([0, self.nextStream]), [UInt8](repeating: 7, count: 40))
        case 6: self.frame(2, self.nextStream, [0, 0, 0, 0, 16])
        case 7:
            guard let stream = self.requested.last, !self.reset.contains(stream) else { return }
            self.streamWindow += 1000
            self.frame(FrameHead.Kind.windowUpdate, stream, Self.bytes(1000))
        default: self.request()
        }
    }

    private mutating func openWindow(by increment: Int) {
        self.window += increment
        self.frame(FrameHead.Kind.windowUpdate, 0, Self.bytes(UInt32(increment)))
    }

    private mutating func resetStream() {
        guard let stream = self.requested.randomElement(using: &self.random), self.reset.insert(stream).inserted else {
            return
        }
        self.frame(FrameHead.Kind.resetStream, stream, [0, 0, 0, 8])
    }

    private mutating func settings(isFirst: Bool) {
        var payload: [UInt8] = []
        func add(_ name: UInt8, _ value: Int) { payload += [0, name] + Self.bytes(UInt32(value)) }
        if self.random.once(in: 4) { add(1, self.random.pick([0, 100, 4096, 8192])) }
        if self.random.once(in: 4) { add(2, 0) }
        if isFirst, self.random.once(in: 2) {
            let size = self.random.pick([0, 10, 1000, 20_000, 1 << 20])
            self.streamWindow = max(self.streamWindow, size)
            add(4, size)
        }
        if self.random.once(in: 4) { add(5, self.random.pick([16_384, 40_000])) }
        if self.random.once(in: 4) { add(99, 1) }
        self.frame(FrameHead.Kind.settings, 0, payload)
    }

    private static let targets =
        ExampleDocuments.targets + ExampleDocuments.targets + [
            "/client/v1/jwks.json", "/other", "/long", "/client/v1/apps/none/document", "*", "/client/v1/jwks.json?a=b",
            ExampleDocuments.targets[0].replacing(".", with: "%2E"),
        ]

    private mutating func request() {
        let stream = self.nextStream
        self.nextStream += self.random.once(in: 8) ? 4 : 2
        self.requested.append(stream)
        let hasBody = self.random.once(in: 6)
        var fields = [
            (
                ":method",
                hasBody ? self.random.pick(["POST", "PUT", "GET"]) : self.random.pick(["GET", "GET", "HEAD"])
            ),
            (":scheme", "https"), (":authority", "localhost"), (":path", self.random.pick(Self.targets)),
        ]
        for _ in 0..<self.random.pick([0, 0, 1, 2, 4]) { fields.append(self.field()) }
        self.headers(stream, fields, isEnd: !hasBody)
        guard hasBody else { return }
        for _ in 0..<self.random.pick([0, 1, 3]) {
            let count = Int.random(in: 1...2000, using: &self.random)
            self.frame(FrameHead.Kind.data, stream, [UInt8](repeating: 0x61, count: count))
        }
        if self.random.once(in: 3) {
            self.headers(stream, [("x-trailer", "yes")], isEnd: true)
        } else {
            self.frame(
                FrameHead.Kind.data, stream, flags: FrameHead.Flag.endStream | FrameHead.Flag.padded,
                [2, 0x62, 0x63, 0, 0])
        }
    }

    private mutating func field() -> (String, String) {
        switch Int.random(in: 0..<9, using: &self.random) {
        case 0, 1:
            (
                "accept-encoding",
                self.random.pick(["gzip", "br, gzip;q=0.5", "identity", "", "zstd", "identity;q=0, *;q=0"])
            )
        case 2, 3: ("if-none-match", self.random.pick(self.tags + ["*", "\"x\"", "x", ""]))
        case 4: ("pinledger-client", "version=3, platform=ios")
        case 5: ("x-number", "\(Int.random(in: 0..<5, using: &self.random))")
        case 6: ("x-long", String(repeating: "l", count: Int.random(in: 1...3000, using: &self.random)))
        case 7: ("cookie", "a=\(Int.random(in: 0..<3, using: &self.random))")
        default:
            self.random.pick([("te", "trailers"), ("user-agent", "fuzz"), ("x-text", "a\u{7F}b"), ("x-text", "é")])
        }
    }

    private mutating func headers(_ stream: UInt32, _ fields: [(String, String)], isEnd: Bool) {
        var block = ByteBuffer()
        // It throws where it is used out of order alone.
        try? self.encoder.encode(headers: HPACKHeaders(fields), to: &block)
        self.block(stream, Array(block.readableBytesView), isEnd: isEnd)
    }

    private mutating func block(_ stream: UInt32, _ block: [UInt8], isEnd: Bool) {
        let end = isEnd ? FrameHead.Flag.endStream : 0
        let places = (0..<self.random.pick([0, 0, 0, 1, 3])).map { _ in
            Int.random(in: 0...block.count, using: &self.random)
        }
        var parts: [[UInt8]] = []
        var start = 0
        for place in places.sorted() + [block.count] {
            parts.append(Array(block[start..<place]))
            start = place
        }
        for (index, part) in parts.enumerated() {
            let last = index == parts.count - 1 ? FrameHead.Flag.endHeaders : 0
            guard index == 0 else {
                self.frame(FrameHead.Kind.continuation, stream, flags: last, part)
                continue
            }
            switch Int.random(in: 0..<6, using: &self.random) {
            case 0:
                let flags = end | last | FrameHead.Flag.padded
                self.frame(FrameHead.Kind.headers, stream, flags: flags, [3] + part + [0, 0, 0])
            case 1:
                let flags = end | last | FrameHead.Flag.priority
                self.frame(FrameHead.Kind.headers, stream, flags: flags, [0, 0, 0, 0, 15] + part)
            default: self.frame(FrameHead.Kind.headers, stream, flags: end | last, part)
            }
        }
    }

    // MARK: With a mistake

    private mutating func mistake() {
        let used = self.requested.randomElement(using: &self.random) ?? 1
        let stream = self.random.pick([0, 2, used, self.nextStream, self.nextStream + 100])
        let plain: [UInt8] = [0x82, 0x87, 0x84]
        let ended = FrameHead.Flag.endHeaders | FrameHead.Flag.endStream
        switch Int.random(in: 0..<17, using: &self.random) {
        case 0: self.frame(FrameHead.Kind.data, stream, [1, 2, 3])
        case 1: self.frame(FrameHead.Kind.headers, self.random.pick([0, 2, used]), flags: ended, plain)
        case 2: self.frame(FrameHead.Kind.continuation, stream, flags: FrameHead.Flag.endHeaders, plain)
        case 3:
            // On a stream that has just ended it is ignored or not, as the answer is on its way or sent.
            let stream = self.random.pick([0, 2, self.nextStream, self.nextStream + 100])
            self.frame(FrameHead.Kind.windowUpdate, stream, [0, 0, 0, 0])
        case 4: self.frame(FrameHead.Kind.windowUpdate, stream, [0x7F, 0xFF, 0xFF, 0xFF])
        case 5: self.frame(FrameHead.Kind.windowUpdate, stream, [1])
        case 6: self.frame(FrameHead.Kind.settings, stream, [0, 4, 0xFF, 0xFF, 0xFF, 0xFF])
        case 7: self.frame(FrameHead.Kind.settings, 0, [0, 4, 0])
        case 8: self.frame(FrameHead.Kind.resetStream, self.random.pick([0, self.nextStream + 100]), [0, 0, 0, 8])
        case 9: self.frame(FrameHead.Kind.ping, 0, [1])
        case 10: self.frame(5, used, flags: FrameHead.Flag.endHeaders, [0, 0, 0, 2] + plain)
        case 11: self.frame(FrameHead.Kind.data, used, [UInt8](repeating: 0, count: 16_385))
        case 12: self.block(self.nextStream, [0xFF, 0xFF, 0xFF, 0xFF, 0x7F], isEnd: true)
        case 13:
            // Another frame within a block.
            self.frame(FrameHead.Kind.headers, self.nextStream, flags: FrameHead.Flag.endStream, plain)
            self.frame(FrameHead.Kind.ping, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        case 14:
            self.frame(FrameHead.Kind.headers, self.nextStream, flags: ended | FrameHead.Flag.padded, [200] + plain)
        case 15:
            self.headers(
                self.nextStream, [(":method", "GET"), ("x-long", String(repeating: "l", count: 20_000))], isEnd: true)
        default:
            self.headers(
                self.nextStream,
                [(":path", ExampleDocuments.targets[0])]
                    + self.random.pick([
                        [], [(":method", "GET"), (":method", "GET"), (":scheme", "https")],
                        [(":method", "GET"), (":scheme", "https"), ("X-Upper", "a")],
                        [(":method", "GET"), (":scheme", "https"), ("x-é", "a")],
                        [(":method", "GET"), (":scheme", "https"), ("connection", "close")],
                        [(":method", "GET"), (":scheme", "https"), ("x", "y"), (":authority", "a")],
                        [(":method", "GET"), (":scheme", "https"), ("content-length", "5")],
                    ]), isEnd: true)
        }
        self.nextStream += 2
    }

    // MARK: Damaged

    private mutating func damage() {
        var bytes = Array(self.bytes.readableBytesView)
        for _ in 0..<self.random.pick([1, 1, 2, 4]) {
            // The preface is NIOHTTP2's alone.
            let place = Int.random(in: 24..<bytes.count, using: &self.random)
            let range = place..<min(bytes.count, place + Int.random(in: 1...32, using: &self.random))
            switch Int.random(in: 0..<6, using: &self.random) {
            case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self.random)
            case 2: bytes[place] = UInt8.random(in: .min ... .max, using: &self.random)
            case 3: if bytes.count - range.count > 25 { bytes.removeSubrange(range) }
            case 4: bytes.insert(contentsOf: bytes[range], at: place)
            default:
                let head = (0..<9).map { _ in UInt8.random(in: 0...9, using: &self.random) }
                bytes.insert(contentsOf: [0, 0] + head.dropFirst(2), at: place)
            }
        }
        self.bytes = ByteBuffer(bytes: bytes)
    }
}

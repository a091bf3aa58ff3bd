import NIOCore
import Testing

@testable import PinledgerServer

/// How the bytes of an HTTP/2 client are cut.
@Suite struct `What a client sends over HTTP/2` {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        var frame = ByteBuffer()
        FrameHead(length: payload.count, kind: kind, flags: flags, stream: stream).write(to: &frame)
        frame.writeBytes(payload)
        return Array(frame.readableBytesView)
    }

    private static func headers(_ payload: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        Self.frame(FrameHead.Kind.headers, flags, 1, payload)
    }

    private static func more(_ payload: [UInt8], flags: UInt8 = 0, stream: UInt32 = 1) -> [UInt8] {
        Self.frame(FrameHead.Kind.continuation, flags, stream, payload)
    }

    private static let ping = Self.frame(6, 0, 0, Array(repeating: 1, count: 8))
    private static let end = FrameHead.Flag.endHeaders

    /// The pieces in short; bytes that come one behind the other are one.
    private static func pieces(_ bytes: [UInt8], in steps: Int) -> [String] {
        var input = FrameInput()
        var (pieces, passed): ([String], [UInt8]) = ([], [])
        func flush() {
            if !passed.isEmpty { pieces.append("bytes \(passed.count)") }
            passed = []
        }
        for start in stride(from: 0, to: bytes.count, by: steps) {
            input.receive(ByteBuffer(bytes: bytes[start..<min(start + steps, bytes.count)]))
            while let piece = input.next() {
                if case .bytes(let more) = piece {
                    passed += more.readableBytesView
                    continue
                }
                flush()
                switch piece {
                case .bytes: break
                case .frame(let head, let frame):
                    pieces.append("frame \(head.kind) \(frame.readableBytes == FrameHead.size + head.length)")
                case .block(let block): pieces.append("block \(Array(block.bytes.readableBytesView))")
                case .mistake(let mistake):
                    pieces.append("\(mistake)")
                    input.ignore()
                }
            }
        }
        flush()
        return pieces
    }

    static let cases: [([UInt8], [String])] = [
        (ping + ping, ["frame 6 true", "frame 6 true"]),
        (headers([1, 2], flags: end) + ping, ["block [1, 2]", "frame 6 true"]),
        (headers([1]) + more([2]) + more([3], flags: end) + ping, ["block [1, 2, 3]", "frame 6 true"]),
        (headers([]) + more([], flags: end), ["block []"]),
        (more([1], flags: end), ["frame 9 true"]),
        (headers([1]) + ping, ["malformed"]),
        (headers([1]) + headers([2], flags: end), ["malformed"]),
        (headers([1]) + more([2], stream: 3) + ping, ["malformed"]),
        (headers([9, 1], flags: FrameHead.Flag.padded | end) + ping, ["malformed"]),
        (headers([1]) + (0..<6).flatMap { more([$0]) } + ping, ["tooLong"]),
        // The head says more than any frame may have.
        ([1, 0, 0] + Array(repeating: 7, count: 50), ["bytes 53"]),
    ]

    @Test(arguments: cases) func `HTTP/2 input from a client is cut the same however it arrives`(
        bytes: [UInt8], pieces: [String]
    ) {
        // The preface goes on as it is, and before a length that is none nothing tells it from what follows.
        let isPassed = pieces[0].hasPrefix("bytes")
        let expected = isPassed ? ["bytes \(24 + bytes.count)"] : ["bytes 24"] + pieces
        for steps in [1, 2, 7, 1000] { #expect(Self.pieces(Self.preface + bytes, in: steps) == expected) }
    }
}

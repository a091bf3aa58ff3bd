import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import PinWire
import Publishing
import Signals

@testable import PinledgerServer

/// A server's end of an HTTP/2 connection in this process, with the fast path before NIOHTTP2 or without it, and what its
/// client sees.
final class FrameExchange {
    /// What a client has received on one stream.
    struct Answer: Hashable {
        var fields: [String] = []
        var body: [UInt8] = []
        var isEnded = false
        var resetCode: UInt32?
    }

    /// What a client has received on a connection.
    struct Seen {
        var answers: [UInt32: Answer] = [:]
        /// Why the server has ended the connection.
        var error: UInt32?
        var isOpen = true
        /// Rules that the server has broken.
        var violations: [String] = []
        var bodyBytes = 0
    }

    /// One for all: each holds keys, in memory of which there is little.
    private static let recorder = ExampleServer.recorder()

    private let channel = EmbeddedChannel()
    /// Nil where there is no fast path.
    private(set) var streams: PreparedStreams?
    private var sent = ByteBuffer()

    init(isFast: Bool, reset: Set<UInt32> = []) throws {
        let clock: @Sendable () -> Timestamp = { Timestamp(seconds: 1_800_000_000) }
        let shares = EventLoopStates(
            group: self.channel.eventLoop, clock: clock, intake: Self.recorder.intake,
            push: DocumentPush(table: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) }), limit: 0),
            requestMemory: .max,
            served: [ServedCount()])
        let answers = ExampleDocuments.answers.prepared
        let pipeline = self.channel.pipeline.syncOperations
        if isFast, let share = shares.share(of: self.channel.eventLoop) {
            let streams = PreparedStreams(answers: answers, share: share, limits: .init())
            self.streams = streams
            try pipeline.addHandler(streams)
        }
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, eventLoop: self.channel.eventLoop) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandlers([
                        HTTP2FramePayloadToHTTPServerCodec(), FastPath.streamHandler(writeLimit: .seconds(30)),
                        FastPath.messageHandler(answers: answers, shares: shares), Mirrored(),
                    ])
                }
            })
        try pipeline.addHandler(ErrorCloser(besides: reset))
        self.channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    deinit { _ = try? self.channel.finish(acceptAlreadyClosed: true) }

    /// Whether the client's next bytes can be taken.
    var isOpen: Bool { self.channel.isActive }

    func receive(_ bytes: ByteBuffer) {
        // What goes wrong is told to the client.
        _ = try? self.channel.writeInbound(bytes)
        self.channel.embeddedEventLoop.run()
        while case .byteBuffer(let next)? = try? self.channel.readOutbound(as: IOData.self) {
            self.sent.writeImmutableBuffer(next)
        }
    }

    /// Reads what was sent, as a client does.
    func seen() -> Seen {
        var seen = Seen()
        seen.isOpen = self.isOpen
        var bytes = self.sent
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator(), maxDynamicTableSize: 1 << 24)
        while let head = FrameHead(bytes, at: bytes.readerIndex) {
            bytes.moveReaderIndex(forwardBy: FrameHead.size)
            guard var payload = bytes.readSlice(length: head.length) else {
                seen.violations.append("a frame of kind \(head.kind) has not come to its end")
                break
            }
            if head.stream > 0, let answer = seen.answers[head.stream], answer.isEnded || answer.resetCode != nil,
                head.kind != FrameHead.Kind.resetStream, head.kind != FrameHead.Kind.windowUpdate
            {
                seen.violations.append("a frame of kind \(head.kind) behind the end of stream \(head.stream)")
            }
            switch head.kind {
            case FrameHead.Kind.headers:
                do {
                    let fields = try decoder.decodeHeaders(from: &payload)
                    seen.answers[head.stream, default: Answer()].fields += fields.map { "\($0.name): \($0.value)" }
                } catch { seen.violations.append("a block that is none: \(error)") }
            case FrameHead.Kind.data:
                if seen.answers[head.stream]?.fields.isEmpty ?? true {
                    seen.violations.append("a body without a head on stream \(head.stream)")
                }
                seen.answers[head.stream, default: Answer()].body += payload.readableBytesView
                seen.bodyBytes += head.length
            case FrameHead.Kind.resetStream:
                seen.answers[head.stream, default: Answer()].resetCode = payload.getInteger(at: payload.readerIndex)
            case FrameHead.Kind.goAway:
                let code: UInt32? = payload.getInteger(at: payload.readerIndex + 4)
                if let code, code != 0, seen.error == nil { seen.error = code }
            default: break
            }
            if head.kind < 2, head.flags & FrameHead.Flag.endStream != 0 {
                seen.answers[head.stream, default: Answer()].isEnded = true
            }
        }
        if bytes.readableBytes > 0 { seen.violations.append("\(bytes.readableBytes) bytes of a frame's head") }
        return seen
    }
}

/// Closes the connection over any error, as Hummingbird's handler behind NIOHTTP2 does.
private final class ErrorCloser: ChannelInboundHandler {
    typealias InboundIn = Any

    /// Streams that the client gives up.
    private let reset: Set<UInt32>

    init(besides reset: Set<UInt32>) { self.reset = reset }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIOHTTP2 may open the window of a stream again after the client has given it up: whether it does depends on how
        // the bytes were cut.
        if let error = error as? NIOHTTP2Errors.NoSuchStream, let stream = UInt32(exactly: Int(error.streamID)),
            self.reset.contains(stream)
        {
            return
        }
        context.close(promise: nil)
    }
}

/// Stands for the router: answers with what has reached it.
private final class Mirrored: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private var request: HTTPRequest?
    private var length = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.request = head
        case .body(let bytes): self.length += bytes.readableBytes
        case .end(let trailers):
            guard let request = self.request else { return }
            // The router sees ASCII, whatever came; see RequestText.
            let fields = request.headerFields.compactMap { RequestText.field($0.name.canonicalName, $0.value) }
            let path = RequestText.target(request.path ?? "")
            let authority = RequestText.field(":authority", request.authority ?? "")?.value ?? ""
            var body = """
                \(request.method) \(path) \(authority) \(request.scheme ?? "") \(fields) \(self.length) \
                \(trailers?.count ?? 0)
                """
            if path == "/long" { body += String(repeating: "l", count: 30_000) }
            context.write(self.wrapOutboundOut(.head(HTTPResponse(status: .accepted))), promise: nil)
            if request.method != .head {
                context.write(self.wrapOutboundOut(.body(ByteBuffer(string: body))), promise: nil)
            }
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

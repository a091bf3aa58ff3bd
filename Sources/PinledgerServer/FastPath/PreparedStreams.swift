import HTTPTypes
import Hummingbird
import NIOCore
import NIOHPACK

/// Answers plain requests over HTTP/2 for prepared answers from frames, before NIOHTTP2 makes channels of streams.
/// Stands between ``FastPathHandler`` and NIOHTTP2, which sees a connection on which those requests were never made.
///
/// A stream is answered here only if its whole answer may be sent at once: nothing is kept of it, and everything that
/// flow control, a long body or an odd request asks for is NIOHTTP2's and the router's. They give the same answer.
///
/// All blocks of fields that come in are decoded here, for each may refer to those before it, and passed on as literals.
/// What goes out from here leaves NIOHTTP2's table of fields alone.
final class PreparedStreams: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let answers: PreparedAnswers?
    private let share: EventLoopState
    private let limits: Server.Limits
    private let onRefusal: OnRefusal
    private let onHead: () -> Void
    private var context: ChannelHandlerContext?

    private var input = FrameInput()
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var mustFlush = false
    private var hasPassed = false
    /// The client has sent its settings, which come first.
    private var hasSettings = false

    /// The last streams answered or refused here, and passed on.
    private var answered: UInt32 = 0
    private var routed: UInt32 = 0
    private var window = SplitFlowControlWindow()
    /// What a stream's window is when it begins.
    private var streamWindow = 65_535
    /// What the client's table of fields may hold.
    private var tableSize: UInt32 = 4096
    private var follower = FrameFollower()
    /// Nothing is answered here any more.
    private var isRetired = false
    private var isEvening = false
    private var isClosing = false

    /// The router's streams that are there, and when one was last there or answered.
    private var open = 0
    private var lastUse: UInt32
    private var isAskedToGo = false

    /// When the client sent something last.
    private var lastReceived: UInt32
    /// A stream was closed whose client took nothing of its answer for too long, and has sent nothing since.
    private var hasStalled = false

    private var budget: FrameBudget
    /// Streams reset after their answer, since when.
    private var resets = (count: 0, since: UInt32(0))

    /// - Parameters:
    ///   - onRefusal: Told of what is no HTTP/2, and ends the connection.
    ///   - onHead: Told of each head of a request.
    init(
        answers: PreparedAnswers?, share: EventLoopState, limits: Server.Limits,
        onRefusal: @escaping OnRefusal = { _, _, _ in }, onHead: @escaping () -> Void = {}
    ) {
        self.answers = answers
        self.share = share
        self.limits = limits
        self.onRefusal = onRefusal
        self.onHead = onHead
        self.lastUse = share.now
        self.lastReceived = share.now
        self.budget = FrameBudget(at: share.now)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.lastReceived = self.share.now
        self.hasStalled = false
        self.input.receive(self.unwrapInboundIn(data))
        self.share.clearScratch()
        while let piece = self.input.next() {
            switch piece {
            case .bytes(let bytes): self.pass(bytes, context)
            case .frame(let head, let frame): self.read(head, frame, context)
            case .block(let block): self.read(block, context)
            case .mistake(let mistake):
                self.onRefusal(.unreadableHTTP2, "\(RequestID())", context.remoteAddress)
                switch mistake {
                case .malformed: self.end(.protocolError, context)
                case .tooLong: self.end(.enhanceYourCalm, context)
                }
            }
        }
        self.write(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.mustFlush {
            self.mustFlush = false
            context.flush()
        }
        if self.hasPassed {
            self.hasPassed = false
            context.fireChannelReadComplete()
        }
    }

    private func read(_ head: FrameHead, _ frame: ByteBuffer, _ context: ChannelHandlerContext) {
        if head.kind == FrameHead.Kind.settings { self.hasSettings = true }
        guard self.hasSettings else {
            self.input.pass()
            return self.pass(frame, context)
        }
        guard !head.asksNothing || self.budget.spend(at: self.share.now) else {
            return self.end(.enhanceYourCalm, context)
        }
        switch head.kind {
        case FrameHead.Kind.settings: self.readSettings(head, frame)
        case FrameHead.Kind.windowUpdate where head.stream == 0 && head.length == 4:
            return self.readWindowUpdate(frame, context)
        case FrameHead.Kind.windowUpdate where head.length == 4 && self.isAnswered(head.stream): return
        case FrameHead.Kind.resetStream where head.length == 4 && self.isAnswered(head.stream):
            return self.countReset(context)
        case FrameHead.Kind.data where self.isAnswered(head.stream):
            // It may be the body of a request that was refused.
            guard self.follower.hasAskedToGo else { return self.end(.streamClosed, context) }
            return self.giveBack(head.length)
        default: break
        }
        self.pass(frame, context)
    }

    /// Whether a stream was answered here and NIOHTTP2 takes it for one that is still to come.
    private func isAnswered(_ stream: UInt32) -> Bool { stream > self.routed && stream <= self.answered }

    private func readSettings(_ head: FrameHead, _ frame: ByteBuffer) {
        guard head.flags & FrameHead.Flag.acknowledgement == 0, head.length.isMultiple(of: 6) else { return }
        let start = frame.readerIndex + FrameHead.size
        for at in stride(from: start, to: start + head.length, by: 6) {
            guard let name = frame.getInteger(at: at, as: UInt16.self),
                let value = frame.getInteger(at: at + 2, as: UInt32.self)
            else { return }
            switch name {
            // The next block has to begin with the table's new size, and NIOHTTP2 alone can say it.
            case 1:
                if value < self.tableSize { self.isRetired = true }
                self.tableSize = value
            case 4: self.streamWindow = Int(value)
            default: break
            }
        }
    }

    private func readWindowUpdate(_ frame: ByteBuffer, _ context: ChannelHandlerContext) {
        let at = frame.readerIndex + FrameHead.size
        let increment = Int(frame.getInteger(at: at, as: UInt32.self) ?? 0) & 0x7FFF_FFFF
        // Nothing more is not allowed, as NIOHTTP2 will say.
        guard increment > 0 else { return self.pass(frame, context) }
        guard self.window.grant(increment) else { return self.end(.flowControl, context) }
        self.evenWindow(context)
    }

    private func countReset(_ context: ChannelHandlerContext) {
        if self.share.now &- self.resets.since > EventLoopState.rounds(seconds: 30) {
            self.resets = (0, self.share.now)
        }
        self.resets.count += 1
        // As many as NIOHTTP2 lets pass.
        if self.resets.count > 200 { self.end(.enhanceYourCalm, context) }
    }

    // MARK: Blocks of fields

    private func read(_ block: OpenBlock, _ context: ChannelHandlerContext) {
        guard self.hasSettings else {
            self.input.pass()
            return self.passBlock(ByteBuffer(), block, context)
        }
        var bytes = block.bytes
        let fields: HPACKHeaders
        do { fields = try self.decoder.decodeHeaders(from: &bytes) } catch {
            // An index of zero is a mistake too, and what NIOHTTP2 answers it with is right for any other.
            self.input.pass()
            return self.passBlock(ByteBuffer(bytes: [0x80]), block, context)
        }
        if block.stream > max(self.answered, self.routed), !block.stream.isMultiple(of: 2) {
            self.onHead()
            self.budget.request()
            if block.isEnd, self.isAnswering(context), let request = PlainStream(fields),
                self.answer(request, block.stream, context)
            {
                return
            }
            if self.follower.hasAskedToGo, context.channel.isWritable { return self.refuse(block.stream) }
        }
        if self.isAnswered(block.stream) {
            // They may be the trailers of a request that was refused.
            return self.follower.hasAskedToGo ? () : self.end(.protocolError, context)
        }
        self.routed = max(self.routed, block.stream)
        self.passBlock(FieldBlock.literal(fields), block, context)
    }

    private func passBlock(_ fields: ByteBuffer, _ block: OpenBlock, _ context: ChannelHandlerContext) {
        let flags = FrameHead.Flag.endHeaders | (block.isEnd ? FrameHead.Flag.endStream : 0)
        self.pass(FrameHead.Kind.headers, flags, block.stream, fields, context)
    }

    // MARK: Answering

    private func isAnswering(_ context: ChannelHandlerContext) -> Bool {
        !self.isRetired && !self.isClosing && self.follower.isBetweenFrames && !self.follower.hasSaidLast
            && context.channel.isWritable
    }

    /// Adds the answer to the scratch buffer; false where it is not for here.
    private func answer(_ request: PlainStream, _ stream: UInt32, _ context: ChannelHandlerContext) -> Bool {
        var path = request.path
        guard let answer = path.withUTF8({ self.answers?.answer(to: UnsafeRawBufferPointer($0)) }),
            let variant = answer.ready(ifNoneMatch: request.ifNoneMatch, self.share.preference(request.acceptEncoding))
        else { return false }
        let body = request.isHead ? nil : variant.body
        var left = body?.readableBytes ?? 0
        guard left <= self.streamWindow, self.window.take(left) else { return false }
        self.budget.sent(left)
        FrameHead(
            length: variant.block.readableBytes + self.share.dateField.count, kind: FrameHead.Kind.headers,
            flags: FrameHead.Flag.endHeaders | (left == 0 ? FrameHead.Flag.endStream : 0), stream: stream
        ).write(to: &self.share.scratch)
        self.share.scratch.writeImmutableBuffer(variant.block)
        self.share.scratch.writeBytes(self.share.dateField)
        if var body {
            // As on HTTP/1.1: no copies for clients that do not read.
            let isLong = left > Self.copySize
            while left > 0 {
                let length = min(left, FrameHead.maximumLength)
                left -= length
                FrameHead(
                    length: length, kind: FrameHead.Kind.data, flags: left == 0 ? FrameHead.Flag.endStream : 0,
                    stream: stream
                ).write(to: &self.share.scratch)
                guard let bytes = body.readSlice(length: length) else { break }
                guard isLong else {
                    self.share.scratch.writeImmutableBuffer(bytes)
                    continue
                }
                self.write(context)
                self.share.clearScratch()
                context.write(self.wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
            }
        }
        self.answered = stream
        self.lastUse = self.share.now
        self.share.served.count(variant.response.status)
        if !request.isHead {
            self.share.tally.count(answer, variant.response.status, request.ifNoneMatch, request.clientReport)
        }
        self.share.notes?.notePrepared(
            request.isHead ? "HEAD" : "GET", request.path, variant, peer: context.channel.remoteAddress,
            forwardedFor: request.forwardedFor)
        if self.share.scratch.readableBytes > Self.flushSize {
            self.write(context)
            context.flush()
            self.share.clearScratch()
        }
        return true
    }

    /// Has the client ask again elsewhere. NIOHTTP2 would do so too, and end the connection over it.
    private func refuse(_ stream: UInt32) {
        FrameHead(length: 4, kind: FrameHead.Kind.resetStream, stream: stream).write(to: &self.share.scratch)
        self.share.scratch.writeInteger(Reason.refusedStream.rawValue)
        self.answered = stream
    }

    /// Lets the client send as much as was skipped here, which NIOHTTP2 has not seen.
    private func giveBack(_ bytes: Int) {
        guard bytes > 0 else { return }
        FrameHead(length: 4, kind: FrameHead.Kind.windowUpdate, stream: 0).write(to: &self.share.scratch)
        self.share.scratch.writeInteger(UInt32(bytes))
    }

    private static let flushSize = 32 * 1024
    private static let copySize = 8 * 1024

    private func write(_ context: ChannelHandlerContext) {
        guard self.share.scratch.readableBytes > 0 else { return }
        context.write(self.wrapOutboundOut(.byteBuffer(self.share.scratch)), promise: nil)
        self.mustFlush = true
    }

    // MARK: Passing on

    private func pass(
        _ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: ByteBuffer, _ context: ChannelHandlerContext
    ) {
        var frame = ByteBuffer()
        FrameHead(length: payload.readableBytes, kind: kind, flags: flags, stream: stream).write(to: &frame)
        frame.writeImmutableBuffer(payload)
        self.pass(frame, context)
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        // NIOHTTP2 may write at once.
        self.write(context)
        self.share.clearScratch()
        self.hasPassed = true
        context.fireChannelRead(self.wrapInboundOut(bytes))
    }

    /// Tells NIOHTTP2 that more may be sent, if it should know.
    ///
    /// Once it has asked the client to go and has no stream left, NIOHTTP2 takes that for a mistake of the client's. A
    /// stream that waits for more has used up all of the account before.
    private func evenWindow(_ context: ChannelHandlerContext) {
        guard !self.isClosing, !self.follower.hasAskedToGo || self.window.routed == 0 && self.open > 0 else { return }
        let moved = self.window.even(forGood: self.isRetired || self.follower.isLost)
        guard moved > 0 else { return }
        self.pass(FrameHead.Kind.windowUpdate, 0, 0, ByteBuffer(integer: UInt32(moved)), context)
    }

    // MARK: What NIOHTTP2 sends

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var bytes) = self.unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        let sent = self.follower.follow(&bytes, answered: self.answered)
        self.window.spend(sent)
        self.budget.sent(sent)
        context.write(self.wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
        guard !self.isEvening, self.window.isUneven || self.follower.isLost && self.window.own > 0 else { return }
        self.isEvening = true
        // Not from here: NIOHTTP2 is in the middle of sending.
        context.eventLoop.assumeIsolated().execute {
            self.isEvening = false
            guard let context = self.context else { return }
            self.share.clearScratch()
            self.evenWindow(context)
            self.channelReadComplete(context: context)
        }
    }

    /// Closes when everything is written, but at once when asked again.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, !self.isClosing else { return context.close(mode: mode, promise: promise) }
        self.isClosing = true
        self.input.ignore()
        self.mustFlush = false
        let written = context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(ByteBuffer()))).assumeIsolated()
        written.whenComplete { _ in context.close(mode: mode, promise: promise) }
    }

    // MARK: Ends

    private enum Reason: UInt32 {
        case noError = 0
        case protocolError = 1
        case flowControl = 3
        case streamClosed = 5
        case refusedStream = 7
        case enhanceYourCalm = 11
    }

    /// Tells the client why, and closes.
    private func end(_ reason: Reason, _ context: ChannelHandlerContext) {
        FrameHead(length: 8, kind: FrameHead.Kind.goAway).write(to: &self.share.scratch)
        self.share.scratch.writeInteger(max(self.answered, self.routed))
        self.share.scratch.writeInteger(reason.rawValue)
        self.write(context)
        self.share.clearScratch()
        self.close(context: context, mode: .all, promise: nil)
    }

    func streamOpened() { self.open += 1 }

    /// A stream is about to be closed because its client took nothing of its answer for too long.
    func streamStalled() { self.hasStalled = true }

    func streamClosed() {
        self.open -= 1
        self.lastUse = self.share.now
    }

    /// Asks the client to go where no stream has been there for too long, and closes where it does not go, or took nothing
    /// and sends nothing. Called by ``EventLoopState`` in every round.
    func checkDeadlines() {
        guard self.open == 0, !self.isClosing, let context = self.context else { return }
        let silence = self.share.now &- self.lastReceived
        if self.hasStalled, silence >= EventLoopState.rounds(seconds: self.limits.writeSeconds) {
            self.share.clearScratch()
            return self.end(.noError, context)
        }
        let idle = self.share.now &- self.lastUse
        guard !self.isAskedToGo else {
            let limit = EventLoopState.rounds(seconds: self.limits.idleSeconds + self.limits.drainSeconds)
            if idle > limit { self.close(context: context, mode: .all, promise: nil) }
            return
        }
        guard idle >= EventLoopState.rounds(seconds: self.limits.idleSeconds) else { return }
        self.isAskedToGo = true
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}

import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOTLS

/// The first handler of a connection, next to the socket or to TLS: it answers plain requests for prepared answers from
/// bytes, without decoding them into messages, and keeps the connection's time limits.
///
/// A connection begins with this handler alone. As long as everything that comes is a request that ``HeadReader``
/// recognises and ``PreparedAnswers`` answers, it stays so: nothing is ever outstanding, so the order of pipelined
/// requests is kept. The first byte that is anything else calls in the HTTP/1.1 decoder and all that stands behind it,
/// for good; the byte itself and everything after it pass through untouched. Where ALPN chooses h2, HTTP/2 is called in
/// instead. A request for a stream of documents makes the connection a ``ClientStream``, for good as well.
final class FastPathHandler: ChannelDuplexHandler, ConnectionFront {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// What the connection is doing, and since when.
    private enum Phase {
        /// Nothing has been received yet, or TLS is not set up yet.
        case opening(since: UInt32)
        case waiting(since: UInt32)
        /// A head has begun and has not ended.
        case reading(since: UInt32)
        /// A request is being answered.
        case busy
        /// HTTP/2, on which something was sent or received last at that time. ``PreparedStreams`` asks the client to go
        /// where there is no stream; this is for clients that do not answer.
        case streaming(since: UInt32)
        case closing
    }

    private enum Content {
        case prepared
        /// The HTTP/1.1 decoder, or HTTP/2, stands behind.
        case messages
        /// An answer that does not end by itself. Nothing is read any more.
        case stream(ClientStream)
    }

    private let setup: ConnectionSetup
    private let share: EventLoopState
    private let upgrade: EventLoopPromise<ConnectionSetup.Exchange?>
    /// The connection has no place outside the operators' reserve: what is asked goes to the router, which knows operators.
    private var isOnTrial: Bool
    private let beganAt: UInt32
    /// A request's head has come: the connection keeps its place.
    private var isHeard = false
    private var isUpgraded = false
    /// There with HTTP/2.
    private var streams: PreparedStreams?
    /// There with HTTP/1.1 messages, and what the decoder is to get once some of the requests before it are answered.
    private var rules: HTTP1Rules?
    private var withheld = PipelineBuffer()
    private var content = Content.prepared
    private var phase: Phase
    private var mustFlush = false
    /// Nothing has been written since the last round found nothing to be left.
    private var isQuiet = true
    /// Bytes left to write when a round looked last, and since when nothing of them has gone.
    private var unwritten = 0
    private var stalledSince: UInt32 = 0
    private var context: ChannelHandlerContext?
    var indexInLoop: Int?

    init(
        setup: ConnectionSetup, share: EventLoopState, isOnTrial: Bool,
        upgrade: EventLoopPromise<ConnectionSetup.Exchange?>
    ) {
        self.setup = setup
        self.share = share
        self.upgrade = upgrade
        self.isOnTrial = isOnTrial
        self.beganAt = share.now
        self.phase = .opening(since: share.now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.share.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.leave() }

    func channelInactive(context: ChannelHandlerContext) {
        self.leave()
        context.fireChannelInactive()
    }

    private func leave() {
        self.share.remove(self)
        self.context = nil
        // The rules and the stream hold this handler: a cycle.
        self.rules = nil
        if case .stream(let stream) = self.content {
            stream.close()
            self.content = .prepared
        }
        self.withheld = PipelineBuffer()
        self.upgrade(to: nil)
    }

    private func upgrade(to exchange: ConnectionSetup.Exchange?) {
        guard !self.isUpgraded else { return }
        self.isUpgraded = true
        self.upgrade.succeed(exchange)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.isQuiet = false
        switch self.content {
        case .prepared: self.read(self.unwrapInboundIn(data), context)
        // There is no answer to another request before this one's ends.
        case .stream: context.close(promise: nil)
        case .messages:
            switch self.phase {
            case .waiting: self.phase = .reading(since: self.share.now)
            case .streaming: self.phase = .streaming(since: self.share.now)
            case .opening where self.streams != nil: self.phase = .streaming(since: self.share.now)
            default: break
            }
            guard self.rules != nil else { return context.fireChannelRead(data) }
            self.withheld.append(self.unwrapInboundIn(data))
            self.passOn(context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.mustFlush {
            self.mustFlush = false
            context.flush()
        }
        if case .messages = self.content { context.fireChannelReadComplete() }
    }

    private func read(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        if case .closing = self.phase { return }
        if self.isOnTrial, self.setup.places.promote(ObjectIdentifier(context.channel)) { self.isOnTrial = false }
        var buffer = buffer
        self.share.clearScratch()
        while buffer.readableBytes > 0 {
            // A client that does not read is held up by the handlers behind, which stop reading from it.
            let isAnswering = self.answers != nil && context.channel.isWritable
            let plain = isAnswering ? buffer.withUnsafeReadableBytes { HeadReader.read($0) } : nil
            guard let request = plain, self.answer(request, buffer, context) else {
                self.write(context)
                if let plain, self.beginStream(plain, buffer, context) { return }
                return self.callDecoder(with: buffer, context)
            }
            self.hear(context)
            buffer.moveReaderIndex(forwardBy: request.length)
            if self.share.scratch.readableBytes > Self.flushSize {
                self.write(context)
                context.flush()
                self.share.clearScratch()
            }
        }
        self.write(context)
        self.phase = .waiting(since: self.share.now)
    }

    /// Tells once that a request's head has come.
    private func hear(_ context: ChannelHandlerContext) {
        guard !self.isHeard else { return }
        self.isHeard = true
        self.setup.places.hear(ObjectIdentifier(context.channel))
    }

    /// What is answered here.
    private var answers: PreparedAnswers? { self.isOnTrial ? nil : self.setup.answers }

    private static let flushSize = 32 * 1024
    /// A longer body is sent in place, for every client: a copy would cost as much memory for each client that does not
    /// read.
    private static let copySize = 8 * 1024

    /// Adds the answer to the request at the start of `buffer` to the scratch buffer; false where the request is not for
    /// here.
    private func answer(_ request: PlainGet, _ buffer: ByteBuffer, _ context: ChannelHandlerContext) -> Bool {
        // The router puts several fields together.
        if request.hasMoreForwardedFor, self.share.notes != nil { return false }
        let found: PreparedAnswer.Variant? = buffer.withUnsafeReadableBytes { bytes in
            let target = UnsafeRawBufferPointer(rebasing: bytes[request.target])
            guard let answer = self.answers?.answer(to: target) else { return nil }
            let condition = request.text(request.ifNoneMatch, in: bytes)
            let preference = self.share.preference(request.text(request.acceptEncoding, in: bytes))
            guard let variant = answer.ready(ifNoneMatch: condition, preference) else { return nil }
            self.share.tally.count(
                answer, variant.response.status, condition, request.text(request.clientReport, in: bytes))
            self.share.notes?.notePrepared(
                "GET", String(decoding: target, as: UTF8.self), variant, peer: context.channel.remoteAddress,
                forwardedFor: request.text(request.forwardedFor, in: bytes))
            return variant
        }
        guard let variant = found else { return false }
        self.share.scratch.writeImmutableBuffer(variant.head)
        self.share.scratch.writeBytes(self.share.headEnd)
        self.share.served.count(variant.response.status)
        guard let body = variant.body else { return true }
        if body.readableBytes <= Self.copySize {
            self.share.scratch.writeImmutableBuffer(body)
        } else {
            self.write(context)
            self.share.clearScratch()
            context.write(self.wrapOutboundOut(.byteBuffer(body)), promise: nil)
        }
        return true
    }

    private func write(_ context: ChannelHandlerContext) {
        guard self.share.scratch.readableBytes > 0 else { return }
        context.write(self.wrapOutboundOut(.byteBuffer(self.share.scratch)), promise: nil)
        self.mustFlush = true
    }

    /// Begins the stream that the one request in `buffer` asks for; false where it asks for something else.
    private func beginStream(_ request: PlainGet, _ buffer: ByteBuffer, _ context: ChannelHandlerContext) -> Bool {
        guard context.channel.isWritable, request.length == buffer.readableBytes,
            let wanted = buffer.withUnsafeReadableBytes({ request.streamRequest(in: $0) }),
            let stream = ClientStream(wanted, self.share, context)
        else { return false }
        self.share.notes?.noteStream(
            of: wanted.app, peer: context.channel.remoteAddress, forwardedFor: wanted.forwardedFor)
        self.hear(context)
        self.content = .stream(stream)
        self.phase = .busy
        self.mustFlush = false
        // Last: it may be what closes the connection.
        context.flush()
        return true
    }

    /// Calls in the HTTP/1.1 handlers and passes on what came.
    private func callDecoder(with buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        self.content = .messages
        self.phase = .reading(since: self.share.now)
        let rules = HTTP1Rules(front: self, onRefusal: self.setup.audit)
        self.rules = rules
        do {
            self.upgrade(to: .http1(try self.setup.addHTTP1(to: context.channel, rules, isOnTrial: self.isOnTrial)))
        } catch {
            // Handlers can only be added to a channel that is there.
            context.close(promise: nil)
            return
        }
        self.withheld.append(buffer)
        self.passOn(context)
    }

    // MARK: Pipelined requests

    /// Gives the decoder what came, piece by piece, for as long as few requests are being answered: it makes messages of
    /// all that it gets, many times as large as the bytes.
    private func passOn(_ context: ChannelHandlerContext) {
        guard let rules, !self.withheld.isPassing else { return }
        self.withheld.isPassing = true
        while rules.outstanding < PipelineBuffer.requestLimit,
            let piece = self.withheld.next(ofBody: rules.remainingBody)
        {
            context.fireChannelRead(self.wrapInboundOut(piece))
        }
        self.withheld.isPassing = false
        guard self.withheld.isEmpty else { return }
        if self.withheld.takeEnd() { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        if self.withheld.takeRead() { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        if self.withheld.isEmpty { context.read() } else { self.withheld.wantsRead = true }
    }

    func hasAnswered() {
        guard !self.withheld.isEmpty, !self.withheld.isScheduled, let context = self.context else { return }
        self.withheld.isScheduled = true
        // Not from here: the answer is in the middle of being written.
        context.eventLoop.assumeIsolated().execute {
            self.withheld.isScheduled = false
            guard let context = self.context else { return }
            self.passOn(context)
            context.fireChannelReadComplete()
        }
    }

    // MARK: What the HTTP/1.1 handlers tell

    func isAnswering() {
        if let context = self.context { self.hear(context) }
        if case .closing = self.phase {} else { self.phase = .busy }
    }

    func isWaiting() { if case .closing = self.phase {} else { self.phase = .waiting(since: self.share.now) } }

    func afterWrites(_ then: @escaping () -> Void) {
        guard let context = self.context else { return then() }
        // Writes complete in their order.
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(ByteBuffer()))).assumeIsolated().whenComplete { _ in
            then()
        }
    }

    // MARK: Events

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"): self.addHTTP2(context)
        case TLSUserEvent.handshakeCompleted: self.phase = .opening(since: self.share.now)
        case is ChannelShouldQuiesceEvent:
            // Whatever is not done by then is cut off.
            context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(self.setup.limits.drainSeconds))) {
                self.context?.close(promise: nil)
            }
            if case .stream(let stream) = self.content { stream.end() }
            if case .messages = self.content {} else { self.closeWhenWritten(context) }
        case ChannelEvent.inputClosed:
            if case .stream = self.content { return context.close(promise: nil) }
            // Nothing is outstanding here, so that what was asked is answered, if not yet sent.
            if case .prepared = self.content { self.closeWhenWritten(context) }
            if !self.withheld.isEmpty {
                self.withheld.hasEnd = true
                return
            }
        default: break
        }
        if case .messages = self.content { context.fireUserInboundEventTriggered(event) }
    }

    private func addHTTP2(_ context: ChannelHandlerContext) {
        self.content = .messages
        self.phase = .opening(since: self.share.now)
        let streams = PreparedStreams(
            answers: self.answers, share: self.share, limits: self.setup.limits, onRefusal: self.setup.audit,
            onHead: { [weak self] in if let self, let context = self.context { self.hear(context) } })
        self.streams = streams
        // Handlers can only be added to a channel that is there.
        do { try context.pipeline.syncOperations.addHandler(streams) } catch { return context.close(promise: nil) }
        let http2 = self.setup.addHTTP2(to: context.channel, isOnTrial: self.isOnTrial).assumeIsolated()
        http2.whenSuccess { self.upgrade(to: $0) }
        http2.whenFailure { _ in context.close(promise: nil) }
    }

    private func closeWhenWritten(_ context: ChannelHandlerContext) {
        self.phase = .closing
        self.mustFlush = false
        self.afterWrites { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch self.content {
        case .messages: context.fireErrorCaught(error)
        // A connection reset, a TLS handshake that failed: no client is left to tell.
        case .prepared, .stream: context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.isQuiet = false
        if case .streaming = self.phase { self.phase = .streaming(since: self.share.now) }
        context.write(data, promise: promise)
    }

    // MARK: Time limits

    func checkDeadlines() {
        guard let context = self.context else { return }
        let limits = self.setup.limits
        if self.isOnTrial, self.hasPassed(limits.headerSeconds, since: self.beganAt) {
            guard self.setup.places.trial(among: [ObjectIdentifier(context.channel)]) == nil else {
                return self.expire(context)
            }
            // Meanwhile it has become an operator's, or has found a place.
            self.isOnTrial = false
        }
        // First: what it says counts as sent.
        self.streams?.checkDeadlines()
        switch self.phase {
        case .opening(let since), .reading(let since):
            if self.hasPassed(limits.headerSeconds, since: since) { return self.expire(context) }
        case .waiting(let since), .streaming(let since):
            if self.hasPassed(limits.idleSeconds, since: since) { return self.expire(context) }
        case .busy:
            if case .stream(let stream) = self.content {
                self.isQuiet = false
                stream.makeRound()
            }
        case .closing: break
        }
        self.checkProgress(context, limits)
    }

    /// Closes the connection of a client that has not read for too long.
    private func checkProgress(_ context: ChannelHandlerContext, _ limits: Server.Limits) {
        guard !self.isQuiet else { return }
        guard let left = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes) else { return }
        if left == 0 {
            self.unwritten = 0
            if case .waiting = self.phase { self.isQuiet = true }
        } else if self.unwritten == 0 || left < self.unwritten {
            self.stalledSince = self.share.now
            self.unwritten = left
        } else {
            self.unwritten = left
            if self.hasPassed(limits.writeSeconds, since: self.stalledSince) { self.expire(context) }
        }
    }

    private func hasPassed(_ seconds: Int, since: UInt32) -> Bool {
        self.share.now &- since > EventLoopState.rounds(seconds: seconds)
    }

    private func expire(_ context: ChannelHandlerContext) {
        self.phase = .closing
        context.close(promise: nil)
    }
}

import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import PinWire

/// What HTTP/1.1 asks of a connection beyond the syntax of messages (RFC 9112): which requests must be refused because
/// another program might read them in another way, when the connection ends, and that nothing is answered after that.
///
/// A request that is refused here is answered in its turn, once everything before it is, and is the last: not one byte
/// behind it is read as a request.
final class HTTP1Rules: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Input {
        case open
        /// What comes in is not looked at any more.
        case ignored
    }

    private let front: any ConnectionFront
    /// Called with each request that is refused here.
    private let onRefusal: OnRefusal
    private var input = Input.open
    /// Requests that were passed on and are not answered to the end.
    private(set) var outstanding = 0
    /// A request that was passed on has not come in to its end.
    private var isReading = false
    /// Bytes that its body still has to have; 0 where that is not known, or it has none.
    private(set) var remainingBody = 0
    /// The last request that was passed on came by HTTP/1.0.
    private var isOld = false
    /// The connection closes when nothing is outstanding any more.
    private var mustClose = false
    /// What the last request on this connection is answered with.
    private var refusal: Problem?
    /// The last answer has gone out.
    private var isFinished = false

    init(front: any ConnectionFront, onRefusal: @escaping OnRefusal) {
        self.front = front
        self.onRefusal = onRefusal
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.input == .open else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.front.isAnswering()
            if let problem = Self.problem(of: head) { return self.refuse(problem, context) }
            self.isOld = head.version == .http1_0
            let plain = head.inASCII
            if self.isLast(plain) { self.mustClose = true }
            self.outstanding += 1
            self.isReading = true
            self.remainingBody = plain.headers["Content-Length"].first.flatMap { Int($0) } ?? 0
            context.fireChannelRead(self.wrapInboundOut(.head(plain)))
        case .body(let bytes):
            self.remainingBody = max(0, self.remainingBody - bytes.readableBytes)
            context.fireChannelRead(data)
        case .end:
            self.isReading = false
            self.remainingBody = 0
            if self.mustClose { self.input = .ignored } else if self.outstanding == 0 { self.front.isWaiting() }
            context.fireChannelRead(data)
        }
    }

    /// What is wrong with a head that the decoder accepted.
    private static func problem(of head: HTTPRequestHead) -> Problem? {
        func refused(_ sentence: String) -> Problem { Problem(.malformedRequest, sentence) }
        guard head.version == .http1_1 || head.version == .http1_0 else {
            return refused("The version of HTTP must be 1.1 or 1.0.")
        }
        guard HTTPRequest.Method(head.method.rawValue) != nil else { return refused("The method is not a token.") }
        let hosts = head.headers["Host"]
        guard hosts.count == 1 || hosts.isEmpty && head.version == .http1_0 else {
            return refused("There must be one Host field.")
        }
        if let host = hosts.first, !host.utf8.allSatisfy(Self.isHostByte) {
            return refused("The Host field does not name a host.")
        }
        let lengths = head.headers["Content-Length"]
        let codings = head.headers["Transfer-Encoding"]
        guard lengths.count <= 1, codings.isEmpty || lengths.isEmpty else {
            return refused("The length of the body is given more than once.")
        }
        if let length = lengths.first, length.isEmpty || !length.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return refused("Content-Length must be a number.")
        }
        if !codings.isEmpty {
            guard head.version == .http1_1, codings.count == 1, codings[0].isASCII,
                codings[0].lowercased() == "chunked"
            else {
                return refused("The only supported Transfer-Encoding is chunked, in HTTP/1.1.")
            }
        }
        return nil
    }

    /// What a host and a port may be spelled with (RFC 3986 section 3.2.2), and nothing that splits or ends a value.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%!$&'()*+;=:[]".utf8.contains(byte)
        }
    }

    /// Whether nothing can come after this request.
    private func isLast(_ head: HTTPRequestHead) -> Bool {
        let options = head.headers[canonicalForm: "Connection"].map { $0.lowercased() }
        if options.contains("close") { return true }
        if head.version == .http1_0 { return !options.contains("keep-alive") }
        // Neither is offered here, and the decoder takes no request after one of them.
        return head.method == .CONNECT || head.headers.contains(name: "Upgrade")
    }

    // MARK: Refusals

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        guard self.input == .open else { return }
        guard self.isReading else { return self.refuse(Self.problem(of: error), context) }
        // The head is with the router already, which answers for the body.
        self.input = .ignored
        self.mustClose = true
        if self.outstanding == 0 { self.finish(context) }
        context.fireErrorCaught(error)
    }

    private static func problem(of error: HTTPParserError) -> Problem {
        switch error {
        case .headerOverflow:
            Problem(
                .headersTooLarge, "A head may have 64 fields; a field or the target 8 KiB, all of them together 16 KiB."
            )
        default: Problem(.malformedRequest, "The request is not valid HTTP/1.1 (RFC 9112).")
        }
    }

    /// Reads nothing more and answers with a problem when it is its turn.
    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
        self.input = .ignored
        self.mustClose = true
        self.refusal = problem
        self.front.isAnswering()
        if self.outstanding == 0 { self.writeRefusal(context) }
    }

    private func writeRefusal(_ context: ChannelHandlerContext) {
        guard let refusal = self.refusal else { return self.finish(context) }
        let requestID = "\(RequestID())"
        self.onRefusal(refusal, requestID, context.remoteAddress)
        var (response, body) = refusal.parts(requestID: requestID)
        response.headerFields[.requestID] = requestID
        response.headerFields[.contentTypeOptions] = "nosniff"
        response.headerFields[.connection] = "close"
        context.write(self.wrapOutboundOut(.head(HTTPResponseHead(response))), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.write(self.wrapOutboundOut(.end(nil)), promise: nil)
        self.finish(context)
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !self.isFinished else {
            promise?.succeed()
            return
        }
        switch self.unwrapOutboundIn(data) {
        case .head(var head):
            guard head.status.code >= 200 else { return context.write(data, promise: promise) }
            if self.isOld, self.outstanding == 1 {
                // HTTP/1.0 knows no chunks: a body without a length ends with the connection.
                if head.headers["Content-Length"].isEmpty, head.status != .notModified { self.mustClose = true }
                if !self.mustClose { head.headers.replaceOrAdd(name: "Connection", value: "keep-alive") }
                head.version = .http1_0
            }
            if self.mustClose, self.outstanding == 1, self.refusal == nil {
                head.headers.replaceOrAdd(name: "Connection", value: "close")
            }
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            self.outstanding -= 1
            context.write(data, promise: promise)
            self.front.hasAnswered()
            guard self.outstanding == 0 else { return }
            if self.mustClose { self.writeRefusal(context) } else if !self.isReading { self.front.isWaiting() }
        }
    }

    /// Sends what is written, then the end, and gives the client a moment to read it: to close at once would take the
    /// answer back from a client that is still sending.
    private func finish(_ context: ChannelHandlerContext) {
        self.isFinished = true
        self.input = .ignored
        let channel = context.channel
        self.front.afterWrites {
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        }
    }

    /// Where the client has sent its last byte, to close one half closes both, with all that is not sent yet.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output, !self.isFinished else { return context.close(mode: mode, promise: promise) }
        self.front.afterWrites { context.close(mode: mode, promise: promise) }
    }

    // MARK: Events

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            if self.outstanding == 0, !self.isReading {
                self.finish(context)
            } else {
                self.mustClose = true
                if !self.isReading { self.input = .ignored }
            }
        case ChannelEvent.inputClosed where self.isFinished: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }
}

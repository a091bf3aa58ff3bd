import Concurrency
import Glibc
import NIOCore

/// What a client sends that wants a stream of an app's documents.
struct StreamRequest {
    var app: String
    var lastEventID: String?
    var clientReport: String?
    var forwardedFor: String?

    private static let prefix = Array("/client/v1/apps/".utf8)
    private static let suffix = Array("/stream".utf8)

    /// The app whose stream a request target of printable ASCII asks for; nil where it asks for something else.
    static func app(in target: UnsafeRawBufferPointer) -> String? {
        guard target.count > Self.prefix.count + Self.suffix.count, target.starts(with: Self.prefix),
            target.suffix(Self.suffix.count).elementsEqual(Self.suffix)
        else { return nil }
        return String(decoding: target[Self.prefix.count..<(target.count - Self.suffix.count)], as: UTF8.self)
    }
}

/// A client's stream of one app's documents on an HTTP/1.1 connection on which nothing else was asked for.
///
/// It keeps no document: what is sent is the app's shared bytes, and a client that has not taken the last of them gets
/// nothing more until it has, and then the newest.
final class ClientStream {
    let app: String
    /// Belongs to ``LoopStreams``.
    var place: Int?
    private let share: EventLoopState
    private let slot: ConcurrencyLimiter<StreamSharer>.Place
    private let context: ChannelHandlerContext
    /// The document that was written last.
    private var sent: String?
    /// There is a newer document than the last, for which the client has had no room.
    private var isBehind = false
    /// Its last chunk is written: behind it nothing may come.
    private var isEnded = false
    private var nextHeartbeat: UInt32

    private static let head = """
        HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
        X-Content-Type-Options: nosniff\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\
        Date:\u{20}
        """
    /// How long what was sent may go without the client's acknowledging it.
    private static let silenceMilliseconds: SocketOptionValue = 60_000
    private static let alive = DocumentEvent.chunk(DocumentEvent.alive)

    /// The stream that was asked for, with its answer begun and not flushed; nil where it has to be refused: the router does
    /// that.
    init?(_ request: StreamRequest, _ share: EventLoopState, _ context: ChannelHandlerContext) {
        let push = share.streams.push
        guard push.event(of: request.app) != nil,
            let slot = push.slot(in: push.network(of: context.remoteAddress, forwardedFor: request.forwardedFor))
        else { return nil }
        self.app = request.app
        self.share = share
        self.slot = slot
        self.context = context
        self.sent = request.lastEventID
        self.nextHeartbeat = share.now
        self.isBehind = false
        self.setHeartbeat()
        // A client that has vanished acknowledges no heartbeat; by itself, TCP would go on trying for a quarter of an hour.
        let patience = NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT)
        try? context.channel.syncOptions?.setOption(.tcpOption(patience), value: Self.silenceMilliseconds)
        // Before the document is looked up: one that is published from here on wakes this stream.
        share.streams.add(self)
        share.clearScratch()
        share.scratch.writeString(Self.head)
        share.scratch.writeBytes(share.headEnd)
        share.scratch.writeImmutableBuffer(DocumentEvent.chunk(": pinledger\n\(DocumentEvent.retry())"))
        self.write(share.scratch)
        guard let event = push.event(of: request.app) else { return }
        push.count(event, last: request.lastEventID, report: request.clientReport)
        if event.id != request.lastEventID {
            self.write(event.chunk)
            self.sent = event.id
        }
    }

    /// Gives the place back. The stream must not be used after it.
    func close() {
        self.share.streams.remove(self)
        self.slot.release()
    }

    /// Sends a document, or remembers that there is one.
    func send(_ event: DocumentEvent) {
        guard !self.isEnded, self.sent != event.id else { return }
        guard self.hasRoom else {
            self.isBehind = true
            return
        }
        self.isBehind = false
        self.sent = event.id
        self.write(event.chunk)
        self.context.flush()
    }

    /// Sends what is due. Called in every round of the loop.
    func makeRound() {
        guard !self.isEnded else { return }
        if self.isBehind, self.hasRoom, let event = self.share.streams.push.event(of: self.app) { self.send(event) }
        // The clock of rounds wraps.
        guard Int32(bitPattern: self.share.now &- self.nextHeartbeat) >= 0 else { return }
        self.setHeartbeat()
        guard self.hasRoom else { return }
        self.write(Self.alive)
        self.context.flush()
    }

    /// Ends the answer, and says when to come back.
    func end() {
        guard !self.isEnded else { return }
        self.isEnded = true
        self.share.streams.remove(self)
        self.write(DocumentEvent.chunk(DocumentEvent.retry()))
        self.write(ByteBuffer(string: "0\r\n\r\n"))
    }

    /// Whether the client has taken everything that was written.
    private var hasRoom: Bool {
        (try? self.context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 == 0
    }

    private func write(_ bytes: ByteBuffer) {
        self.context.write(NIOAny(IOData.byteBuffer(bytes)), promise: nil)
    }

    private func setHeartbeat() {
        // Streams that began in one instant do not go on in step.
        let latest = EventLoopState.rounds(seconds: DocumentEvent.heartbeat / 1000)
        self.nextHeartbeat = self.share.now &+ UInt32.random(in: (latest - latest / 3)...latest)
    }
}

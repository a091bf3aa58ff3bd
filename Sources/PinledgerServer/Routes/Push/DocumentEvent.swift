import NIOCore
import PinWire
import Publishing

/// An app's current document as a server-sent event, made once and shared by all streams of the app.
struct DocumentEvent: Sendable {
    /// The document's entity tag without its quotes, by which a returning client names its document: other bytes have
    /// another one, also where a version is signed again within a second.
    let id: String
    let app: AppID
    let version: Int64
    /// The event as text.
    let text: ByteBuffer
    /// The same as one chunk of HTTP/1.1.
    let chunk: ByteBuffer
    let body: PreparedBody

    /// The largest document that is sent itself; for a longer one only its version and tag are, and the client fetches
    /// it.
    static let documentLimit = 64 * 1024

    init(_ document: PublishedDocument) {
        let identity = document.body.identity
        self.id = String(identity.tag.dropFirst().dropLast())
        self.app = document.app
        self.version = document.version
        self.body = document.body
        var text = ByteBuffer()
        text.writeString("id: \(self.id)\nevent: document\ndata: ")
        if identity.bytes.readableBytes <= Self.documentLimit {
            // A compact JWS has no line feed.
            text.writeImmutableBuffer(identity.bytes)
        } else {
            let news: JSON = ["version": .integer(document.version), "etag": .string(identity.tag)]
            text.writeBytes(news.canonicalBytes)
        }
        text.writeString("\n\n")
        self.chunk = Self.chunk(text)
        // The same memory: a line with the length before it, a line feed after it.
        self.text =
            self.chunk.getSlice(at: self.chunk.writerIndex - text.readableBytes - 2, length: text.readableBytes) ?? text
    }

    /// A chunk of HTTP/1.1 (RFC 9112 section 7.1).
    static func chunk(_ text: ByteBuffer) -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(text.readableBytes + 12)
        chunk.writeString(String(text.readableBytes, radix: 16) + "\r\n")
        chunk.writeImmutableBuffer(text)
        chunk.writeString("\r\n")
        return chunk
    }

    static func chunk(_ text: String) -> ByteBuffer { self.chunk(ByteBuffer(string: text)) }

    /// When a client that has lost its stream should return: some time within ten seconds, so that all those that lose
    /// it together do not return in one instant.
    static func retry() -> String { "retry: \(Int.random(in: 500...10_000))\n\n" }

    /// The heartbeat for clients and proxies.
    static let alive = ": alive\n\n"
    /// The longest time between two of them, in milliseconds.
    static let heartbeat = 15_000
}

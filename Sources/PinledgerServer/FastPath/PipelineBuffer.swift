import NIOCore

/// Bytes of an HTTP/1.1 connection that are withheld from the decoder, because enough requests before them wait for
/// their answers.
struct PipelineBuffer {
    /// The most requests that are decoded before the first of them is answered, and the rest of a piece.
    static let requestLimit = 4
    private static let pieceSize = 1024

    private var bytes = ByteBuffer()
    /// The end of the client's input comes after the bytes.
    var hasEnd = false
    /// A read was requested meanwhile.
    var wantsRead = false
    /// A piece is being decoded.
    var isPassing = false
    var isScheduled = false

    var isEmpty: Bool { self.bytes.readableBytes == 0 }

    mutating func append(_ more: ByteBuffer) {
        if self.isEmpty { self.bytes = more } else { self.bytes.writeImmutableBuffer(more) }
    }

    /// The next piece; nil where nothing is left.
    ///
    /// - Parameter body: The bytes of a body that are still to come. They are one message, however many there are.
    mutating func next(ofBody body: Int) -> ByteBuffer? {
        let length = min(self.bytes.readableBytes, max(Self.pieceSize, body))
        guard length > 0, let piece = self.bytes.readSlice(length: length) else { return nil }
        // The memory of passed-on bytes must not be kept for the rest.
        if self.isEmpty { self.bytes = ByteBuffer() }
        return piece
    }

    mutating func takeEnd() -> Bool {
        defer { self.hasEnd = false }
        return self.hasEnd
    }

    mutating func takeRead() -> Bool {
        defer { self.wantsRead = false }
        return self.wantsRead
    }
}

import NIOCore
import NIOHPACK

/// A block of fields that HEADERS begins and CONTINUATION continues (RFC 9113 section 4.3).
struct OpenBlock {
    let stream: UInt32
    /// No frame follows it on the stream.
    let isEnd: Bool
    private(set) var bytes: ByteBuffer
    private var frames = 1

    /// Takes a HEADERS frame's part of the block, without padding and priority; nil where these are longer than the
    /// frame.
    ///
    /// - Parameter frame: The whole frame, its head first.
    init?(_ head: FrameHead, _ frame: ByteBuffer) {
        var start = FrameHead.size
        var padding = 0
        if head.flags & FrameHead.Flag.padded != 0 {
            padding = Int(frame.getInteger(at: frame.readerIndex + start, as: UInt8.self) ?? 0)
            start += 1
        }
        if head.flags & FrameHead.Flag.priority != 0 { start += 5 }
        let length = FrameHead.size + head.length - start - padding
        guard length >= 0, let bytes = frame.getSlice(at: frame.readerIndex + start, length: length) else {
            return nil
        }
        self.stream = head.stream
        self.isEnd = head.flags & FrameHead.Flag.endStream != 0
        self.bytes = bytes
    }

    /// Whether a frame is the block's next part.
    func isContinued(by head: FrameHead) -> Bool {
        head.kind == FrameHead.Kind.continuation && head.stream == self.stream
    }

    /// Takes a CONTINUATION frame's part.
    ///
    /// - Returns: False where the block is longer than NIOHTTP2 accepts.
    mutating func append(_ payload: ByteBuffer) -> Bool {
        self.frames += 1
        self.bytes.writeImmutableBuffer(payload)
        return self.frames <= 6 && self.bytes.readableBytes <= HPACKDecoder.defaultMaxHeaderListSize
    }
}

import NIOCore

/// Follows the frames that NIOHTTP2 sends.
struct FrameFollower {
    /// Bytes of the present frame that have not come.
    private var left = 0
    /// NIOHTTP2 has sent GOAWAY, and will answer no stream that begins now.
    private(set) var hasAskedToGo = false
    /// It has said which stream is the last.
    private(set) var hasSaidLast = false
    /// A frame's head came in pieces, which never happens; from here on the state is unknown.
    private(set) var isLost = false

    /// Whether a frame may be inserted here.
    var isBetweenFrames: Bool { self.left == 0 && !self.isLost }

    /// Reads the next bytes.
    ///
    /// - Parameter answered: The last stream that was answered without NIOHTTP2. Where a GOAWAY names an earlier one as
    ///   the last, this one replaces it.
    /// - Returns: The number of bytes of bodies in them.
    mutating func follow(_ buffer: inout ByteBuffer, answered: UInt32) -> Int {
        guard !self.isLost else { return 0 }
        var sent = 0
        var at = buffer.readerIndex
        while at < buffer.writerIndex {
            if self.left > 0 {
                let count = min(self.left, buffer.writerIndex - at)
                self.left -= count
                at += count
                continue
            }
            guard let head = FrameHead(buffer, at: at) else {
                self.isLost = true
                return sent
            }
            at += FrameHead.size
            self.left = head.length
            switch head.kind {
            case FrameHead.Kind.data: sent += head.length
            case FrameHead.Kind.goAway:
                self.hasAskedToGo = true
                guard let last = buffer.getInteger(at: at, as: UInt32.self), last & 0x7FFF_FFFF < 0x7FFF_FFFF else {
                    break
                }
                self.hasSaidLast = true
                if last < answered { buffer.setInteger(answered, at: at) }
            default: break
            }
        }
        return sent
    }
}

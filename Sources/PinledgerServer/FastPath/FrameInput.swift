import NIOCore

/// What a client sends on an HTTP/2 connection, cut into meaningful parts: frames, and the blocks of fields that
/// several of them may make. It keeps less than a frame, and the block that has begun.
struct FrameInput {
    enum Piece {
        /// To be passed on as it came: a part of the client's preface, or of what NIOHTTP2 ends the connection over.
        case bytes(ByteBuffer)
        /// A whole frame, its head first.
        case frame(FrameHead, ByteBuffer)
        /// A whole block of fields, in the place of the frames that it came in.
        case block(OpenBlock)
        /// The client has broken a rule about blocks. What comes behind means nothing.
        case mistake(Mistake)
    }

    enum Mistake {
        /// Padding longer than the frame, or another frame within a block.
        case malformed
        /// A block longer than is taken.
        case tooLong
    }

    private enum State {
        /// So many bytes of the client's preface are still to come.
        case preface(Int)
        case frames
        /// A block of fields has begun, in which no other frame may come.
        case block(OpenBlock)
        /// NIOHTTP2 ends the connection over what comes next.
        case passed
        case ignored
    }

    private var state = State.preface(24)
    /// What has come and is not dealt with.
    private var received = ByteBuffer()

    mutating func receive(_ data: ByteBuffer) {
        if self.received.readableBytes == 0 {
            self.received = data
        } else {
            self.received.discardReadBytes()
            self.received.writeImmutableBuffer(data)
        }
    }

    /// What stands first; nil where more has to come.
    mutating func next() -> Piece? {
        while self.received.readableBytes > 0 {
            switch self.state {
            case .preface(let left):
                let count = min(left, self.received.readableBytes)
                self.state = count == left ? .frames : .preface(left - count)
                return self.received.readSlice(length: count).map { .bytes($0) }
            case .frames, .block:
                guard let head = FrameHead(self.received, at: self.received.readerIndex) else { return nil }
                guard head.length <= FrameHead.maximumLength else {
                    self.state = .passed
                    continue
                }
                // Nothing else may stand within a block: as NIOHTTP2, this does not wait for the rest of such a frame.
                if case .block(let block) = self.state, !block.isContinued(by: head) {
                    self.ignore()
                    return .mistake(.malformed)
                }
                guard let frame = self.received.readSlice(length: FrameHead.size + head.length) else { return nil }
                if let piece = self.piece(head, frame) { return piece }
            case .passed: return self.received.readSlice(length: self.received.readableBytes).map { .bytes($0) }
            case .ignored: self.received.clear()
            }
        }
        self.received = ByteBuffer()
        return nil
    }

    /// What a frame is or completes; nil for one with which a block begins or goes on.
    private mutating func piece(_ head: FrameHead, _ frame: ByteBuffer) -> Piece? {
        let opened: OpenBlock
        if case .block(var block) = self.state {
            guard let payload = frame.getSlice(at: frame.readerIndex + FrameHead.size, length: head.length) else {
                return .mistake(.malformed)
            }
            guard block.append(payload) else { return .mistake(.tooLong) }
            opened = block
        } else {
            guard head.kind == FrameHead.Kind.headers else { return .frame(head, frame) }
            guard let block = OpenBlock(head, frame) else { return .mistake(.malformed) }
            opened = block
        }
        guard head.flags & FrameHead.Flag.endHeaders != 0 else {
            self.state = .block(opened)
            return nil
        }
        self.state = .frames
        return .block(opened)
    }

    /// Has everything passed on that is still to come.
    mutating func pass() { self.state = .passed }

    /// Forgets what is there and what is still to come.
    mutating func ignore() {
        self.state = .ignored
        self.received.clear()
    }
}

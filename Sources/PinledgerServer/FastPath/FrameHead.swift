import NIOCore

/// The head of a frame of HTTP/2 (RFC 9113 section 4.1).
struct FrameHead: Hashable {
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let resetStream: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    enum Flag {
        static let endStream: UInt8 = 0x01
        /// The flag ACK of SETTINGS.
        static let acknowledgement: UInt8 = 0x01
        static let endHeaders: UInt8 = 0x04
        static let padded: UInt8 = 0x08
        static let priority: UInt8 = 0x20
    }

    /// Bytes of the payload.
    var length: Int
    var kind: UInt8
    var flags: UInt8 = 0
    /// 0 for the connection as a whole.
    var stream: UInt32 = 0

    /// Bytes of the head itself.
    static let size = 9
    /// What a payload may have as long as nobody has said otherwise (section 4.2).
    static let maximumLength = 16_384
}

extension FrameHead {
    /// Whether the frame neither makes nor ends a request, nor is of a type that NIOHTTP2 counts.
    var asksNothing: Bool {
        switch self.kind {
        case Kind.data, Kind.headers, Kind.continuation, Kind.resetStream, Kind.settings, Kind.ping: false
        default: true
        }
    }

    /// Reads a head; nil where there are not bytes enough for one.
    init?(_ buffer: ByteBuffer, at index: Int) {
        guard let start = buffer.getInteger(at: index, as: UInt64.self),
            let end = buffer.getInteger(at: index + 8, as: UInt8.self)
        else { return nil }
        self.length = Int(start >> 40)
        self.kind = UInt8(truncatingIfNeeded: start >> 32)
        self.flags = UInt8(truncatingIfNeeded: start >> 24)
        self.stream = (UInt32(truncatingIfNeeded: start) << 8 | UInt32(end)) & 0x7FFF_FFFF
    }

    func write(to buffer: inout ByteBuffer) {
        let start = UInt64(self.length) << 40 | UInt64(self.kind) << 32 | UInt64(self.flags) << 24
        buffer.writeInteger(start | UInt64(self.stream >> 8))
        buffer.writeInteger(UInt8(truncatingIfNeeded: self.stream))
    }
}

/// How many frames that ask for nothing a client may send on an HTTP/2 connection: WINDOW_UPDATE, PRIORITY,
/// PRIORITY_UPDATE, GOAWAY, and types that are not known (RFC 9113 section 10.5).
///
/// NIOHTTP2 limits PING, SETTINGS and RST_STREAM by itself. The others cost processor time and nothing else, and honest
/// clients send them in proportion to what they ask for and what they take: requests and bytes of bodies pay for them.
/// ``initial`` are free, and come back slowly.
struct FrameBudget {
    static let initial = 500
    /// What may be saved up.
    private static let limit = 5000
    private static let perRound: UInt32 = 5
    private static let perRequest = 5
    /// Some clients open both windows after each read, which may be a small one.
    private static let bytesPerFrame = 256

    private var left = Self.initial
    private var filledAt: UInt32
    /// Bytes that were sent and have not paid for a frame yet.
    private var bytes = 0

    /// - Parameter round: The present time in rounds of ``EventLoopState``.
    init(at round: UInt32) {
        self.filledAt = round
    }

    /// Takes one frame; false where the client has sent too many.
    mutating func spend(at round: UInt32) -> Bool {
        let rounds = round &- self.filledAt
        if rounds > 0 {
            self.filledAt = round
            let refilled = self.left + Int(min(rounds, UInt32(Self.initial)) * Self.perRound)
            self.left = max(self.left, min(Self.initial, refilled))
        }
        guard self.left > 0 else { return false }
        self.left -= 1
        return true
    }

    /// The client has made a request.
    mutating func request() { self.left = min(Self.limit, self.left + Self.perRequest) }

    /// The client was sent so many bytes of bodies.
    mutating func sent(_ count: Int) {
        self.bytes += count
        guard self.bytes >= Self.bytesPerFrame else { return }
        self.left = min(Self.limit, self.left + self.bytes / Self.bytesPerFrame)
        self.bytes %= Self.bytesPerFrame
    }
}

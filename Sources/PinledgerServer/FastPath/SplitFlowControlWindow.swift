/// The number of bytes of bodies that a client accepts on a connection (RFC 9113 section 6.9), divided between the
/// streams that are answered from prepared bytes and those of the router.
///
/// NIOHTTP2 keeps an account of its own, of the updates it receives. It gets the connection's initial window; of later
/// additions it receives only as much as it needs.
struct SplitFlowControlWindow {
    /// Left for prepared answers.
    private(set) var own = 0
    /// Left in NIOHTTP2's account.
    private(set) var routed = Self.initial

    private static let initial = 65_535
    private static let wanted = 4 * Self.initial
    private static let maximum = 0x7FFF_FFFF

    /// The client accepts that much more.
    ///
    /// - Returns: False where the window would exceed its maximum.
    mutating func grant(_ bytes: Int) -> Bool {
        self.own += bytes
        return self.own + self.routed <= Self.maximum
    }

    /// Takes a prepared answer's bytes, if there are so many left.
    mutating func take(_ bytes: Int) -> Bool {
        guard bytes <= self.own else { return false }
        self.own -= bytes
        return true
    }

    /// The router's streams have sent that much.
    mutating func spend(_ bytes: Int) { self.routed -= bytes }

    /// Whether NIOHTTP2 should receive more.
    var isUneven: Bool { self.routed < Self.initial && self.own > 0 }

    /// Moves bytes to NIOHTTP2's account, all of them permanently where nothing is answered here any more.
    ///
    /// - Returns: The number of bytes for a WINDOW_UPDATE to it.
    mutating func even(forGood: Bool) -> Int {
        let moved = forGood ? self.own : self.isUneven ? min(self.own, Self.wanted - self.routed) : 0
        self.own -= moved
        self.routed += moved
        return moved
    }
}

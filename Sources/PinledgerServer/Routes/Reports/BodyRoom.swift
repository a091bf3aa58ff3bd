/// Limits the memory of bodies: complete ones that wait to be read, and, separately, incomplete ones.
///
/// A client may be slow with a body, up to the connection's limit. So it has room for what it has sent, not for what it
/// has declared; and the less room is left, the less a single body may have of it: there is always some for the small
/// ones, which most are, however many clients send slowly and much.
struct BodyRoom: Sendable {
    /// Bytes of each of the two kinds.
    static let limit = 32 * 1024 * 1024
    /// An incomplete body may be at most this part of the rest.
    static let share = 16

    private(set) var arriving = 0
    private(set) var waiting = 0

    /// Gives a body that has `count` bytes so many more; false where there is no room.
    mutating func grow(_ count: Int, by more: Int) -> Bool {
        guard count + more <= (Self.limit - self.arriving) / Self.share else { return false }
        self.arriving += more
        return true
    }

    /// Takes back the room of a body that will not be complete.
    mutating func abandon(_ count: Int) { self.arriving -= count }

    /// Queues a complete body, which MUST ``leave(_:)`` again; false where there is no room.
    mutating func enter(_ count: Int) -> Bool {
        self.arriving -= count
        guard self.waiting + count <= Self.limit else { return false }
        self.waiting += count
        return true
    }

    mutating func leave(_ count: Int) { self.waiting -= count }
}

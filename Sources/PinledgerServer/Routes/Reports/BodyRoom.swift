/// How much memory bodies may take: those that are whole and wait to be read, and, apart from them, those that are still
/// on their way.
///
/// A client may take its time over a body, up to the connection's limit. So it has room for what it has sent, not for what
/// it says it will; and the less room is left, the less a single body may have of it: there always is some for the small
/// ones, which most are, whoever else sends slowly and much.
struct BodyRoom: Sendable {
    /// Bytes of each of the two kinds.
    static let limit = 32 * 1024 * 1024
    /// A body that is on its way may be so many times smaller than what is left.
    static let share = 16

    private(set) var arriving = 0
    private(set) var waiting = 0

    /// Gives a body that has `count` bytes so many more; false where there is no room.
    mutating func grow(_ count: Int, by more: Int) -> Bool {
        guard count + more <= (Self.limit - self.arriving) / Self.share else { return false }
        self.arriving += more
        return true
    }

    /// Takes back what a body had that will not be whole.
    mutating func abandon(_ count: Int) { self.arriving -= count }

    /// Has a body wait that is whole, which MUST ``leave(_:)`` again; false where there is no room.
    mutating func enter(_ count: Int) -> Bool {
        self.arriving -= count
        guard self.waiting + count <= Self.limit else { return false }
        self.waiting += count
        return true
    }

    mutating func leave(_ count: Int) { self.waiting -= count }
}

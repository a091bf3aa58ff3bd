/// One piece of work of the product, which is done again and again.
struct Work: Sendable {
    /// Its name in tables and files: lower-case letters, digits and hyphens.
    let name: String
    /// How often it is done between two marks.
    let count: Int
    /// How often it is counted, for the least of the counts: more than once where other threads have work of their own meanwhile.
    let rounds: Int
    /// Makes its input, and what does it once, the turn given: turns count on from 0. The result of each turn has to be used, or none
    /// of the work need be done.
    let make: @Sendable () throws -> (Int) throws -> Int

    init(_ name: String, count: Int, rounds: Int = 1, _ make: @escaping @Sendable () throws -> (Int) throws -> Int) {
        self.name = name
        self.count = count
        self.rounds = rounds
        self.make = make
    }
}

/// The works of which `Tests/Cost/figures` has the cost.
enum Works {
    static let all =
        Self.fetches + Self.answers + Self.decisions + Self.events + Self.documents + Self.reports + Self.library

    /// Why a work cannot be done: its input is not what the product takes.
    struct Unfit: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}

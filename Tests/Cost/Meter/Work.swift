/// One piece of work of the product, which is done again and again.
struct Work: Sendable {
    /// Its name in tables and files: lower-case letters, digits and hyphens.
    let name: String
    /// How often it is done between the marks, and as often before.
    let count: Int
    /// Makes its input, and what does it once, the turn given: turns count on from 0. The result of each turn has to be used, or none
    /// of the work need be done.
    let make: @Sendable () throws -> (Int) throws -> Int

    init(_ name: String, count: Int, _ make: @escaping @Sendable () throws -> (Int) throws -> Int) {
        self.name = name
        self.count = count
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

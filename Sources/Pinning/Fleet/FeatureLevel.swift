/// The number that says what the programs which share a ledger have to know.
///
/// During an upgrade, programs of two versions run side by side. What the earlier one does not know (a new type of event, a
/// new form of an event's data, a new member of documents) begins only once operators have raised the ledger's level, which
/// they do when no earlier program runs any more. Each level is listed here with what begins at it.
///
/// A program that meets a level which it does not know pauses: it serves documents that others sign, and records and signs
/// nothing until its upgrade.
package enum FeatureLevel {
    /// The level of a ledger that no event has raised. All events of version 0.1.
    package static let first: Int64 = 1
    /// The highest level that this program knows.
    package static let known: Int64 = 1
}

/// What in the ledger shows that it needs a later program than the one that reads it.
package enum LaterProgram: Hashable, Sendable, CustomStringConvertible {
    case featureLevel(Int64, known: Int64)
    case type(String)
    case schema(Int, type: String)

    package var description: String {
        switch self {
        case .featureLevel(let level, let known):
            "it raises the feature level to \(level), and this program knows \(known)"
        case .type(let type): "this program does not know its type, \(type)"
        case .schema(let schema, let type): "this program does not know the form \(schema) of \(type)"
        }
    }
}

import ArgumentParser

/// How a command shows what it found.
struct OutputForm: ExpressibleByArgument, Hashable, Sendable {
    enum Kind: String, CaseIterable {
        /// For people.
        case table
        /// For people: all values of a list's rows, in further columns.
        case wide
        /// The first column of a list alone, for other programs.
        case name
        case json
        case yaml
    }

    var kind: Kind
    /// The part that is asked for; nil for all of it.
    var query: JSONPath?

    /// Whether people read it: a table, or text.
    var isTable: Bool {
        guard self.query == nil else { return false }
        return switch self.kind {
        case .table, .wide, .name: true
        case .json, .yaml: false
        }
    }

    static let table = OutputForm(kind: .table)
    static let json = OutputForm(kind: .json)
    static let yaml = OutputForm(kind: .yaml)

    private init(kind: Kind) { self.kind = kind }

    init?(argument: String) {
        guard let kind = Kind(rawValue: argument) else { return nil }
        self.init(kind: kind)
    }

    static var allValueStrings: [String] { Kind.allCases.map(\.rawValue) }

    var defaultValueDescription: String { self.kind.rawValue }
}

import ArgumentParser

/// How a command shows what it found.
struct OutputForm: ExpressibleByArgument, Hashable, Sendable {
    enum Kind: String, CaseIterable {
        /// For people.
        case table
        case json
        case yaml
    }

    var kind: Kind
    /// The part that is asked for; nil for all of it.
    var query: JSONPath?

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

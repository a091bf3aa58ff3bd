import ArgumentParser

/// A group of flags that is made of other groups, and has their flags as its own.
///
/// ArgumentParser checks every group whenever it lists a command's flags, in debug builds, and the groups within a group three times more
/// often than the group itself. Joined groups stand on one level: nested as `OptionGroup`s they took half of a command's time in tests.
protocol JoinedArguments: ParsableArguments, CustomReflectable {
    /// The groups, in the order of the help.
    var groups: [any ParsableArguments] { get }

    init(joining decoder: any Decoder) throws
}

extension JoinedArguments {
    init(from decoder: any Decoder) throws {
        // The parser's check of coding keys looks at the first container alone: each group has the keys of its own flags.
        _ = try decoder.container(keyedBy: AnyArgumentKey.self)
        try self.init(joining: decoder)
        for group in self.groups {
            var group = group
            try group.validate()
        }
    }

    /// The parser finds flags by reflection.
    var customMirror: Mirror {
        Mirror(self, children: self.groups.flatMap { Array(Mirror(reflecting: $0).children) })
    }
}

private struct AnyArgumentKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

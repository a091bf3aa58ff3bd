import PinWire

/// The text between a list in JSON and a table.
enum ListReport {
    /// Prints `list` unchanged, or as a table with a row for each element.
    static func print(
        _ json: JSON, _ list: String, _ output: OutputForm, _ header: [String], _ row: (JSON) -> [String]
    ) {
        guard output.isTable else { return Console.print(json, output) }
        let elements = json[list]?.arrayValue ?? []
        guard !elements.isEmpty else { return output.kind == .name ? () : Console.error("None.") }
        var table = Table(header)
        for element in elements { table.add(row(element)) }
        switch output.kind {
        case .name: for element in elements { Console.line(row(element).first ?? "") }
        case .wide: Console.print(Self.wide(elements, header, row))
        case .table, .json, .yaml: Console.print(table)
        }
    }

    /// The table, and after its own columns each value that any element has and that is one text, number, or yes or no, by its name.
    private static func wide(_ elements: [JSON], _ header: [String], _ row: (JSON) -> [String]) -> Table {
        let members = elements.map { element in
            if case .object(let members) = element { members.filter { $0.value.isSingle } } else { [String: JSON]() }
        }
        // A value that the table's own columns have is not shown twice.
        let names = Set(members.flatMap(\.keys)).sorted().filter { name in
            !elements.allSatisfy { row($0).contains(Self.cell($0, name)) }
        }
        var table = Table(header + names)
        for element in elements { table.add(row(element) + names.map { Self.cell(element, $0) }) }
        return table
    }

    /// A value as tables show it.
    private static func cell(_ element: JSON, _ name: String) -> String { LocalTime.text(element.text(name)) }
}

extension JSON {
    /// True for one value: neither a list nor an object.
    fileprivate var isSingle: Bool {
        switch self {
        case .object, .array: false
        case .null, .bool, .integer, .number, .string: true
        }
    }
}

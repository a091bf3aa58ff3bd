import ArgumentParser
import PinWire

/// A path into a JSON value: JSONPath (RFC 9535) with names, indices and `*`, and without slices, filters and descendants. The `$` at its
/// beginning may be left out, since shells take it for a variable.
struct JSONPath: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        case member(String)
        /// From the end where it is below 0.
        case element(Int)
        case all
    }

    let steps: [Step]

    /// Nil for a text that is no such path.
    init?(_ text: String) {
        var rest = text[...]
        if rest.first == "$" {
            rest = rest.dropFirst()
        } else if let first = rest.first, first != ".", first != "[" {
            rest = "." + rest
        }
        var steps: [Step] = []
        while let first = rest.popFirst() {
            guard let step = first == "." ? Self.dotted(&rest) : first == "[" ? Self.bracketed(&rest) : nil else {
                return nil
            }
            steps.append(step)
        }
        self.steps = steps
    }

    /// What follows a dot: a name of letters, digits and `_`, which does not begin with a digit, or `*`.
    private static func dotted(_ rest: inout Substring) -> Step? {
        if rest.first == "*" {
            rest = rest.dropFirst()
            return .all
        }
        let name = rest.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
        guard let first = name.first, !first.isNumber else { return nil }
        rest = rest[name.endIndex...]
        return .member(String(name))
    }

    /// What follows a bracket: an index, `*`, or a name in quotes.
    private static func bracketed(_ rest: inout Substring) -> Step? {
        if let quote = rest.first, quote == "'" || quote == "\"" {
            rest = rest.dropFirst()
            var name = ""
            while let character = rest.popFirst(), character != quote {
                guard character == "\\" else {
                    name.append(character)
                    continue
                }
                guard let escaped = rest.popFirst(), escaped == "\\" || escaped == quote else { return nil }
                name.append(escaped)
            }
            return rest.popFirst() == "]" ? .member(name) : nil
        }
        guard let end = rest.firstIndex(of: "]") else { return nil }
        let text = rest[..<end]
        rest = rest[end...].dropFirst()
        if text == "*" { return .all }
        guard let index = Int(text), String(index) == text else { return nil }
        return .element(index)
    }

    /// Whether it may lead to any number of values.
    var isMany: Bool { self.steps.contains(.all) }

    /// The values that it leads to, in their order, and members of objects in the order of their names.
    func values(in json: JSON) -> [JSON] {
        self.steps.reduce([json]) { values, step in
            values.flatMap { value -> [JSON] in
                switch (step, value) {
                case (.member(let name), .object(let members)): members[name].map { [$0] } ?? []
                case (.element(let index), .array(let elements)):
                    elements.indices.contains(index < 0 ? elements.count + index : index)
                        ? [elements[index < 0 ? elements.count + index : index]] : []
                case (.all, .array(let elements)): elements
                case (.all, .object(let members)): members.sorted { $0.key < $1.key }.map(\.value)
                default: []
                }
            }
        }
    }
}

extension JSONPath: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

/// The flag by which a command shows a part of an answer.
struct PartOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show only what a JSONPath leads to in the answer, such as apps[*].app: each value on a line, and texts without quotes unless the output is JSON or YAML.",
            valueName: "path"))
    var query: JSONPath?
}

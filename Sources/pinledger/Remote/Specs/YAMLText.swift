import PinWire
import Yams

/// Text in YAML.
enum YAMLText {
    /// The members that come first, in this order; the others follow in alphabetical order.
    private static let leading = ["app", "display_name", "host", "source", "mode", "client", "pin", "role", "state"]

    /// A value in YAML's block form. Texts that another reader could take for a number, a truth value or nothing are quoted.
    static func text(of json: JSON) throws -> String {
        try Yams.serialize(node: Self.node(of: json), width: -1, allowUnicode: true)
    }

    private static func node(of json: JSON) throws -> Yams.Node {
        switch json {
        case .object(let members):
            let names = Self.leading.filter { members[$0] != nil }
            let others = members.keys.filter { !Self.leading.contains($0) }.sorted()
            return .mapping(
                Yams.Node.Mapping(
                    try (names + others).map { (.scalar($0.represented()), try Self.node(of: members[$0] ?? .null)) }))
        case .array(let elements): return .sequence(Yams.Node.Sequence(try elements.map(Self.node)))
        case .string(let text): return .scalar(text.represented())
        case .bool(let flag): return .scalar(flag.represented())
        case .integer(let number): return .scalar(number.represented())
        case .null, .number: return .scalar(Yams.Node.Scalar(json.canonicalText))
        }
    }
}

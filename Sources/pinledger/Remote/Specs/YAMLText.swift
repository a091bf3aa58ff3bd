import PinWire
import Yams

/// Text in YAML.
enum YAMLText {
    /// The members that come first, in this order; the others follow in alphabetical order.
    private static let leading = ["app", "display_name", "host", "source", "mode", "client", "pin", "role", "state"]

    /// A value in YAML's block form. Texts that another reader could take for a number, a truth value or nothing are quoted. Where a
    /// terminal would obey a text of the value, everything beyond ASCII is escaped.
    static func text(of json: JSON) throws -> String {
        let node = try Self.node(of: json)
        let text = try Yams.serialize(node: node, width: -1, allowUnicode: true)
        return text.holdsControls ? try Yams.serialize(node: node, width: -1, allowUnicode: false) : text
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

import PinWire

/// A Firebase project's client template, parsed as far as merging needs it and otherwise unchanged.
struct RemoteConfigProject: Sendable {
    struct Condition: Sendable {
        var name: String
        var expression: String?
        var text: RawJSON
    }

    struct Parameter: Sendable {
        var name: String
        /// Nil outside of groups.
        var group: String?
        var text: RawJSON

        /// The members except `conditionalValues`.
        var members: [(name: String, value: RawJSON)] {
            (self.text.members ?? []).filter { $0.name != "conditionalValues" }
        }

        /// By condition, as they were written.
        var conditionalValues: [(name: String, value: RawJSON)] {
            self.text.members?.first { $0.name == "conditionalValues" }?.value.members ?? []
        }
    }

    /// In the order in which they are tried.
    var conditions: [Condition] = []
    var parameters: [Parameter] = []
    /// The groups' own members except their parameters.
    var groups: [(name: String, members: [(name: String, value: RawJSON)])] = []
    /// The template's other members, except its version, which the service writes.
    var others: [(name: String, value: RawJSON)] = []

    /// The limits on a template. The service stores far fewer values, and none nested so deep.
    static let limits = JSONLimits(depth: 64, nodes: 1_000_000)

    /// Reads the service's answer. Unneeded parts are not examined.
    init(_ text: [UInt8]) throws(RemoteConfigMergeRefusal) {
        let whole: RawJSON
        do throws(JSONSyntaxError) { whole = try RawJSON(parsing: text, limits: Self.limits) } catch {
            throw .unreadable("\(error)")
        }
        guard let members = whole.members else { throw .unreadable("it is \(whole.value.kind)") }
        for (name, value) in members where value.value != .null {
            switch name {
            case "conditions": self.conditions = try Self.conditions(value)
            case "parameters": self.parameters = try Self.parameters(value, of: nil) + self.parameters
            case "parameterGroups":
                guard let groups = value.members else { throw .unreadable("parameterGroups is \(value.value.kind)") }
                for (name, group) in groups {
                    guard let members = group.members else { throw .unreadable("a group is \(group.value.kind)") }
                    self.groups.append((name, members.filter { $0.name != "parameters" }))
                    if let inner = members.first(where: { $0.name == "parameters" }) {
                        self.parameters += try Self.parameters(inner.value, of: name)
                    }
                }
            case "version": break
            default: self.others.append((name, value))
            }
        }
    }

    private static func conditions(_ field: RawJSON) throws(RemoteConfigMergeRefusal) -> [Condition] {
        guard let elements = field.elements else { throw .unreadable("conditions is \(field.value.kind)") }
        var conditions: [Condition] = []
        for element in elements {
            guard let name = element.value["name"]?.stringValue else { throw .unreadable("a condition has no name") }
            conditions.append(
                Condition(name: name, expression: element.value["expression"]?.stringValue, text: element))
        }
        return conditions
    }

    private static func parameters(
        _ field: RawJSON, of group: String?
    ) throws(RemoteConfigMergeRefusal) -> [Parameter] {
        guard let members = field.members else { throw .unreadable("parameters is \(field.value.kind)") }
        return members.map { Parameter(name: $0.name, group: group, text: $0.value) }
    }

    /// The whole template to write, with a description of the version that it becomes.
    func text(description: String) -> [UInt8] {
        func list(_ group: String?) -> RawJSON {
            RawJSON(members: self.parameters.filter { $0.group == group }.map { ($0.name, $0.text) })
        }
        var members: [(name: String, value: RawJSON)] = [
            ("conditions", RawJSON(elements: self.conditions.map(\.text))), ("parameters", list(nil)),
        ]
        if !self.groups.isEmpty {
            let groups = self.groups.map { name, members in
                (name: name, value: RawJSON(members: members + [("parameters", list(name))]))
            }
            members.append(("parameterGroups", RawJSON(members: groups)))
        }
        members += self.others
        members.append(("version", RawJSON(["description": .string(description)])))
        return RawJSON(members: members).bytes
    }

    /// Characters of all parameters' values together, which the service counts.
    var valueSize: Int {
        self.parameters.reduce(0) { sum, parameter in
            let values =
                parameter.conditionalValues.map(\.value.value)
                + parameter.members.filter { $0.name == "defaultValue" }.map(\.value.value)
            return sum + values.reduce(0) { $0 + ($1["value"]?.stringValue?.unicodeScalars.count ?? 0) }
        }
    }
}

package import PinWire

/// A Remote Config template as the REST API and the Firebase console write it, as far as finding a parameter's values
/// needs: conditions in their order of precedence, and parameters with a default value and conditional ones.
///
/// Unknown members are ignored, since the service adds some from time to time.
package struct RemoteConfigTemplate: Hashable, Sendable {
    package struct Condition: Hashable, Sendable {
        package var name: String
        /// Nil in templates for servers, whose conditions are structures.
        package var expression: String?
    }

    package enum Value: Hashable, Sendable {
        case text(String)
        /// The app has a value of its own.
        case inAppDefault
        /// The service chooses among values: an experiment, a rollout or a personalization.
        case managed(String)
    }

    package struct Parameter: Hashable, Sendable {
        package var name: String
        /// Its place in the template.
        package var pointer: JSONPointer
        package var defaultValue: Value?
        /// By condition, the one that wins first.
        package var conditionalValues: [(name: String, value: Value)] {
            self.conditional.map { ($0.name, $0.value) }
        }
        fileprivate var conditional: [Conditional]

        fileprivate struct Conditional: Hashable, Sendable {
            var name: String
            var value: Value
        }
    }

    /// In the order in which they are tried.
    package let conditions: [Condition]
    /// By name.
    package let parameters: [Parameter]

    /// Whether a JSON value looks like a template.
    package static func isTemplate(_ json: JSON) -> Bool {
        json["parameters"] != nil || json["parameterGroups"] != nil || json["conditions"] != nil
    }

    /// Reads a template. Defects are names that appear twice, conditional values of conditions that do not exist, and
    /// members of the wrong kind.
    package init(_ field: JSONField) throws(JSONDefect) {
        let (conditions, parameters) = try field.known(
            ["conditions", "parameters", "parameterGroups"]
        ) { (members) throws(JSONDefect) in
            let conditions = try Self.conditions(members.optional("conditions"))
            var order: [String: Int] = [:]
            for (place, condition) in conditions.enumerated() { order[condition.name] = place }
            var parameters = try Self.parameters(members.optional("parameters"), order)
            if let groups = members.optional("parameterGroups") {
                for (_, group) in try groups.sortedMembers() {
                    let grouped = try group.known(["parameters"]) { (members) throws(JSONDefect) in
                        try Self.parameters(members.optional("parameters"), order)
                    }
                    for parameter in grouped {
                        if parameters.contains(where: { $0.name == parameter.name }) {
                            throw JSONDefect(pointer: parameter.pointer, message: "is listed twice")
                        }
                        parameters.append(parameter)
                    }
                }
            }
            return (conditions, parameters)
        }
        self.conditions = conditions
        self.parameters = parameters.sorted { $0.name < $1.name }
    }

    package func parameter(_ name: String) -> Parameter? { self.parameters.first { $0.name == name } }

    private static func conditions(_ field: JSONField?) throws(JSONDefect) -> [Condition] {
        guard let field else { return [] }
        var conditions: [Condition] = []
        var seen: Set<String> = []
        for element in try field.elements(atMost: RemoteConfigQuota.conditions) {
            let condition = try element.known(["name", "expression"]) { (members) throws(JSONDefect) in
                let name = try members.required("name")
                let text = try name.string()
                guard !text.isEmpty else { throw name.defect("must not be empty") }
                guard seen.insert(text).inserted else { throw name.defect("is another condition's name too") }
                return Condition(name: text, expression: try members.optional("expression")?.string())
            }
            conditions.append(condition)
        }
        return conditions
    }

    private static func parameters(_ field: JSONField?, _ order: [String: Int]) throws(JSONDefect) -> [Parameter] {
        guard let field else { return [] }
        let members = try field.sortedMembers()
        guard members.count <= RemoteConfigQuota.parameters else {
            throw field.defect("may have at most \(RemoteConfigQuota.parameters) parameters, and has \(members.count)")
        }
        var parameters: [Parameter] = []
        for (name, member) in members {
            let parameter = try member.known(["defaultValue", "conditionalValues"]) { (members) throws(JSONDefect) in
                var parameter = Parameter(name: name, pointer: member.pointer, defaultValue: nil, conditional: [])
                if let value = members.optional("defaultValue") { parameter.defaultValue = try Self.value(value) }
                for (name, value) in try members.optional("conditionalValues")?.sortedMembers() ?? [] {
                    guard order[name] != nil else { throw value.defect("is the name of no condition") }
                    parameter.conditional.append(.init(name: name, value: try Self.value(value)))
                }
                parameter.conditional.sort { order[$0.name] ?? 0 < order[$1.name] ?? 0 }
                return parameter
            }
            parameters.append(parameter)
        }
        return parameters
    }

    private static func value(_ field: JSONField) throws(JSONDefect) -> Value {
        let managed = ["personalizationValue", "rolloutValue", "experimentValue"]
        return try field.known(["value", "useInAppDefault"] + managed) { (members) throws(JSONDefect) in
            if let text = members.optional("value") { return .text(try text.string()) }
            if let flag = members.optional("useInAppDefault") {
                guard try flag.bool() else { throw flag.defect("must be true where it is there") }
                return .inAppDefault
            }
            for name in managed where members.optional(name) != nil { return .managed(name) }
            throw field.defect("must have a value, or useInAppDefault")
        }
    }
}

extension JSONField {
    /// Reads the known members of an object, and ignores the others.
    fileprivate func known<T>(
        _ names: [String], _ body: (inout JSONMembers) throws(JSONDefect) -> T
    ) throws(JSONDefect) -> T {
        guard case .object(let members) = self.value else { return try self.object(body) }
        let rest = JSONField(.object(members.filter { names.contains($0.key) }), at: self.pointer)
        return try rest.object { (reader) throws(JSONDefect) in
            let result = try body(&reader)
            // Parts that were not examined because something else decided are not defects.
            for name in names { _ = reader.optional(name) }
            return result
        }
    }

    /// The members of an object by name, null ones left out.
    fileprivate func sortedMembers() throws(JSONDefect) -> [(String, JSONField)] {
        guard case .object(let members) = self.value else {
            throw self.defect("must be an object, and is \(self.value.kind)")
        }
        return members.sorted { $0.key < $1.key }.filter { $0.value != .null }.map {
            ($0.key, JSONField($0.value, at: self.pointer.appending($0.key)))
        }
    }
}

package import PinWire

/// Merges apps' parts of a Firebase project into the project's client template.
///
/// Ours are the parameters that the apps name, and the conditions whose names begin as these apps' do, or as all
/// rendered ones do and that no other parameter uses. Everything else stays byte for byte and in its order, including
/// unknown members and values in our parameters under other people's conditions; only a value under a condition that is
/// removed is removed with it, since the service refuses such a template. A parameter in a group stays there. But a
/// group's parameters come after its other members, null members of the whole are left out, and a parameter that is
/// taken over gets our description.
///
/// Each of our parameters states the position of the ledger at which it was written, whatever part of ours was changed
/// then: a node that lags behind leaves it alone.
///
/// Our conditions come before all others, kill switches first, so that nothing wins over them. They stay where they are
/// as long as no condition of others that one of our parameters uses comes before them.
///
/// Texts with the same meaning are equal: then there is nothing to write, and no version is used up.
package struct RemoteConfigMerge: Hashable, Sendable {
    /// The template to put; nil where the project is in step.
    package let body: [UInt8]?
    /// The changes, as sentences without a full stop.
    package let differences: [String]
    /// By parameter of ours, the conditions of others under which it has values, which stay unchanged.
    package let foreignConditions: [String: [String]]
    /// Apps of which nothing is written, because others want their parameter.
    package let conflicts: [AppID: RemoteConfigMergeRefusal]

    /// - Parameters:
    ///   - parts: The apps' parts; apps that are not named stay untouched.
    ///   - text: The project's template.
    ///   - position: The ledger's position when the parts were rendered. A project that was written later is refused.
    ///   - spared: Apps of the project with nothing to write now, whose conditions stay.
    ///   - holders: Apps that are known to have been pushed, and so come before others that want the same parameter; as
    ///     do those whose conditions or value it has.
    package init(
        _ parts: [RemoteConfigPart], into text: [UInt8], position: Int64, sparing spared: Set<AppID> = [],
        holders: Set<AppID> = []
    ) throws(RemoteConfigMergeRefusal) {
        var project = try RemoteConfigProject(text)
        let conflicts = RemoteConfigPart.conflicts(
            in: parts, holders: holders.union(Self.holders(of: project, among: parts)))
        self.conflicts = conflicts
        let parts = parts.filter { conflicts[$0.app] == nil }.sorted { $0.app < $1.app }
        guard !parts.isEmpty else {
            (self.body, self.differences, self.foreignConditions) = (nil, [], [:])
            return
        }
        let spared = spared.union(conflicts.keys)
        let values = Values(parts)
        let owned = Ownership(parts, project, spared)
        let later = project.parameters.compactMap { parameter -> (name: String, position: Int64)? in
            guard values.byParameter[parameter.name] != nil, let written = Self.position(in: parameter),
                written > position
            else { return nil }
            return (parameter.name, written)
        }.first
        var differences = Self.mergeConditions(parts, owned, &project)
        for place in project.parameters.indices {
            let parameter = project.parameters[place]
            guard values.byParameter[parameter.name] == nil else { continue }
            let kept = parameter.conditionalValues.filter { !owned.isGone($0.name) }
            guard kept.count < parameter.conditionalValues.count else { continue }
            differences.append("\(parameter.name) loses values under conditions that are removed")
            project.parameters[place].text = Self.rebuilt(parameter.members, kept)
        }
        let wanted = values.byParameter.sorted { $0.key < $1.key }
        var foreign: [String: [String]] = [:]
        for (name, value) in wanted {
            let present = project.parameters.first { $0.name == name }
            let others = (present?.conditionalValues ?? []).map(\.name).filter { !owned.isAnApps($0) }
            if !others.isEmpty { foreign[name] = others.sorted() }
            differences += Self.changes(of: name, from: present, to: value, owned)
        }
        self.differences = differences
        self.foreignConditions = foreign
        guard !differences.isEmpty else {
            self.body = nil
            return
        }
        for (name, value) in wanted {
            let place = project.parameters.firstIndex { $0.name == name }
            let present = place.map { project.parameters[$0] }
            let others = (present?.conditionalValues ?? []).filter { !owned.isOurs($0.name) }
            let text = Self.parameter(value, present, others, position)
            if let place {
                project.parameters[place].text = text
            } else {
                project.parameters.append(.init(name: name, group: nil, text: text))
            }
        }
        if let later { throw .newer(parameter: later.name, position: later.position, here: position) }
        try Self.check(project)
        self.body = project.text(description: Self.description(parts, position))
    }

    private static func check(_ project: RemoteConfigProject) throws(RemoteConfigMergeRefusal) {
        guard project.conditions.count <= RemoteConfigQuota.conditions else {
            throw .tooManyConditions(project.conditions.count, limit: RemoteConfigQuota.conditions)
        }
        guard project.parameters.count <= RemoteConfigQuota.parameters else {
            throw .tooManyParameters(project.parameters.count, limit: RemoteConfigQuota.parameters)
        }
        let size = project.valueSize
        guard size <= RemoteConfigQuota.characters else { throw .tooLarge(size, limit: RemoteConfigQuota.characters) }
    }

    /// The version's description in the service, within the 1024 characters that it allows.
    private static func description(_ parts: [RemoteConfigPart], _ position: Int64) -> String {
        let apps = parts.map(\.app.text).joined(separator: ", ")
        return "Pinledger, position \(position): \(apps.count <= 900 ? apps : "\(parts.count) apps")"
    }
}

// MARK: Conditions

extension RemoteConfigMerge {
    /// Decides which of a project's conditions are ours.
    private struct Ownership {
        let wanted: Set<String>
        private let present: Set<String>
        /// The prefixes of spared apps' conditions.
        private let spared: [String]

        init(_ parts: [RemoteConfigPart], _ project: RemoteConfigProject, _ spared: Set<AppID>) {
            self.wanted = Set(parts.flatMap { $0.conditions.map(\.name) })
            let parameters = Set(parts.map(\.parameter))
            let own = parts.map { RemoteConfigPart.prefix(of: $0.app) }
            let spared = spared.map(RemoteConfigPart.prefix(of:))
            self.spared = spared
            let used = Set(
                project.parameters.filter { !parameters.contains($0.name) }.flatMap {
                    $0.conditionalValues.map(\.name)
                })
            self.present = Set(
                project.conditions.map(\.name).filter { name in
                    if own.contains(where: name.hasPrefix) { return true }
                    return name.hasPrefix(RemoteConfigPart.mark) && !used.contains(name)
                        && !spared.contains(where: name.hasPrefix)
                })
        }

        func isOurs(_ name: String) -> Bool { self.wanted.contains(name) || self.present.contains(name) }

        /// Whether it is ours, or belongs to an app with nothing to write now.
        func isAnApps(_ name: String) -> Bool { self.isOurs(name) || self.spared.contains(where: name.hasPrefix) }

        func isGone(_ name: String) -> Bool { self.present.contains(name) && !self.wanted.contains(name) }
    }

    private static func mergeConditions(
        _ parts: [RemoteConfigPart], _ owned: Ownership, _ project: inout RemoteConfigProject
    ) -> [String] {
        let all = parts.flatMap(\.conditions)
        let wanted = all.filter(\.isKill) + all.filter { !$0.isKill }
        let ours = project.conditions.filter { owned.isOurs($0.name) }
        let known = Dictionary(ours.map { ($0.name, $0) }) { first, _ in first }
        var differences = wanted.compactMap { condition -> String? in
            guard let present = known[condition.name] else { return "the condition \(condition.name) is added" }
            return Self.isSame(present, condition) ? nil : "the condition \(condition.name) changes"
        }
        differences += ours.filter { owned.isGone($0.name) }.map { "the condition \($0.name) is removed" }
        if differences.isEmpty {
            guard ours.map(\.name) != wanted.map(\.name) || Self.isOvertaken(parts, owned, project) else { return [] }
            differences = ["the conditions of these apps move before all others"]
        }
        let others = project.conditions.filter { !owned.isOurs($0.name) }
        project.conditions = wanted.map { condition in Self.condition(condition, known[condition.name]) } + others
        return differences
    }

    /// Whether an expression is equal except for white space outside of quotes.
    private static func isSame(
        _ present: RemoteConfigProject.Condition, _ condition: RemoteConfigPart.Condition
    ) -> Bool {
        func condensed(_ expression: String) -> [UInt8] {
            var quote: UInt8?
            return expression.utf8.filter { byte in
                if byte == quote {
                    quote = nil
                } else if quote == nil, byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                    quote = byte
                }
                return quote != nil || ![0x20, 0x09, 0x0A, 0x0D].contains(byte)
            }
        }
        guard let expression = present.expression else { return false }
        return expression == condition.expression || condensed(expression) == condensed(condition.expression)
    }

    /// Whether a condition of others that one of our parameters uses comes before one of ours.
    private static func isOvertaken(
        _ parts: [RemoteConfigPart], _ owned: Ownership, _ project: RemoteConfigProject
    ) -> Bool {
        let parameters = Set(parts.map(\.parameter))
        let used = Set(
            project.parameters.filter { parameters.contains($0.name) }.flatMap { $0.conditionalValues.map(\.name) })
        guard let last = project.conditions.lastIndex(where: { owned.isOurs($0.name) }) else { return false }
        return project.conditions[..<last].contains { used.contains($0.name) && !owned.isOurs($0.name) }
    }

    /// A condition of ours, with the members that others gave the one of its name: its colour in the console, for
    /// example.
    private static func condition(
        _ condition: RemoteConfigPart.Condition, _ present: RemoteConfigProject.Condition?
    ) -> RemoteConfigProject.Condition {
        if let present, Self.isSame(present, condition) { return present }
        let own: [(name: String, value: RawJSON)] = [
            ("name", RawJSON(.string(condition.name))), ("expression", RawJSON(.string(condition.expression))),
        ]
        let rest = (present?.text.members ?? []).filter { !["name", "expression"].contains($0.name) }
        return .init(name: condition.name, expression: condition.expression, text: RawJSON(members: own + rest))
    }
}

// MARK: Parameters

extension RemoteConfigMerge {
    /// The contents of our parameters, of all apps that share one.
    private struct Values {
        struct Value {
            /// By condition, in the conditions' order.
            var conditional: [(name: String, text: String)] = []
            /// Nil for each app's built-in value.
            var otherwise: String?
        }

        private(set) var byParameter: [String: Value] = [:]

        init(_ parts: [RemoteConfigPart]) {
            for part in parts {
                self.byParameter[part.parameter, default: Value()].conditional += part.conditions.map {
                    ($0.name, $0.value)
                }
                // A parameter that is limited to its Firebase app has none, and others do not share it.
                if let text = part.otherwise { self.byParameter[part.parameter]?.otherwise = text }
            }
        }
    }

    private static func changes(
        of name: String, from present: RemoteConfigProject.Parameter?, to value: Values.Value, _ owned: Ownership
    ) -> [String] {
        guard let present else { return ["the parameter \(name) is added"] }
        var changes: [String] = []
        if !Self.isSame(present.text.value["defaultValue"], value.otherwise) {
            changes.append("the default value of \(name) changes")
        }
        if present.text.value["valueType"]?.stringValue != "JSON" { changes.append("\(name) becomes JSON") }
        let known = Dictionary(present.conditionalValues) { first, _ in first }
        for (condition, text) in value.conditional where !Self.isSame(known[condition]?.value, text) {
            changes.append(
                "the value of \(name) under \(condition) \(known[condition] == nil ? "is added" : "changes")")
        }
        let wanted = Set(value.conditional.map(\.name))
        for (condition, _) in present.conditionalValues where owned.isOurs(condition) && !wanted.contains(condition) {
            changes.append("the value of \(name) under \(condition) is removed")
        }
        return changes
    }

    /// Whether a value has the meaning of a text, even in another spelling.
    private static func isSame(_ present: JSON?, _ text: String?) -> Bool {
        guard let text else { return present?["useInAppDefault"] == .bool(true) }
        guard let there = present?["value"]?.stringValue else { return false }
        if there == text { return true }
        let limits = RemoteConfigProject.limits
        guard let left = try? RawJSON(parsing: Array(there.utf8), limits: limits),
            let right = try? RawJSON(parsing: Array(text.utf8), limits: limits)
        else { return false }
        return left.isSame(as: right)
    }

    /// The apps of which their parameter has a condition's value, or the default value.
    private static func holders(of project: RemoteConfigProject, among parts: [RemoteConfigPart]) -> Set<AppID> {
        let holders = parts.filter { part in
            guard let present = project.parameters.first(where: { $0.name == part.parameter }) else { return false }
            let prefix = RemoteConfigPart.prefix(of: part.app)
            return present.conditionalValues.contains { $0.name.hasPrefix(prefix) }
                || part.otherwise != nil && Self.isSame(present.text.value["defaultValue"], part.otherwise)
        }
        return Set(holders.map(\.app))
    }

    private static func parameter(
        _ value: Values.Value, _ present: RemoteConfigProject.Parameter?,
        _ others: [(name: String, value: RawJSON)], _ position: Int64
    ) -> RawJSON {
        let description = "\(Self.written)\(position) of the ledger, by Pinledger; edits here are lost."
        let own: [(name: String, value: RawJSON)] = [
            ("defaultValue", RawJSON(RemoteConfigPart.defaultValue(value.otherwise))),
            ("description", RawJSON(.string(description))),
            ("valueType", RawJSON("JSON")),
        ]
        let rest = (present?.members ?? []).filter { member in !own.contains { $0.name == member.name } }
        let conditional = value.conditional.map { name, text in
            (name: name, value: RawJSON(["value": .string(text)]))
        }
        return Self.rebuilt(own + rest, conditional + others)
    }

    private static func rebuilt(
        _ members: [(name: String, value: RawJSON)], _ conditional: [(name: String, value: RawJSON)]
    ) -> RawJSON {
        guard !conditional.isEmpty else { return RawJSON(members: members) }
        return RawJSON(members: members + [("conditionalValues", RawJSON(members: conditional))])
    }

    private static let written = "TLS pins at position "

    /// The ledger's position when a parameter was written; nil where it is not stated.
    private static func position(in parameter: RemoteConfigProject.Parameter) -> Int64? {
        guard let text = parameter.text.value["description"]?.stringValue, text.hasPrefix(Self.written) else {
            return nil
        }
        return Int64(text.dropFirst(Self.written.count).prefix { $0.isASCII && $0.isNumber })
    }
}

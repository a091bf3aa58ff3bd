import PinWire

/// Why a project's template is left as it is.
package enum RemoteConfigMergeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the project has is no template.
    case unreadable(String)
    /// The project was written at a later position of a ledger than is known here.
    case newer(parameter: String, position: Int64, here: Int64)
    case conflict(String)
    case tooManyConditions(Int, limit: Int)
    case tooManyParameters(Int, limit: Int)
    /// All values together, in characters.
    case tooLarge(Int, limit: Int)

    package var description: String {
        switch self {
        case .unreadable(let what): "the project's template cannot be read: \(what)"
        case .newer(let parameter, let position, let here):
            "the project's \(parameter) was written at position \(position) of a ledger, and this one is at \(here): "
                + "this node lags behind, or another Pinledger writes the same parameter"
        case .conflict(let what): what
        case .tooManyConditions(let count, let limit):
            "the project would have \(count) conditions, and may have \(limit): remove some that are not used"
        case .tooManyParameters(let count, let limit):
            "the project would have \(count) parameters, and may have \(limit): remove some that are not used"
        case .tooLarge(let count, let limit):
            "the project's values would have \(count) characters, and may have \(limit): remove some that are not used"
        }
    }
}

/// What apps have in a Firebase project, put into the client template that the project has.
///
/// Ours are the parameters that the apps name, and the conditions whose names begin as these apps' do, or as all that
/// are rendered here do and that no parameter but ours uses. All else stays byte for byte and in its order, unknown
/// members and values in our parameters under other people's conditions among it; only a value under a condition that
/// is removed goes with it, since the service refuses such a template. A parameter in a group stays there.
///
/// Our conditions come before all others, kill switches first, so that nothing wins over them. Where they stand now is
/// left alone as long as no condition of others that one of our parameters uses comes before them.
///
/// What is the same by its meaning is the same: then there is nothing to put, and no version is spent.
package struct RemoteConfigMerge: Hashable, Sendable {
    /// The template to put; nil where the project is in step.
    package let body: [UInt8]?
    /// What changes, as sentences without a full stop.
    package let differences: [String]
    /// Conditions of others under which our parameters have values, which are left alone.
    package let foreignConditions: [String]

    /// What the service keeps at most in a project (its page of quotas and limits).
    package static let limits = (conditions: 2000, parameters: 3000, characters: 1_000_000)

    /// - Parameters:
    ///   - parts: What the apps have there; of those that are not named, nothing is touched.
    ///   - text: The project's template.
    ///   - spared: Apps of the project that there is nothing to put of now, and whose conditions stay.
    ///   - position: How far the ledger is that the parts were rendered from. A project that was written later is
    ///     refused, unless it is forced.
    package init(
        _ parts: [RemoteConfigPart], into text: [UInt8], position: Int64, sparing spared: [RemoteConfigOwner] = [],
        isForced: Bool = false
    ) throws(RemoteConfigMergeRefusal) {
        if let conflict = RemoteConfigPart.conflicts(in: parts).min(by: { $0.key.text < $1.key.text }) {
            throw .conflict(conflict.value)
        }
        var project = try RemoteConfigProject(text)
        let parts = parts.sorted { $0.app.text < $1.app.text }
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
        var foreign: [String] = []
        for (name, value) in values.byParameter.sorted(by: { $0.key < $1.key }) {
            let place = project.parameters.firstIndex { $0.name == name }
            let present = place.map { project.parameters[$0] }
            let others = (present?.conditionalValues ?? []).filter { !owned.isOurs($0.name) }
            foreign += others.map(\.name)
            let changes = Self.changes(of: name, from: present, to: value, owned)
            guard !changes.isEmpty else { continue }
            differences += changes
            let text = Self.parameter(value, present, others, position)
            if let place {
                project.parameters[place].text = text
            } else {
                project.parameters.append(.init(name: name, group: nil, text: text))
            }
        }
        self.differences = differences
        self.foreignConditions = foreign.sorted()
        guard !differences.isEmpty else {
            self.body = nil
            return
        }
        if let later, !isForced { throw .newer(parameter: later.name, position: later.position, here: position) }
        try Self.check(project)
        self.body = project.text(description: Self.description(parts, position))
    }

    private static func check(_ project: RemoteConfigProject) throws(RemoteConfigMergeRefusal) {
        guard project.conditions.count <= Self.limits.conditions else {
            throw .tooManyConditions(project.conditions.count, limit: Self.limits.conditions)
        }
        guard project.parameters.count <= Self.limits.parameters else {
            throw .tooManyParameters(project.parameters.count, limit: Self.limits.parameters)
        }
        let size = project.valueSize
        guard size <= Self.limits.characters else { throw .tooLarge(size, limit: Self.limits.characters) }
    }

    /// What the service shows of the version that comes of it, within the 1024 characters that it takes.
    private static func description(_ parts: [RemoteConfigPart], _ position: Int64) -> String {
        let apps = parts.map(\.app.text).joined(separator: ", ")
        return "Pinledger, position \(position): \(apps.count <= 900 ? apps : "\(parts.count) apps")"
    }
}

// MARK: Conditions

extension RemoteConfigMerge {
    /// Which of a project's conditions are ours.
    private struct Ownership {
        let wanted: Set<String>
        private let present: Set<String>

        init(_ parts: [RemoteConfigPart], _ project: RemoteConfigProject, _ spared: [RemoteConfigOwner]) {
            self.wanted = Set(parts.flatMap { $0.conditions.map(\.name) })
            let parameters = Set(parts.map(\.parameter))
            let owners = parts.map(\.owner)
            let used = Set(
                project.parameters.filter { !parameters.contains($0.name) }.flatMap {
                    $0.conditionalValues.map(\.name)
                })
            self.present = Set(
                project.conditions.map(\.name).filter { name in
                    if owners.contains(where: { $0.owns(name) }) { return true }
                    return name.hasPrefix(RemoteConfigPart.mark) && !used.contains(name)
                        && !spared.contains { $0.owns(name) }
                })
        }

        func isOurs(_ name: String) -> Bool { self.wanted.contains(name) || self.present.contains(name) }

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
            return present.expression == condition.expression ? nil : "the condition \(condition.name) changes"
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

    /// A condition of ours, with what others gave the one of its name: its colour in the console, for one.
    private static func condition(
        _ condition: RemoteConfigPart.Condition, _ present: RemoteConfigProject.Condition?
    ) -> RemoteConfigProject.Condition {
        if let present, present.expression == condition.expression { return present }
        let own: [(name: String, value: RawJSON)] = [
            ("name", RawJSON(.string(condition.name))), ("expression", RawJSON(.string(condition.expression))),
        ]
        let rest = (present?.text.members ?? []).filter { !["name", "expression"].contains($0.name) }
        return .init(name: condition.name, expression: condition.expression, text: RawJSON(members: own + rest))
    }
}

// MARK: Parameters

extension RemoteConfigMerge {
    /// What our parameters are to hold, of all apps that share one.
    private struct Values {
        struct Value {
            /// By condition, in the conditions' order.
            var conditional: [(name: String, text: String)] = []
            /// Nil for what each app has built in.
            var otherwise: String?
        }

        private(set) var byParameter: [String: Value] = [:]

        init(_ parts: [RemoteConfigPart]) {
            for part in parts {
                self.byParameter[part.parameter, default: Value()].conditional += part.conditions.map {
                    ($0.name, $0.value)
                }
                // One that is limited to its Firebase app has none, and others do not share.
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

    /// Whether a value says what a text says, be it in another spelling.
    private static func isSame(_ present: JSON?, _ text: String?) -> Bool {
        guard let text else { return present?["useInAppDefault"] == .bool(true) }
        guard let there = present?["value"]?.stringValue else { return false }
        if there == text { return true }
        guard let left = try? JSON(text: there), let right = try? JSON(text: text) else { return false }
        return left == right
    }

    private static func parameter(
        _ value: Values.Value, _ present: RemoteConfigProject.Parameter?,
        _ others: [(name: String, value: RawJSON)], _ position: Int64
    ) -> RawJSON {
        let otherwise: JSON = value.otherwise.map { ["value": .string($0)] } ?? ["useInAppDefault": true]
        let description = "\(Self.written)\(position) of the ledger, by Pinledger; edits here are lost."
        let own: [(name: String, value: RawJSON)] = [
            ("defaultValue", RawJSON(otherwise)), ("description", RawJSON(.string(description))),
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

    /// How far the ledger was when a parameter was written; nil where that is not said.
    private static func position(in parameter: RemoteConfigProject.Parameter) -> Int64? {
        guard let text = parameter.text.value["description"]?.stringValue, text.hasPrefix(Self.written) else {
            return nil
        }
        return Int64(text.dropFirst(Self.written.count).prefix { $0.isASCII && $0.isNumber })
    }
}

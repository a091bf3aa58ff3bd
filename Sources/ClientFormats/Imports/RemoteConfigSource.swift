package import PinWire

/// The one value of `ssl_pinning_config` that an import is to read, taken out of whatever was exported: a whole
/// template, the parameter in an object of its name, or the bare value; as an object or as a text that holds one.
package struct RemoteConfigSource: Hashable, Sendable {
    /// The bare value, normally an object: its reader reports other defects.
    package var value: JSON
    /// The place of the value in the export. Inside a text there are no pointers; a defect there is reported as if the
    /// text were the value.
    package var pointer: JSONPointer
    /// The condition under which devices get the value; nil for the default value, and outside of templates.
    package var condition: String?
    /// Values that were left out, and assumptions.
    package var findings: [Finding]

    package struct Finding: Hashable, Sendable {
        package var pointer: JSONPointer
        /// The finding, as a sentence without a full stop.
        package var message: String
        package var advice: String
    }

    /// Finds the value.
    ///
    /// It takes the default of a template's values, which holds for devices that match no condition; without one, the
    /// only conditional value. A finding names every other value.
    ///
    /// - Parameters:
    ///   - json: The file's content.
    ///   - parameter: The parameter's name.
    ///   - condition: Takes that condition's value instead of the default.
    package init(
        _ json: JSON, parameter: String = "ssl_pinning_config", condition: String? = nil
    ) throws(JSONDefect) {
        guard json[parameter] == nil, RemoteConfigTemplate.isTemplate(json) else {
            if let condition {
                throw JSONDefect(
                    pointer: JSONPointer(), message: "is not a template, and has no condition \"\(condition)\"")
            }
            let field = json[parameter].map { JSONField($0, at: JSONPointer([parameter])) } ?? JSONField(json)
            self.value = try Self.unwrap(field)
            self.pointer = field.pointer
            self.findings = []
            return
        }
        let template = try RemoteConfigTemplate(JSONField(json))
        guard let found = template.parameter(parameter) else {
            let others = template.parameters.prefix(5).map(\.name).joined(separator: ", ")
            throw JSONDefect(
                pointer: JSONPointer(["parameters"]),
                message: "has no parameter \(parameter)" + (others.isEmpty ? "" : "; there are \(others)"))
        }
        let taken = try Self.choose(found, condition)
        self.condition = taken.condition
        self.pointer = taken.pointer
        self.value = try Self.unwrap(JSONField(.string(taken.text), at: taken.pointer))
        self.findings = Self.findings(template, found, taken.condition)
    }

    private static func choose(
        _ parameter: RemoteConfigTemplate.Parameter, _ condition: String?
    ) throws(JSONDefect) -> (text: String, pointer: JSONPointer, condition: String?) {
        func pointer(_ condition: String) -> JSONPointer {
            parameter.pointer.appending("conditionalValues").appending(condition)
        }
        if let condition {
            guard let value = parameter.conditionalValues.first(where: { $0.name == condition })?.value else {
                throw JSONDefect(pointer: pointer(condition), message: "is not there")
            }
            guard case .text(let text) = value else {
                throw JSONDefect(pointer: pointer(condition), message: "is no text: \(Self.words(value))")
            }
            return (text, pointer(condition).appending("value"), condition)
        }
        let place = parameter.pointer.appending("defaultValue")
        if case .text(let text)? = parameter.defaultValue { return (text, place.appending("value"), nil) }
        let texts = parameter.conditionalValues.compactMap { name, value -> (String, String)? in
            guard case .text(let text) = value else { return nil }
            return (name, text)
        }
        guard texts.count == 1, let (name, text) = texts.first else {
            let why = parameter.defaultValue.map(Self.words) ?? "it is missing"
            throw JSONDefect(
                pointer: place,
                message: "holds no configuration (\(why)), and \(texts.count) conditional values do: choose a condition"
            )
        }
        return (text, pointer(name).appending("value"), name)
    }

    private static func findings(
        _ template: RemoteConfigTemplate, _ parameter: RemoteConfigTemplate.Parameter, _ taken: String?
    ) -> [Finding] {
        var findings: [Finding] = []
        let place = parameter.pointer.appending("defaultValue")
        let words = parameter.defaultValue.map(Self.words) ?? "it is missing"
        if let taken {
            findings.append(
                Finding(
                    pointer: place, message: "is not taken (\(words)); the value of the condition \"\(taken)\" is",
                    advice: "Check that this is the configuration to import."))
        } else if !parameter.conditionalValues.isEmpty {
            findings.append(
                Finding(
                    pointer: place, message: "is taken, and no conditional value is",
                    advice: "Name a condition to import its value instead."))
        }
        for (name, value) in parameter.conditionalValues where name != taken {
            let expression = template.conditions.first { $0.name == name }?.expression
            findings.append(
                Finding(
                    pointer: parameter.pointer.appending("conditionalValues").appending(name),
                    message: "is not taken (\(Self.words(value)))"
                        + (expression.map { "; it holds where \($0)" } ?? ""),
                    advice:
                        "Set up rollouts, the version gate or a kill switch for what it does, if that is still wanted.")
            )
        }
        return findings
    }

    private static func words(_ value: RemoteConfigTemplate.Value) -> String {
        switch value {
        case .text(let text): "a text of \(text.utf8.count) bytes"
        case .inAppDefault: "the app's own default"
        case .managed(let name): "chosen by the service: \(name)"
        }
    }

    /// The JSON inside a text; any other value unchanged.
    private static func unwrap(_ field: JSONField) throws(JSONDefect) -> JSON {
        guard case .string(let text) = field.value else { return field.value }
        do { return try JSON(text: text) } catch { throw field.defect("is a text that does not hold JSON: \(error)") }
    }
}

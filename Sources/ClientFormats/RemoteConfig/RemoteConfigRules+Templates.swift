import PinWire

extension RemoteConfigRules {
    /// A client template for `PUT …/v1/projects/{project}/remoteConfig` (Firebase Remote Config REST API v1), as UTF-8.
    ///
    /// It is a whole template and replaces all other parameters of the project, unless its conditions and its parameter
    /// are merged into the project's own, the conditions before all others. `conditionalValues` stand in the order of
    /// the conditions.
    package var clientTemplate: [UInt8] {
        let part = self.clientPart
        return self.template(
            part.conditions.map { ["name": .string($0.name), "expression": .string($0.expression)] },
            values: part.conditions.map { ($0.name, $0.value) }, otherwise: OrderedJSON(part.defaultValue))
    }

    /// The app's own part of ``clientTemplate``, to be merged into a project's template.
    package var clientPart: RemoteConfigPart {
        let limit: [RemoteConfigTest] = self.firebaseApp.map { [.app($0)] } ?? []
        var conditions = self.rules.map { rule in
            RemoteConfigPart.Condition(
                name: rule.name, expression: (limit + rule.tests).map(\.expression).joined(separator: " && "),
                value: rule.value.text(), isKill: rule.isKill, isRollout: rule.isRollout)
        }
        if let firebaseApp {
            conditions.append(
                RemoteConfigPart.Condition(
                    name: "\(RemoteConfigPart.prefix(of: self.app))all installs",
                    expression: RemoteConfigTest.app(firebaseApp).expression,
                    value: self.otherwise.text(), isKill: false))
        }
        return RemoteConfigPart(
            app: self.app, parameter: self.parameter, conditions: conditions,
            otherwise: self.firebaseApp == nil ? self.otherwise.text() : nil, firebaseApp: self.firebaseApp,
            withheld: self.withheld)
    }

    /// The same as a server template in the form in which server SDKs load it (firebase-admin 7), as UTF-8: conditions
    /// are structures and not expressions.
    ///
    /// The app's backend passes the install's `randomization_id` to the SDK, and its known attributes as custom
    /// signals: `app_version`, `app_build`, `country`. A condition on a missing signal does not hold. No condition
    /// knows the time: this is the present state, and a copy kept past the end of a kill switch, or of the pins, stays
    /// in that state.
    package var serverTemplate: [UInt8] {
        var rules: [(name: String, tests: [OrderedJSON], value: OrderedJSON)] = []
        for rule in self.rules where !rule.tests.contains(where: \.isAhead) {
            let tests = rule.tests.compactMap(\.structure)
            rules.append((rule.name, tests.isEmpty ? [["true": [:]]] : tests, rule.value))
            // The following conditions hold for no device yet.
            if tests.isEmpty { break }
        }
        return self.template(
            rules.map { rule in
                [
                    "name": .string(rule.name),
                    "condition": [
                        "orCondition": ["conditions": [["andCondition": ["conditions": .array(rule.tests)]]]]
                    ],
                ]
            },
            values: rules.map { ($0.name, $0.value.text()) }, otherwise: ["value": .string(self.otherwise.text())])
    }

    private func template(
        _ conditions: [OrderedJSON], values: [(String, String)], otherwise: OrderedJSON
    ) -> [UInt8] {
        let conditional = values.map { name, value in
            OrderedJSON.Member(name, ["value": .string(value)])
        }
        let template: OrderedJSON = [
            "conditions": .array(conditions),
            "parameters": .object([
                OrderedJSON.Member(
                    self.parameter,
                    [
                        "defaultValue": otherwise, "conditionalValues": .object(conditional),
                        "description": "TLS pins. Rendered by Pinledger; edits here are lost.", "valueType": "JSON",
                    ])
            ]),
            "version": [
                "description": .string(
                    "Pinledger: \(self.app), document \(self.version)\(self.withheld == nil ? "" : ", without rollouts")"
                )
            ],
        ]
        return template.bytes()
    }
}

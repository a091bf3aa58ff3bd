import PinWire

extension RemoteConfigRules {
    /// A client template for `PUT …/v1/projects/{project}/remoteConfig` (Firebase Remote Config REST API v1), as UTF-8.
    ///
    /// It is a whole template and replaces whatever other parameters the project has, unless its conditions and its
    /// parameter are put into the project's own, the conditions before all others. `conditionalValues` stand in the
    /// order of the conditions.
    package var clientTemplate: [UInt8] {
        var conditions = self.rules.map { rule in
            (rule.name, (self.firebaseApp.map { [.app($0)] } ?? []) + rule.tests, rule.value)
        }
        var otherwise: OrderedJSON = ["value": .string(self.otherwise.text())]
        if let firebaseApp {
            conditions.append(
                ("pinledger \(firebaseApp.replacing(":", with: "-"))", [.app(firebaseApp)], self.otherwise))
            otherwise = ["useInAppDefault": true]
        }
        return self.template(
            conditions.map { name, tests, _ in
                [
                    "name": .string(name),
                    "expression": .string(tests.map(\.expression).joined(separator: " && ")),
                ]
            },
            values: conditions.map { ($0.0, $0.2) }, otherwise: otherwise)
    }

    /// The same as a server template in the form in which server SDKs load it (firebase-admin 7), as UTF-8: conditions
    /// are structures and not expressions.
    ///
    /// The app's backend passes the install's `randomization_id` to the SDK, and as custom signals what it knows:
    /// `app_version`, `app_build`, `country`. What it does not pass lets no condition hold.
    package var serverTemplate: [UInt8] {
        self.template(
            self.rules.map { rule in
                let asked = rule.tests.compactMap(\.structure)
                let tests: [OrderedJSON] = asked.isEmpty ? [["true": [:]]] : asked
                return [
                    "name": .string(rule.name),
                    "condition": ["orCondition": ["conditions": [["andCondition": ["conditions": .array(tests)]]]]],
                ]
            },
            values: self.rules.map { ($0.name, $0.value) }, otherwise: ["value": .string(self.otherwise.text())])
    }

    private func template(
        _ conditions: [OrderedJSON], values: [(String, OrderedJSON)], otherwise: OrderedJSON
    ) -> [UInt8] {
        let conditional = values.map { name, value in
            OrderedJSON.Member(name, ["value": .string(value.text())])
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
            "version": ["description": .string("Pinledger: \(self.app), document \(self.version)")],
        ]
        return template.bytes()
    }
}

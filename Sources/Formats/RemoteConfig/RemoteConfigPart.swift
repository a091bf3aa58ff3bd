package import PinWire

/// What one app has in a Firebase project's client template: conditions in their order, and the value of one parameter.
package struct RemoteConfigPart: Hashable, Sendable {
    package struct Condition: Hashable, Sendable {
        package var name: String
        package var expression: String
        /// The parameter's text for those whom the condition finds.
        package var value: String
        /// Whether it turns pinning off.
        package var isKill: Bool

        package init(name: String, expression: String, value: String, isKill: Bool) {
            self.name = name
            self.expression = expression
            self.value = value
            self.isKill = isKill
        }
    }

    package let app: AppID
    package let parameter: String
    package let conditions: [Condition]
    /// The parameter's text for everybody else; nil for what the app has built in.
    package let otherwise: String?
    /// The Firebase app that all of it is limited to; nil for every app of the project.
    package let firebaseApp: String?

    package init(
        app: AppID, parameter: String, conditions: [Condition], otherwise: String?, firebaseApp: String? = nil
    ) {
        self.app = app
        self.parameter = parameter
        self.conditions = conditions
        self.otherwise = otherwise
        self.firebaseApp = firebaseApp
    }

    package var owner: RemoteConfigOwner { RemoteConfigOwner(app: self.app, firebaseApp: self.firebaseApp) }

    /// What the names of all conditions begin with that are rendered here, whatever their app.
    static let mark = "pinledger "

    /// What the names of an app's conditions begin with.
    static func prefix(of app: AppID) -> String { "\(Self.mark)\(Self.label(app)) " }

    /// The condition for an app of the project as such.
    static func name(of firebaseApp: String) -> String { Self.mark + firebaseApp.replacing(":", with: "-") }

    /// The app's name in conditions, which may have 100 characters.
    private static func label(_ app: AppID) -> String {
        app.text.utf8.count <= 60 ? app.text : String(Hex.encode(sha256(Array(app.text.utf8))).prefix(16))
    }

    /// Apps that want one parameter of a project and are not told apart by their Firebase apps, each with the sentence
    /// that says so.
    package static func conflicts(in parts: [RemoteConfigPart]) -> [AppID: String] {
        var conflicts: [AppID: String] = [:]
        for (parameter, rivals) in Dictionary(grouping: parts, by: \.parameter) where rivals.count > 1 {
            let apps = Set(rivals.compactMap(\.firebaseApp))
            guard apps.count < rivals.count else { continue }
            let names = rivals.map(\.app.text).sorted().joined(separator: ", ")
            for rival in rivals {
                conflicts[rival.app] =
                    "the parameter \(parameter) of the project is wanted by several apps (\(names)): give each a "
                    + "firebase_app of its own, or another parameter"
            }
        }
        return conflicts
    }
}

extension RemoteConfigPart {
    /// The parameter's default value as templates have it.
    var defaultValue: OrderedJSON {
        self.otherwise.map { ["value": .string($0)] } ?? ["useInAppDefault": true]
    }
}

/// Whose conditions are which, by their names.
package struct RemoteConfigOwner: Hashable, Sendable {
    package var app: AppID
    package var firebaseApp: String?

    package init(app: AppID, firebaseApp: String?) {
        self.app = app
        self.firebaseApp = firebaseApp
    }

    func owns(_ condition: String) -> Bool {
        condition.hasPrefix(RemoteConfigPart.prefix(of: self.app))
            || self.firebaseApp.map(RemoteConfigPart.name) == condition
    }
}

package import PinWire
package import Pinning

/// One app's part of a Firebase project's client template: conditions in their order, and the value of one parameter.
package struct RemoteConfigPart: Hashable, Sendable {
    package struct Condition: Hashable, Sendable {
        package var name: String
        package var expression: String
        /// The parameter's text for devices that match the condition.
        package var value: String
        /// Whether it turns pinning off.
        package var isKill: Bool
        /// Whether it chooses the devices of a rollout, which get the baseline without it.
        package var isRollout: Bool

        package init(name: String, expression: String, value: String, isKill: Bool, isRollout: Bool = false) {
            self.name = name
            self.expression = expression
            self.value = value
            self.isKill = isKill
            self.isRollout = isRollout
        }
    }

    package let app: AppID
    package let parameter: String
    package private(set) var conditions: [Condition]
    /// The parameter's text for all other devices; nil for the app's built-in value.
    package let otherwise: String?
    /// The Firebase app to which all of it is limited; nil for every app of the project.
    package let firebaseApp: FirebaseAppID?
    /// Why rollouts are left out; nil where all are there.
    package let withheld: RemoteConfigRefusal?

    package init(
        app: AppID, parameter: String, conditions: [Condition], otherwise: String?, firebaseApp: FirebaseAppID? = nil,
        withheld: RemoteConfigRefusal? = nil
    ) {
        self.app = app
        self.parameter = parameter
        self.conditions = conditions
        self.otherwise = otherwise
        self.firebaseApp = firebaseApp
        self.withheld = withheld
    }

    /// The same with the baseline for all devices that would have to be chosen: kill switches, and the value for all
    /// devices.
    package var withoutRollouts: RemoteConfigPart {
        var part = self
        part.conditions.removeAll(where: \.isRollout)
        return part
    }

    /// The parameter's default value in the form of templates.
    var defaultValue: JSON { Self.defaultValue(self.otherwise) }

    static func defaultValue(_ text: String?) -> JSON {
        text.map { ["value": .string($0)] } ?? ["useInAppDefault": true]
    }

    // MARK: Names

    /// The prefix of all conditions that are rendered here, whatever their app.
    static let mark = "pinledger "

    /// The prefix of an app's conditions.
    static func prefix(of app: AppID) -> String { "\(Self.mark)\(Self.label(app)) " }

    /// The app's name in conditions, which may have 100 characters.
    private static func label(_ app: AppID) -> String {
        app.text.utf8.count <= 50 ? app.text : String(Hex.encode(sha256(Array(app.text.utf8))).prefix(16))
    }

    // MARK: Apps that are in each other's way

    /// Those of `parts` that are not to be written, because another app wants their parameter and Firebase cannot
    /// distinguish the two apps.
    ///
    /// - Parameter holders: The apps that have their parameter already. The first of them among conflicting apps stays;
    ///   without any it is unknown whose the parameter is, and none is written.
    static func conflicts(
        in parts: [RemoteConfigPart], holders: Set<AppID>
    ) -> [AppID: RemoteConfigMergeRefusal] {
        var conflicts: [AppID: RemoteConfigMergeRefusal] = [:]
        for (parameter, rivals) in Dictionary(grouping: parts, by: \.parameter) where rivals.count > 1 {
            var staying: [RemoteConfigPart] = []
            for rival in rivals.sorted(by: { $0.app < $1.app })
            where holders.contains(rival.app) && staying.allSatisfy({ $0.isApart(from: rival) }) {
                staying.append(rival)
            }
            for rival in rivals where !staying.contains(rival) {
                let others = rivals.filter { $0.app != rival.app && !$0.isApart(from: rival) }
                guard !others.isEmpty else { continue }
                conflicts[rival.app] = .conflict(parameter: parameter, apps: others.map(\.app).sorted())
            }
        }
        return conflicts
    }

    private func isApart(from other: RemoteConfigPart) -> Bool {
        FirebaseAppID.areApart(self.firebaseApp, other.firebaseApp)
    }
}

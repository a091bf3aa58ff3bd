import PinWire

/// The place in a Firebase project for an app's pins.
package struct FirebaseTarget: Hashable, Sendable {
    package let project: String
    package let parameter: String
    /// Nil for every app of the project.
    package let app: FirebaseAppID?

    /// Nil where an app has no clients of remote configuration, or they name no project.
    package init?(of app: App) {
        guard let settings = app.clients[.remoteConfig]?.settings, let project = settings.firebaseProject else {
            return nil
        }
        self.project = project
        self.parameter = settings.parameter
        self.app = settings.firebaseApp
    }

    /// Whether some install would get both apps' pins under one name.
    func collides(with other: FirebaseTarget) -> Bool {
        self.project == other.project && self.parameter == other.parameter
            && !FirebaseAppID.areApart(self.app, other.app)
    }
}

extension LedgerState {
    /// Refuses an app's change that would make it share a parameter of a Firebase project with another app. What it
    /// shared before is not judged again.
    func checkFirebaseTarget(from before: App?, to after: App) throws(Refusal) {
        guard let target = FirebaseTarget(of: after), target != before.flatMap(FirebaseTarget.init(of:)) else { return }
        let rivals = self.apps.values.filter { app in
            app.id != after.id && FirebaseTarget(of: app).map(target.collides) == true
        }
        guard let rival = rivals.map(\.id).min() else { return }
        throw .firebaseParameterTaken(rival, parameter: target.parameter, project: target.project)
    }
}

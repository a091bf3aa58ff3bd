import EventStore
import Firebase
import Hummingbird
import PinWire
import Pinning

/// Whether an app's Firebase project is in step: `/v1/apps/{app}/firebase`.
struct FirebaseRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [Route("getFirebasePush", .get, "/v1/apps/{app}/firebase", access: .app(.readApps), self.get)]
    }

    /// Returns what this node knows: each node that has an account for the project pushes by itself.
    private func get(_ exchange: Exchange) async throws -> Response {
        let state = self.services.ledger.view.state
        let app = try self.services.app(try exchange.app)
        let settings = app.clients[.remoteConfig]?.settings
        let project = settings?.firebaseProject
        let entry = self.services.firebase.entry(of: app.id).flatMap { $0.project == project ? $0 : nil }
        let isPushed = project.map { self.services.firebase.projects.contains($0) } ?? false
        let trouble = entry?.trouble.map { trouble in
            JSON.members([
                "at": .string(trouble.at.rfc3339), "detail": .string(trouble.detail),
                "advice": trouble.advice.map { .string($0) },
            ])
        }
        let foreign = entry?.template.foreignConditions ?? []
        // All of ours come first, and with a Firebase app the last of them holds for each of its installs.
        let isHeard = foreign.isEmpty ? nil : settings?.firebaseApp == nil
        return .json(
            .members([
                "app": .string(app.id.text),
                "project": project.map { .string($0) },
                "firebase_app": settings?.firebaseApp.map { .string($0.text) },
                "pushed_by_this_node": .bool(isPushed),
                "in_step": .bool(entry?.isInStep(documentVersion: state.documentVersion(of: app.id)) ?? false),
                "last_success_at": entry?.success.map { .string($0.at.rfc3339) },
                "position": entry?.success.map { .integer($0.position) },
                "template_version": entry?.template.version.map { .string($0) },
                "rollouts_withheld": entry?.template.withheld.map { .string($0) },
                "foreign_conditions": .array(foreign.map { .string($0) }),
                "foreign_conditions_apply": isHeard.map { .bool($0) },
                "trouble": trouble,
            ]))
    }
}

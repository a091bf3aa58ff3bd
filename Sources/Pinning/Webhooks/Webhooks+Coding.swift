package import PinWire

// The stream `webhooks`: the declarations of its events, and its state in JSON as the admin API shows it.

private let apps = EventField("apps", .list(of: MemberValue<AppID>.parsed(AppID.init(_:), \.text)))
private let about = EventField(optional: "description", .text)
private let secretID = EventField("secret_id", .text)
// Unknown types are kept.
private let types = EventField("types", .list(of: .text))
private let url = EventField("url", MemberValue<OutgoingURL>.address)
private let webhookID = EventField("webhook_id", .text)

extension WebhookEvent {
    enum Declared {
        static let created = EventDeclaration(
            "WebhookCreated", .webhook, apps, about, secretID, types, url, webhookID
        ) {
            let settings = WebhookSettings(url: $4, types: $3, apps: $0, description: $1)
            return .webhooks(.created(id: $5, settings, secretID: $2))
        }
        static let changed = EventDeclaration("WebhookChanged", .webhook, apps, about, types, url, webhookID) {
            .webhooks(.changed(id: $4, WebhookSettings(url: $3, types: $2, apps: $0, description: $1)))
        }
        static let paused = EventDeclaration(
            "WebhookPaused", .webhook, EventField<WebhookPause>("cause", .word), webhookID
        ) { .webhooks(.paused(id: $1, $0)) }
        static let resumed = EventDeclaration("WebhookResumed", .webhook, webhookID) { .webhooks(.resumed(id: $0)) }
        static let secretRotated = EventDeclaration("WebhookSecretRotated", .webhook, secretID, webhookID) {
            .webhooks(.secretRotated(id: $1, secretID: $0))
        }
        static let removed = EventDeclaration("WebhookRemoved", .webhook, webhookID) { .webhooks(.removed(id: $0)) }

        static let all: [any DeclaredEvent] = [created, changed, paused, resumed, secretRotated, removed]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .created(let id, let hook, let secretID):
            visitor.visit(Declared.created, hook.apps, hook.description, secretID, hook.types, hook.url, id)
        case .changed(let id, let hook):
            visitor.visit(Declared.changed, hook.apps, hook.description, hook.types, hook.url, id)
        case .paused(let id, let why): visitor.visit(Declared.paused, why, id)
        case .resumed(let id): visitor.visit(Declared.resumed, id)
        case .secretRotated(let id, let secretID): visitor.visit(Declared.secretRotated, secretID, id)
        case .removed(let id): visitor.visit(Declared.removed, id)
        }
    }
}

extension Webhook {
    /// The ledger's data about it; never a secret, and no secret's name.
    package var json: JSON {
        .members([
            "webhook_id": .string(self.id),
            "url": .string(self.settings.url.text),
            "types": .array(self.settings.types.map { .string($0) }),
            "apps": .array(self.settings.apps.map { .string($0.text) }),
            "description": self.settings.description.map { .string($0) },
            "created_at": .string(self.createdAt.rfc3339),
            "secret_rotated_at": self.secretRotatedAt.map { .string($0.rfc3339) },
            "paused": .bool(self.isPaused),
            "pause_cause": self.pause.map { .string($0.rawValue) },
            "paused_at": self.pausedAt.map { .string($0.rfc3339) },
        ])
    }
}

extension Webhooks {
    /// All of them, the oldest first.
    package var inOrder: [Webhook] {
        self.hooks.values.sorted { ($0.createdVersion, $0.id) < ($1.createdVersion, $1.id) }
    }

    package var json: JSON { .object(self.hooks.mapValues(\.json)) }
}

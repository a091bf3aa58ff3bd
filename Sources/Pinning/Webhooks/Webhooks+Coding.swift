package import PinWire

// The stream `webhooks` in JSON: its events in the ledger, and its state as the admin API shows it.

extension WebhookEvent {
    var encoded: (type: String, data: JSON) {
        func id(_ id: String) -> JSON { ["webhook_id": .string(id)] }
        switch self {
        case .created(let id, let settings, let secretID):
            var members = settings.members
            members["webhook_id"] = .string(id)
            members["secret_id"] = .string(secretID)
            return ("WebhookCreated", .object(members))
        case .changed(let id, let settings):
            var members = settings.members
            members["webhook_id"] = .string(id)
            return ("WebhookChanged", .object(members))
        case .paused(let id, let why):
            return ("WebhookPaused", ["webhook_id": .string(id), "cause": .string(why.rawValue)])
        case .resumed(let webhook): return ("WebhookResumed", id(webhook))
        case .secretRotated(let id, let secretID):
            return ("WebhookSecretRotated", ["webhook_id": .string(id), "secret_id": .string(secretID)])
        case .removed(let webhook): return ("WebhookRemoved", id(webhook))
        }
    }

    init?(type: String, _ field: JSONField) throws(JSONDefect) {
        func id(_ members: inout JSONMembers) throws(JSONDefect) -> String {
            try members.required("webhook_id").string()
        }
        switch type {
        case "WebhookCreated":
            self = try field.object { (m) throws(JSONDefect) in
                .created(
                    id: try id(&m), try WebhookSettings(recorded: &m), secretID: try m.required("secret_id").string())
            }
        case "WebhookChanged":
            self = try field.object { (m) throws(JSONDefect) in
                .changed(id: try id(&m), try WebhookSettings(recorded: &m))
            }
        case "WebhookPaused":
            self = try field.object { (m) throws(JSONDefect) in
                .paused(id: try id(&m), try m.required("cause").oneOf(WebhookPause.self))
            }
        case "WebhookResumed":
            self = try field.object { (m) throws(JSONDefect) in .resumed(id: try id(&m)) }
        case "WebhookSecretRotated":
            self = try field.object { (m) throws(JSONDefect) in
                .secretRotated(id: try id(&m), secretID: try m.required("secret_id").string())
            }
        case "WebhookRemoved":
            self = try field.object { (m) throws(JSONDefect) in .removed(id: try id(&m)) }
        default: return nil
        }
    }
}

extension WebhookSettings {
    fileprivate var members: [String: JSON] {
        var members: [String: JSON] = [
            "url": .string(self.url.text), "types": .array(self.types.map { .string($0) }),
            "apps": .array(self.apps.map { .string($0.text) }),
        ]
        members["description"] = self.description.map { .string($0) }
        return members
    }

    /// Reads settings from the ledger: unknown types are kept.
    fileprivate init(recorded members: inout JSONMembers) throws(JSONDefect) {
        let url = try members.required("url").parse(WebhookURL.init)
        var types: [String] = []
        for field in try members.required("types").elements(atMost: .max) { types.append(try field.string()) }
        var apps: [AppID] = []
        for field in try members.required("apps").elements(atMost: .max) { apps.append(try field.parse(AppID.init)) }
        self.init(url: url, types: types, apps: apps, description: try members.optional("description")?.string())
    }
}

extension Webhook {
    /// The ledger's data about it; never a secret, and no secret's name.
    package var json: JSON {
        var members = self.settings.members
        members["webhook_id"] = .string(self.id)
        members["created_at"] = .string(self.createdAt.rfc3339)
        members["secret_rotated_at"] = self.secretRotatedAt.map { .string($0.rfc3339) }
        members["paused"] = .bool(self.isPaused)
        members["pause_cause"] = self.pause.map { .string($0.rawValue) }
        members["paused_at"] = self.pausedAt.map { .string($0.rfc3339) }
        return .object(members)
    }
}

extension Webhooks {
    /// All of them, the oldest first.
    package var inOrder: [Webhook] {
        self.hooks.values.sorted { ($0.createdVersion, $0.id) < ($1.createdVersion, $1.id) }
    }

    package var json: JSON { .object(self.hooks.mapValues(\.json)) }
}

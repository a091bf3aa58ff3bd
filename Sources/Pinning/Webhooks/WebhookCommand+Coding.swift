import PinWire

extension WebhookCommand {
    /// Its form in a proposed change; empty for a command that cannot be part of one.
    var members: [String: JSON] {
        switch self {
        case .change(let id, let change):
            change.members.merging(["command": "change", "webhook_id": .string(id)]) { mine, _ in mine }
        case .remove(let id): ["command": "remove", "webhook_id": .string(id)]
        case .create, .pause, .rotateSecret: [:]
        }
    }

    init(_ m: inout JSONMembers) throws(JSONDefect) {
        let name = try m.required("command")
        let id = try m.required("webhook_id").string()
        switch try name.string() {
        case "change": self = .change(id: id, try WebhookChange(&m))
        case "remove": self = .remove(id: id)
        default: throw name.defect("is not a command for webhooks")
        }
    }
}

extension WebhookChange {
    /// What changes; a description that is taken away is null.
    fileprivate var members: [String: JSON] {
        JSON.members([
            "url": self.url.map { .string($0.text) },
            "types": self.types.map { .array($0.map { .string($0) }) },
            "apps": self.apps.map { .array($0.map { .string($0.text) }) },
            "description": self.description.map { $0.map { .string($0) } ?? .null },
            "paused": self.isPaused.map { .bool($0) },
        ]).objectValue ?? [:]
    }

    fileprivate init(_ m: inout JSONMembers) throws(JSONDefect) {
        self.init()
        self.url = try m.optional("url")?.parse(OutgoingURL.init(_:))
        self.types = try m.optional("types").mapped { (field) throws(JSONDefect) in
            var types: [String] = []
            for field in try field.elements(atMost: WebhookSettings.filterLimit) { types.append(try field.string()) }
            return types
        }
        self.apps = try m.optional("apps").mapped { (field) throws(JSONDefect) in
            var apps: [AppID] = []
            for field in try field.elements(atMost: WebhookSettings.filterLimit) {
                apps.append(try field.parse(AppID.init(_:)))
            }
            return apps
        }
        if m.mentions("description") { self.description = .some(try m.optional("description")?.string()) }
        self.isPaused = try m.optional("paused")?.bool()
    }
}

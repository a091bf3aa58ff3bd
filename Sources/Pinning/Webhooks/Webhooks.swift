package import PinWire

/// The operator's settings of a webhook.
package struct WebhookSettings: Hashable, Sendable {
    package var url: OutgoingURL
    /// Types of events that are sent, in order; none for all, including those of later versions.
    package var types: [String]
    /// Apps whose events are sent, in order; none for all events, those of no app included.
    package var apps: [AppID]
    /// A note for people.
    package var description: String?

    /// The most types, or apps, that one webhook may name.
    package static let filterLimit = 100

    package init(url: OutgoingURL, types: [String] = [], apps: [AppID] = [], description: String? = nil) {
        self.url = url
        self.types = Set(types).sorted()
        self.apps = Set(apps).sorted()
        self.description = description
    }
}

/// Why nothing is sent to a webhook.
package enum WebhookPause: String, CaseIterable, Sendable, Hashable {
    /// An operator paused it.
    case requested
    /// The receiver answered 410 Gone.
    case gone
    /// Nothing could be delivered for days.
    case failing
}

/// One receiver of events, as the ledger has it. Its secrets are not in the ledger, only their names.
package struct Webhook: Hashable, Sendable {
    package let id: String
    package var settings: WebhookSettings
    package let createdAt: Timestamp
    /// The version of the stream `webhooks` with its creation: where in the ledger its events begin.
    package let createdVersion: Int64
    /// The name of the secret that signs.
    package var secretID: String
    /// Those before it, which sign as well, each for ``Webhooks/overlapSeconds``; the newest first.
    package var replacedSecrets: [ReplacedSecret] = []
    package var secretRotatedAt: Timestamp?
    package var pause: WebhookPause?
    package var pausedAt: Timestamp?
    /// When it was last resumed.
    package var resumedAt: Timestamp?

    package var isPaused: Bool { self.pause != nil }

    /// The names of the secrets that sign at `now`, the newest first.
    package func secretIDs(at now: Timestamp) -> [String] {
        [self.secretID] + self.replacedSecrets.filter { $0.isSigning(at: now) }.map(\.id)
    }

    /// Puts a new secret before all others, at `time`.
    fileprivate mutating func rotate(to secretID: String, at time: Timestamp) {
        let signing = self.replacedSecrets.filter { $0.isSigning(at: time) }
        self.replacedSecrets = [ReplacedSecret(id: self.secretID, replacedAt: time)] + signing
        self.replacedSecrets.removeLast(max(0, self.replacedSecrets.count - Webhooks.replacedLimit))
        self.secretID = secretID
        self.secretRotatedAt = time
    }
}

/// A secret that another one has replaced. After two rotations, because the first answer was lost, a receiver has as
/// long to follow as after one.
package struct ReplacedSecret: Hashable, Sendable {
    package let id: String
    package let replacedAt: Timestamp

    package init(id: String, replacedAt: Timestamp) {
        self.id = id
        self.replacedAt = replacedAt
    }

    func isSigning(at now: Timestamp) -> Bool { now < self.replacedAt.adding(seconds: Webhooks.overlapSeconds) }
}

/// All receivers of events: the state of the stream `webhooks`.
package struct Webhooks: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    package var hooks: [String: Webhook] = [:]

    /// The most webhooks at once.
    package static let limit = 50
    /// How long a secret signs beside the one that replaced it: a day.
    package static let overlapSeconds: Int64 = 86_400
    /// The most replaced secrets that sign beside the newest one, however often it is rotated in a day.
    package static let replacedLimit = 4

    package init() {}

    /// Takes in one more event; one that does not fit (which `decide` never makes) changes nothing but the version.
    package mutating func evolve(_ event: WebhookEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .created(let id, let settings, let secretID):
            self.hooks[id] = Webhook(
                id: id, settings: settings, createdAt: time, createdVersion: self.version, secretID: secretID
            )
        case .changed(let id, let settings): self.hooks[id]?.settings = settings
        case .paused(let id, let why):
            self.hooks[id]?.pause = why
            self.hooks[id]?.pausedAt = time
        case .resumed(let id):
            self.hooks[id]?.pause = nil
            self.hooks[id]?.pausedAt = nil
            self.hooks[id]?.resumedAt = time
        case .secretRotated(let id, let secretID): self.hooks[id]?.rotate(to: secretID, at: time)
        case .removed(let id): self.hooks[id] = nil
        }
    }

    package func decide(_ command: WebhookCommand, in context: DecisionContext) throws(Refusal) -> [WebhookEvent] {
        func hook(_ id: String) throws(Refusal) -> Webhook {
            guard let hook = self.hooks[id] else { throw .webhookUnknown(id) }
            return hook
        }
        switch command {
        case .create(let id, let settings, let secretID):
            guard self.hooks[id] == nil else { throw .webhookExists(id) }
            guard self.hooks.count < Self.limit else { throw .tooManyWebhooks(limit: Self.limit) }
            return [.created(id: id, settings, secretID: secretID)]
        case .change(let id, let change):
            let hook = try hook(id)
            let settings = change.applied(to: hook.settings)
            var events: [WebhookEvent] = settings == hook.settings ? [] : [.changed(id: id, settings)]
            switch change.isPaused {
            case true? where !hook.isPaused: events.append(.paused(id: id, .requested))
            case false? where hook.isPaused: events.append(.resumed(id: id))
            default: break
            }
            return events
        case .pause(let id, let why): return try hook(id).isPaused ? [] : [.paused(id: id, why)]
        case .rotateSecret(let id, let secretID):
            _ = try hook(id)
            return [.secretRotated(id: id, secretID: secretID)]
        case .remove(let id):
            _ = try hook(id)
            return [.removed(id: id)]
        }
    }
}

/// A fact about a receiver of events. Secrets are never events: recorded data can never be erased.
package enum WebhookEvent: Hashable, Sendable {
    case created(id: String, WebhookSettings, secretID: String)
    /// The settings are all of those from now on.
    case changed(id: String, WebhookSettings)
    case paused(id: String, WebhookPause)
    case resumed(id: String)
    case secretRotated(id: String, secretID: String)
    case removed(id: String)
}

/// A command about the receivers of events.
package enum WebhookCommand: Hashable, Sendable {
    case create(id: String, WebhookSettings, secretID: String)
    case change(id: String, WebhookChange)
    /// Only the server itself does this.
    case pause(id: String, WebhookPause)
    case rotateSecret(id: String, secretID: String)
    case remove(id: String)
}

/// The changes of a webhook's settings; nil for those that stay.
package struct WebhookChange: Hashable, Sendable {
    package var url: OutgoingURL?
    package var types: [String]?
    package var apps: [AppID]?
    /// Nil inside for none from now on.
    package var description: String??
    package var isPaused: Bool?

    package init() {}

    func applied(to settings: WebhookSettings) -> WebhookSettings {
        WebhookSettings(
            url: self.url ?? settings.url, types: self.types ?? settings.types, apps: self.apps ?? settings.apps,
            description: self.description ?? settings.description
        )
    }
}

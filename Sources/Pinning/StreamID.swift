package import PinWire

/// The name of a stream of events: what one decision sees and what one expected version guards.
package enum StreamID: Hashable, Sendable, CustomStringConvertible {
    /// One app: its hosts, pins, rollouts and kill switches.
    case app(AppID)
    /// What holds for every app.
    case fleet
    /// Signing keys, public halves only.
    case keys
    /// API tokens, hashes only.
    case access
    /// Receivers of events, without their secrets.
    case webhooks

    /// The stream's name in the ledger: `app/<id>`, `fleet`, `keys`, `access`, `webhooks`.
    package var text: String {
        switch self {
        case .app(let id): "app/\(id)"
        case .fleet: "fleet"
        case .keys: "keys"
        case .access: "access"
        case .webhooks: "webhooks"
        }
    }

    package var description: String { self.text }

    /// Nil for a text that names no stream.
    package init?(text: String) {
        switch text {
        case "fleet": self = .fleet
        case "keys": self = .keys
        case "access": self = .access
        case "webhooks": self = .webhooks
        default:
            guard text.hasPrefix("app/"), let id = try? AppID(String(text.dropFirst(4))) else { return nil }
            self = .app(id)
        }
    }

    package var app: AppID? {
        guard case .app(let id) = self else { return nil }
        return id
    }
}

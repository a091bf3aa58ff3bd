package import PinWire

/// The name of a stream of events: the scope of one decision and of one expected version.
package enum StreamID: Hashable, Sendable, CustomStringConvertible {
    /// One app: its hosts, pins, rollouts and kill switches.
    case app(AppID)
    /// The monitoring of one app: the service's own warnings, and the keys that sign reports. Separate from the app's
    /// own stream, so that it neither makes a new document nor conflicts with a change that expects a version.
    case watch(AppID)
    /// The settings for every app.
    case fleet
    /// Signing keys, public halves only.
    case keys
    /// API tokens, hashes only.
    case access
    /// Receivers of events, without their secrets.
    case webhooks
    /// The transparency log: its name, and the public halves of its keys.
    case log
    /// Proposed changes, and what became of them.
    case changes
    /// Requests that were refused or failed, and reads of what is confidential.
    case audit

    /// The stream's name in the ledger: `app/<id>`, `watch/<id>`, `fleet`, `keys`, `access`, `webhooks`, `log`, `changes`,
    /// `audit`.
    package var text: String {
        switch self {
        case .app(let id): "app/\(id)"
        case .watch(let id): "watch/\(id)"
        case .fleet: "fleet"
        case .keys: "keys"
        case .access: "access"
        case .webhooks: "webhooks"
        case .log: "log"
        case .changes: "changes"
        case .audit: "audit"
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
        case "log": self = .log
        case "changes": self = .changes
        case "audit": self = .audit
        default:
            if text.hasPrefix("app/"), let id = try? AppID(String(text.dropFirst(4))) {
                self = .app(id)
            } else if text.hasPrefix("watch/"), let id = try? AppID(String(text.dropFirst(6))) {
                self = .watch(id)
            } else {
                return nil
            }
        }
    }

    /// The app of the stream; nil for streams that concern every app.
    package var app: AppID? {
        switch self {
        case .app(let id), .watch(let id): id
        case .fleet, .keys, .access, .webhooks, .log, .changes, .audit: nil
        }
    }
}

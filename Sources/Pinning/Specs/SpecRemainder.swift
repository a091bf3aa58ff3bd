package import PinWire

/// A part of an app that stays as it is, although a spec does not mention it or says something else.
package enum SpecRemainder: Hashable, Sendable {
    // Pruning removes these.
    case host(HostPattern)
    case pin(HostPattern, PolicySlot, Pin)
    case candidate(HostPattern)
    case client(ClientKind)
    /// A setting that has another value than where nobody set it, by its name in the API; of a host or of the app.
    case setting(HostPattern?, String)

    // And these are the work of what is under way, or cannot be taken back.
    /// A pin as a rotation of the host, named by its id, needs it, or has left it.
    case pinInRotation(HostPattern, PolicySlot, Pin, String)
    case candidateInRollout(HostPattern)
    /// The spec's candidate is the baseline by now: the spec is of a time before.
    case promotedCandidate(HostPattern)
    /// The app is archived, and the spec does not say that it is to be in use.
    case archivedApp
    /// The share is that of a plan's present step, or of its last one.
    case plannedRollout(HostPattern?)
    case rolledBackRollout(HostPattern?, since: Timestamp)
    /// Clients have the pin, so that it cannot become a staged one.
    case publishedPin(HostPattern, PolicySlot, Pin)
    /// A note is written when its pin is added.
    case note(HostPattern, PolicySlot, Pin)
    /// Clients have a baseline, which cannot become that of the pins built into the app.
    case publishedBaseline(HostPattern)

    package var json: JSON {
        .members([
            "kind": .string(self.kind),
            "host": self.host.map { .string($0.text) },
            "policy": self.slot.map { .string($0.rawValue) },
            "pin": self.pin.map { .string($0.description) },
            "client": self.client.map { .string($0.rawValue) },
            "setting": self.settingName.map { .string($0) },
            "detail": .string(self.detail),
        ])
    }

    package static let kinds = [
        "host", "pin", "candidate", "client", "setting", "pin_in_rotation", "candidate_in_rollout", "planned_rollout",
        "rolled_back_rollout", "published_pin", "published_baseline", "promoted_candidate", "archived_app", "note",
    ]

    private var kind: String {
        switch self {
        case .host: "host"
        case .pin: "pin"
        case .candidate: "candidate"
        case .client: "client"
        case .setting: "setting"
        case .pinInRotation: "pin_in_rotation"
        case .candidateInRollout: "candidate_in_rollout"
        case .plannedRollout: "planned_rollout"
        case .rolledBackRollout: "rolled_back_rollout"
        case .publishedPin: "published_pin"
        case .publishedBaseline: "published_baseline"
        case .promotedCandidate: "promoted_candidate"
        case .archivedApp: "archived_app"
        case .note: "note"
        }
    }

    private var host: HostPattern? {
        switch self {
        case .host(let host), .pin(let host, _, _), .candidate(let host), .pinInRotation(let host, _, _, _),
            .candidateInRollout(let host), .publishedPin(let host, _, _), .publishedBaseline(let host),
            .promotedCandidate(let host), .note(let host, _, _):
            host
        case .setting(let host, _), .plannedRollout(let host), .rolledBackRollout(let host, _): host
        case .client, .archivedApp: nil
        }
    }

    private var slot: PolicySlot? {
        switch self {
        case .pin(_, let slot, _), .pinInRotation(_, let slot, _, _), .publishedPin(_, let slot, _),
            .note(_, let slot, _):
            slot
        case .host, .candidate, .client, .setting, .candidateInRollout, .promotedCandidate, .archivedApp,
            .plannedRollout, .rolledBackRollout, .publishedBaseline:
            nil
        }
    }

    private var pin: Pin? {
        switch self {
        case .pin(_, _, let pin), .pinInRotation(_, _, let pin, _), .publishedPin(_, _, let pin), .note(_, _, let pin):
            pin
        case .host, .candidate, .client, .setting, .candidateInRollout, .promotedCandidate, .archivedApp,
            .plannedRollout, .rolledBackRollout, .publishedBaseline:
            nil
        }
    }

    private var client: ClientKind? {
        guard case .client(let kind) = self else { return nil }
        return kind
    }

    private var settingName: String? {
        guard case .setting(_, let name) = self else { return nil }
        return name
    }

    private var detail: String {
        switch self {
        case .host(let host): "The spec does not mention the host \(host)."
        case .pin(let host, let slot, let pin):
            "The spec does not mention the pin \(pin) of \(host) (\(slot.rawValue))."
        case .candidate(let host): "The spec does not mention the candidate of \(host)."
        case .client(let kind): "The spec does not mention clients of the kind \(kind.rawValue)."
        case .setting(let host, let name):
            "The spec does not mention \(name)\(host.map { " of \($0)" } ?? ""), which is set."
        case .pinInRotation(let host, _, let pin, let id):
            "The rotation \(id) of \(host) says what becomes of the pin \(pin): bring the spec up to date when it is done."
        case .candidateInRollout(let host):
            "A plan rolls out the candidate of \(host): it stays until the plan ends or is removed."
        case .plannedRollout(let host):
            "A plan has set the share of the rollout\(Self.of(host)): the spec does not lower it. Set it by hand."
        case .rolledBackRollout(let host, let time):
            "The rollout\(Self.of(host)) is rolled back since \(time.rfc3339): no spec starts it again. Set it by hand."
        case .promotedCandidate(let host):
            "The candidate of \(host) was promoted: the host stays as it is until the spec has its pins as the baseline."
        case .archivedApp: "The app is archived: no spec changes it that does not say `archived: false`."
        case .note(let host, let slot, let pin):
            "The pin \(pin) of \(host) (\(slot.rawValue)) keeps its note: notes are written when a pin is added."
        case .publishedPin(let host, let slot, let pin):
            "The pin \(pin) of \(host) (\(slot.rawValue)) is published, and cannot become a staged one again."
        case .publishedBaseline(let host):
            "The baseline of \(host) is published, and cannot become the built-in one: remove the host and add it again."
        }
    }

    private static func of(_ host: HostPattern?) -> String { host.map { " of \($0)" } ?? " of the app" }
}

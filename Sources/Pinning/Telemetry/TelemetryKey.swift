package import PinWire

/// A key with which an app's clients sign their reports, as the ledger has it: its name, never the secret.
///
/// Several are in use at once: clients with an old one are in the field for as long as that release of the app is.
package struct TelemetryKey: Hashable, Sendable {
    package let id: String
    /// A note for people, such as the releases that have it.
    package let note: String?
    package let createdAt: Timestamp
    /// Since when reports signed with it are refused; nil for a key in use.
    package var retiredAt: Timestamp?

    /// The most keys of one app that are in use at once.
    package static let limit = 10
    /// The number of retired ones that are remembered: the youngest.
    package static let retiredLimit = 50
    package static let noteLimit = 200

    package init(id: String, note: String?, createdAt: Timestamp, retiredAt: Timestamp? = nil) {
        self.id = id
        self.note = note
        self.createdAt = createdAt
        self.retiredAt = retiredAt
    }

    package var isInUse: Bool { self.retiredAt == nil }

    package var json: JSON {
        .members([
            "key_id": .string(self.id), "state": .string(self.isInUse ? "active" : "retired"),
            "note": self.note.map { .string($0) }, "created_at": .string(self.createdAt.rfc3339),
            "retired_at": self.retiredAt.map { .string($0.rfc3339) },
        ])
    }
}

/// A command about the keys that sign an app's reports.
package enum TelemetryKeyCommand: Hashable, Sendable {
    case add(id: String, note: String?)
    case retire(id: String)
}

extension Watch {
    /// Takes in a key's event; one that does not fit (which `decide` never makes) changes nothing.
    mutating func addKey(_ id: String, note: String?, at time: Timestamp) {
        guard !self.telemetryKeys.contains(where: { $0.id == id }) else { return }
        self.telemetryKeys.append(TelemetryKey(id: id, note: note, createdAt: time))
    }

    mutating func retireKey(_ id: String, at time: Timestamp) {
        guard let place = self.telemetryKeys.firstIndex(where: { $0.id == id && $0.isInUse }) else { return }
        self.telemetryKeys[place].retiredAt = time
        if self.telemetryKeys.count(where: { !$0.isInUse }) > TelemetryKey.retiredLimit,
            let oldest = self.telemetryKeys.firstIndex(where: { !$0.isInUse })
        {
            self.telemetryKeys.remove(at: oldest)
        }
    }

    func decide(_ command: TelemetryKeyCommand) throws(Refusal) -> [WatchEvent] {
        switch command {
        case .add(let id, let note):
            guard !self.telemetryKeys.contains(where: { $0.id == id }) else { throw .telemetryKeyExists(id) }
            guard self.telemetryKeys.count(where: \.isInUse) < TelemetryKey.limit else {
                throw .tooManyTelemetryKeys(limit: TelemetryKey.limit)
            }
            return [.telemetryKeyAdded(id: id, note: note)]
        case .retire(let id):
            guard let key = self.telemetryKeys.first(where: { $0.id == id }) else { throw .telemetryKeyUnknown(id) }
            guard key.isInUse else { throw .telemetryKeyRetired(id) }
            return [.telemetryKeyRetired(id: id)]
        }
    }
}

import PinWire
import Pinning

/// Compares recorded commands, and commands that were answered as done, with the events that carry their keys.
/// A pure value.
struct CommandCheck: Sendable {
    /// One row of `pinledger.command`.
    struct Row: Sendable {
        var key: CommandKey
        var first: Int64
        var count: Int64
        /// The position after its last event; not valid where the row is damaged.
        var end: Int64 { self.first &+ self.count }
    }

    private(set) var findings: [LedgerFinding] = []
    private let rows: [Row]
    private let acknowledged: [AcknowledgedCommand]
    private var places: CommandPlaces
    /// Keys whose events stand at two places.
    private var repeated: Set<CommandKey> = []
    /// How long a key is promised to be known, in seconds.
    private static let promise: Int64 = 86_400

    init(rows: [Row], acknowledged: [AcknowledgedCommand]) {
        self.rows = rows
        self.acknowledged = acknowledged
        self.places = CommandPlaces(
            keeping: Set(rows.map(\.key)), Set(acknowledged.map(\.idempotencyKey)), for: Self.promise)
    }

    /// Takes the key of the next event that has one.
    mutating func take(_ key: CommandKey, at position: Int64, time: Timestamp) {
        guard var place = self.places[key] else {
            self.places[key] = .init(first: position, last: position, time: time)
            return
        }
        if place.last == position - 1 {
            place.last = position
            self.places[key] = place
        } else if place.time.adding(seconds: Self.promise) > time {
            self.repeated.insert(key)
            self.findings.append(
                LedgerFinding(
                    .commandWrong, at: position, of: "\(key.actor) \(key.key)",
                    "the command with this idempotency key was recorded at \(place.first) already"
                )
            )
        } else {
            // The key was forgotten in between, and may be used for another command.
            self.places[key] = .init(first: position, last: position, time: time)
        }
    }

    /// - Parameter lastTime: When the last event was recorded.
    mutating func finish(at lastTime: Timestamp) {
        var known: Set<CommandKey> = []
        for row in self.rows {
            known.insert(row.key)
            guard row.count != 0 else { continue }
            let place = self.places[row.key]
            guard place?.first == row.first, place?.last == row.end &- 1 else {
                self.findings.append(
                    LedgerFinding(
                        .commandWrong, at: row.first, through: row.end &- 1,
                        of: "\(row.key.actor) \(row.key.key)",
                        "the command is said to have recorded these events, and they do not carry its key"
                    )
                )
                continue
            }
        }
        let floor = lastTime.adding(seconds: -Self.promise)
        for (key, place) in self.places.all where place.time > floor && !known.contains(key) {
            self.findings.append(
                LedgerFinding(
                    .commandWrong, at: place.first, of: "\(key.actor) \(key.key)",
                    "the event carries an idempotency key that is not recorded: a repeated request would not be known"
                )
            )
        }
        self.checkAcknowledged(known)
    }

    private mutating func checkAcknowledged(_ known: Set<CommandKey>) {
        guard !self.acknowledged.isEmpty else { return }
        var byKey: [String: [(key: CommandKey, end: Int64)]] = [:]
        for row in self.rows { byKey[row.key.key, default: []].append((row.key, row.end)) }
        for (key, place) in self.places.all where !known.contains(key) {
            byKey[key.key, default: []].append((key, place.last + 1))
        }
        for command in self.acknowledged {
            let found = (byKey[command.idempotencyKey] ?? []).filter {
                command.actor == nil || $0.key.actor == command.actor
            }
            if found.isEmpty {
                self.findings.append(
                    LedgerFinding(
                        .acknowledgedLost, at: command.position, of: command.idempotencyKey,
                        "the command was answered as done and is not recorded")
                )
            } else if found.count > 1 || self.repeated.contains(found[0].key) {
                self.findings.append(
                    LedgerFinding(
                        .acknowledgedTwice, at: command.position, of: command.idempotencyKey,
                        "the command was answered as done and is recorded more than once")
                )
            } else if let position = command.position, found[0].end > position {
                self.findings.append(
                    LedgerFinding(
                        .acknowledgedLost, at: position, of: command.idempotencyKey,
                        "the answer said that the command was done at \(position), and it stands up to \(found[0].end)")
                )
            }
        }
    }
}

/// A command that was answered to a client as recorded.
package struct AcknowledgedCommand: Hashable, Sendable {
    /// The owner of the key as recorded, ``Origin/commandKey``; nil for any.
    package var actor: String?
    package var idempotencyKey: String
    /// The `Pinledger-Position` of the answer.
    package var position: Int64?

    /// Reads lines of JSON objects with `idempotency_key` and, if known, `actor` and `position`.
    package static func list(_ text: String) throws -> [AcknowledgedCommand] {
        try text.split(separator: "\n").map { line in
            let json = try JSON(text: String(line))
            return try JSONField(json).object { (members) throws(JSONDefect) in
                AcknowledgedCommand(
                    actor: try members.optional("actor")?.string(),
                    idempotencyKey: try members.required("idempotency_key").string(),
                    position: try members.optional("position")?.integer(0...JSON.largestInteger)
                )
            }
        }
    }
}

extension Origin {
    /// The idempotency key with its owner, whose keys never meet those of others: the person or service account, `principal:id`, since a
    /// change is repeated with another token after a new sign-in or a renewal; for a token that is nobody's own, the token, `kind:id`.
    var commandKey: CommandKey? {
        let owner = self.actor.principalID.map { "principal:\($0)" } ?? "\(self.actor.kind.rawValue):\(self.actor.id)"
        return self.idempotencyKey.map { CommandKey(actor: owner, key: $0) }
    }
}

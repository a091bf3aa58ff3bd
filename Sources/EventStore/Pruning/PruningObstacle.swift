/// Why a partition may not be pruned, or restored, now.
package enum PruningObstacle: Error, Hashable, Sendable, CustomStringConvertible {
    /// The ledger has only so many events.
    case notFull(Int64)
    case noSnapshot(end: Int64)
    case commands(Int64)
    case webhook(String)
    case node(String)
    /// Something else, which a later program knows.
    case other(String)
    /// Another session held a lock, or an old snapshot, for too long.
    case busy
    /// Another `pinledger bundles` is at work.
    case underWay

    package var description: String {
        switch self {
        case .notFull(let count):
            "the partition, or the last entry bundle of its events, is not full: the ledger has \(count) events"
        case .noSnapshot(let end):
            "no snapshot of this program's form at or behind position \(end) can be used, from which a node could start"
        case .commands(let count):
            "\(count) recorded command\(count == 1 ? "" : "s") with idempotency keys lead\(count == 1 ? "s" : "") to its events"
        case .webhook(let id): "the webhook \(id) has deliveries of its events, or has not come so far"
        case .node(let name): "the node \(name) has not read so far"
        case .other(let kind): "something needs them that this program does not know: \(kind)"
        case .busy: "other sessions or autovacuum read events, or an old transaction is open, all the time"
        case .underWay: "another `pinledger bundles` is at work"
        }
    }

    /// What to do about it.
    package var advice: String {
        switch self {
        case .notFull: "Wait until the ledger has grown."
        case .noSnapshot:
            "Run a node of this version that has the key-encryption key and records changes: it stores a snapshot from time to time. Give --kek-file the key that the nodes have."
        case .commands: "Wait: idempotency keys are kept for 30 days."
        case .webhook:
            "Wait until its deliveries are settled and forgotten, which takes 30 days, or delete the webhook."
        case .node: "Wait until it has, or stop it and wait for a minute."
        case .other: "Use the program that migrated the database."
        case .busy: "Try again when no dump, `pinledger fsck` or long query runs."
        case .underWay: "Wait until it has ended."
        }
    }

    /// Reads a row of `pinledger.pruning_obstacles`.
    init(kind: String, detail: String) {
        self =
            switch (kind, Int64(detail)) {
            case ("head", let count?): .notFull(count)
            case ("commands", let count?): .commands(count)
            case ("webhook", _): .webhook(detail)
            case ("node", _): .node(detail)
            default: .other("\(kind) \(detail)")
            }
    }
}

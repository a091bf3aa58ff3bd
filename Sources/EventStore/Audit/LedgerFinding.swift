/// One defect of a ledger or of what was made from it, as `pinledger fsck` names it.
package struct LedgerFinding: Hashable, Sendable {
    /// What kind of damage; a stable name for scripts.
    package enum Code: String, CaseIterable, Sendable {
        /// Positions without an event.
        case positionMissing = "position_missing"
        /// An event at a position that the head says is not used yet.
        case positionBeyondHead = "position_beyond_head"
        /// The entry is empty, although the event is not pruned.
        case entryMissing = "entry_missing"
        /// The event is pruned, and no bundle that was given holds its entry, or can be read.
        case bundleMissing = "bundle_missing"
        /// The entry's bytes are not those of an event that this program knows, or not canonical.
        case entryUnreadable = "entry_unreadable"
        /// The entry says another position than the one at which it stands in the log.
        case positionWrong = "position_wrong"
        /// The columns beside the entry differ from the entry.
        case columnsDiffer = "columns_differ"
        /// The entry's hash is not the recorded one.
        case leafHashWrong = "leaf_hash_wrong"
        /// Entries and hashes agree with each other and not with the Merkle tree.
        case treeWrong = "tree_wrong"
        /// The MAC of a batch is not that of a holder of the key-encryption key.
        case macWrong = "mac_wrong"
        /// The end is not signed with a batch key that is known.
        case signatureWrong = "signature_wrong"
        /// An approval is not signed by its giver, where it had to be.
        case approvalWrong = "approval_wrong"
        /// The event is not the next one of its stream.
        case streamVersionWrong = "stream_version_wrong"
        /// The event's time is before that of the event before it.
        case timeFalls = "time_falls"
        /// The event says a time of its decision that no node would record.
        case decidedAtWrong = "decided_at_wrong"
        /// Events lie in the future: a clock was ahead when they, or those before them, were recorded.
        case timeAhead = "time_ahead"
        /// The event cannot follow on its stream's state.
        case eventUnfit = "event_unfit"
        /// The recorded length of a stream is not that of its events.
        case streamHeadWrong = "stream_head_wrong"
        /// A recorded command does not lead to its events, or its events are recorded twice.
        case commandWrong = "command_wrong"
        /// A guard against changes is missing or switched off.
        case guardMissing = "guard_missing"
        /// A stored or served document does not verify.
        case documentUnverifiable = "document_unverifiable"
        /// A stored or served document differs from the ledger.
        case documentWrong = "document_wrong"
        /// There is no document, or one of an older version than the ledger's, although the ledger grew a while ago.
        case documentBehind = "document_behind"
        /// A secret that the ledger names is not stored.
        case secretMissing = "secret_missing"
        /// A stored secret belongs to another name, or is sealed with another key, or is not what its name says.
        case secretWrong = "secret_wrong"
        /// A stored snapshot is not what the ledger's events make, or none that a node would start from.
        case snapshotWrong = "snapshot_wrong"
        /// A command that was answered as done is not recorded, or more than once.
        case acknowledgedLost = "acknowledged_lost"
        case acknowledgedTwice = "acknowledged_twice"
        /// A log's checkpoint does not belong to its entries.
        case checkpointWrong = "checkpoint_wrong"
        /// The ledger does not continue the one of an earlier report.
        case historyRewritten = "history_rewritten"
        /// A document's version is lower than in an earlier report.
        case versionFell = "version_fell"

        /// The part of the database that needs repair.
        package enum Part: Sendable {
            case ledger
            case documents
            case secrets
            case snapshots
        }

        package var part: Part {
            switch self {
            case .documentUnverifiable, .documentWrong, .documentBehind, .versionFell: .documents
            case .secretMissing, .secretWrong: .secrets
            case .snapshotWrong: .snapshots
            default: .ledger
            }
        }
    }

    package var code: Code
    /// The first position concerned.
    package var position: Int64?
    /// The last position concerned, where there are several.
    package var lastPosition: Int64?
    /// The stream, app or table concerned.
    package var subject: String?
    /// A sentence for people.
    package var detail: String

    package init(
        _ code: Code, at position: Int64? = nil, through lastPosition: Int64? = nil, of subject: String? = nil,
        _ detail: String
    ) {
        self.code = code
        self.position = position
        self.lastPosition = lastPosition == position ? nil : lastPosition
        self.subject = subject
        self.detail = detail
    }
}

/// Findings, of which the first thousand are kept and all are counted: a ledger that is wrong from the middle on is
/// wrong in every later row.
package struct LedgerFindings: Sendable {
    package private(set) var kept: [LedgerFinding] = []
    package private(set) var count = 0
    /// The kinds of all of them, of those too that are not kept.
    package private(set) var codes: Set<LedgerFinding.Code> = []
    private static let limit = 1000

    package init() {}

    /// Counts a finding, and keeps it if it is among the first thousand.
    package mutating func add(_ finding: LedgerFinding) {
        self.count += 1
        self.codes.insert(finding.code)
        if self.kept.count < Self.limit { self.kept.append(finding) }
    }

    package var isEmpty: Bool { self.count == 0 }
}

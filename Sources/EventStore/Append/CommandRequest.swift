import PinWire
package import Pinning

/// One command on its way to the ledger.
package struct CommandRequest: Sendable {
    package var command: Command
    package var origin: Origin
    /// The stream version the caller has seen (`If-Match`); nil where any version will do.
    package var expectedVersion: Int64?
    /// The epoch in which that version was seen; nil where the caller did not say it.
    package var expectedEpoch: Int64?
    /// The stream of that version; nil for the command's own.
    package var expectedStream: StreamID?
    /// SHA-256 of the caller's request, 32 bytes: a second request with the same idempotency key must be the same.
    package var digest: [UInt8]
    /// The hash that a dry run showed (``Recorded/plan``), 32 bytes; nil where the caller accepts any result.
    package var expectedPlan: [UInt8]?
    /// Whether it takes over a configuration that clients already have.
    package var isImport: Bool
    /// True where it goes before others that wait (``LedgerState/isUrgent(_:)``).
    var isUrgent = false
    /// Its decision, where that was made beside the line.
    var prepared: PreparedDecision?

    package init(
        command: Command, origin: Origin, expectedVersion: Int64? = nil, expectedEpoch: Int64? = nil,
        expectedStream: StreamID? = nil, digest: [UInt8],
        expectedPlan: [UInt8]? = nil,
        isImport: Bool = false
    ) {
        self.command = command
        self.origin = origin
        self.expectedVersion = expectedVersion
        self.expectedEpoch = expectedEpoch
        self.expectedStream = expectedStream
        self.digest = digest
        self.expectedPlan = expectedPlan
        self.isImport = isImport
    }

    /// The context of its decision.
    ///
    /// - Parameter shared: The context that all commands of a batch have in common.
    func context(in shared: DecisionContext) -> DecisionContext {
        var context = shared
        context.reason = self.origin.reason
        context.isForced = self.origin.isForced
        context.actor = self.origin.actor.kind
        context.commander = self.origin.actor
        context.isImport = self.isImport
        return context
    }

    /// The person, account or part of the system that sends it, whichever token comes with it.
    struct Sender: Hashable, Sendable {
        private let kind: Actor.Kind
        private let id: String

        init(_ actor: Actor) { (self.kind, self.id) = (actor.kind, actor.principalID ?? actor.id) }
    }

    var sender: Sender { Sender(self.origin.actor) }

    /// Recognises the request when it is repeated; nil where its sender gave no key.
    var key: CommandKey? { self.origin.commandKey }
}

struct CommandKey: Hashable, Sendable {
    var actor: String
    var key: String
}

/// The result of a recorded command.
package struct Recorded: Sendable {
    /// Its events in order; none where nothing needed to change.
    package var entries: [Entry]
    /// The ledger's position after it.
    package var position: Int64
    /// The stream's version after it.
    package var streamVersion: Int64
    /// Whether this answers a repeated request with what the first one recorded.
    package var isReplay: Bool
    /// Findings of the guard rails that did not refuse it. They are not stored: a repeated request gets none of them.
    package var findings: [Finding] = []

    /// The hash of what is recorded, 32 bytes: the same for a dry run and for the change it foretold, and for no other.
    package var plan: [UInt8] {
        Decision.plan(of: self.entries.map(\.event), after: self.streamVersion - Int64(self.entries.count))
    }
}

/// Why a command was not recorded.
package enum WriteFailure: Error, Hashable, Sendable {
    case refused(Refusal)
    /// The stream is not at the version the caller expects.
    case stale(StreamID, expected: Int64, actual: Int64, epoch: Int64)
    /// The events would not be those that a dry run has shown.
    case planStale
    /// The idempotency key belongs to another request.
    case keyReused
    /// One event would be too large to be recorded.
    case tooLarge(bytes: Int)
    /// An event of it could not be read again once it is recorded: it holds a value from outside that no event can have.
    case unreadable(String)
    /// Too many commands wait already.
    case overloaded
    /// The database cannot be reached, or not in time. The command is not recorded.
    case unavailable(String)
    /// The node takes no changes for now: its clock or the database's is wrong.
    case suspended(String)
    /// Other nodes authenticate what they append, and this node has no key-encryption key.
    case noKey
    /// The connection was lost while the command was being recorded, and its outcome is not known yet. A repeated
    /// request with the same idempotency key finds it out.
    case outcomeUnknown
    /// The node has stopped following the ledger.
    case halted(LedgerFault)
}

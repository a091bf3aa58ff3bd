package import PinWire
package import Pinning
package import TransparencyLog

/// Where the ledger ends: the base of the next append.
package struct Head: Hashable, Sendable {
    /// The position of the next event; the number of events so far.
    package var position: Int64
    /// The right edge of the Merkle tree over all events so far.
    package var frontier: MerkleFrontier
    /// The time of the last event.
    package var lastTime: Timestamp

    package init() {
        self.position = 0
        self.frontier = MerkleFrontier()
        self.lastTime = Timestamp(microseconds: 0)
    }

    package init(position: Int64, frontier: MerkleFrontier, lastTime: Timestamp) {
        self.position = position
        self.frontier = frontier
        self.lastTime = lastTime
    }

    /// By how many seconds a time may lie ahead of a clock that is right: those of nodes differ by less, or they record nothing.
    package static let tolerance: Int64 = 60

    /// By how many seconds the clocks of nodes that record differ at the most, until the next measurement after a failover, for example.
    /// Clients wait so long for a kill switch that a lagging node dates ahead.
    package static let lag: Int64 = 5

    /// The present for a decision, by a clock: no earlier than the last event, which has happened, also for a node whose clock
    /// lags a little. Where the last event lies further ahead, the clock by which it was recorded was wrong, and has been put
    /// right since: then it is the clock's.
    package func present(by clock: Timestamp) -> Timestamp {
        clock.adding(seconds: Self.lag) < self.lastTime ? clock : max(clock, self.lastTime)
    }

    /// True where the last event lies in the future by a clock, further than clocks differ.
    package func isAhead(of clock: Timestamp) -> Bool { clock.adding(seconds: Self.tolerance) < self.lastTime }

    /// Compares a fold that reaches this head with the head's tree.
    ///
    /// - Throws: ``LedgerFault/fork(position:)`` where it is another one.
    func check(_ fold: Head) throws(LedgerFault) {
        guard fold.position == self.position, fold.frontier == self.frontier else {
            throw .fork(position: self.position)
        }
    }
}

/// The fold of the ledger up to one head.
package struct LedgerView: Sendable {
    package var head = Head()
    package var state = LedgerState()
    /// The leaf hash of the last event; nil before the first.
    package var lastLeaf: LogHash?
    /// ``lastLeaf`` as 32 bytes.
    package var lastLeafHash: [UInt8]? { self.lastLeaf?.bytes }

    package init() {}

    /// Moves the head over the next entry, whose event this node has decided and the state has taken in already.
    ///
    /// - Returns: The roots of the tiles that the entry completes.
    package mutating func extend(with bytes: [UInt8], at time: Timestamp) -> [TileRoot] {
        let leaf = MerkleTree.leafHash(bytes)
        self.lastLeaf = leaf
        self.head.position += 1
        self.head.lastTime = time
        return self.head.frontier.append(leaf: leaf)
    }
}

/// A mismatch at which a node stops following the ledger: it keeps serving what it last verified and needs a person. All but
/// ``unsigned(from:to:)``, ``unread(position:of:)`` and ``unconfirmed(position:of:)``, which end by themselves.
package enum LedgerFault: Error, Hashable, Sendable, CustomStringConvertible {
    case position(expected: Int64, found: Int64)
    case streamVersion(position: Int64)
    case time(position: Int64)
    case unfit(position: Int64)
    case unreadable(position: Int64, String)
    case leafHash(position: Int64)
    case fork(position: Int64)
    case shrunk(from: Int64, to: Int64)
    /// The head's row is missing (nil), or its hashes are not those of a tree of its position.
    case head(position: Int64?)
    /// A stream's recorded length is not that of its events, found by the append at this position.
    case streamHead(position: Int64)
    /// The database holds a row at a position that the head says is free, or the index of this name says so.
    case occupied(position: Int64, index: String)
    /// The snapshot from which this node started is not the fold of the ledger's events.
    case snapshot(position: Int64)
    /// A published document with a valid signature has other content than the ledger makes for its version.
    case contradicted(app: String, version: Int64, published: String, made: String)
    /// A published document with a valid signature has a version that the ledger has not reached.
    case unrecorded(app: String, version: Int64, recorded: Int64)
    /// The end of the ledger at the second position is not authenticated as this node authenticates its own, and the node has
    /// verified the ledger up to the first: something without the key-encryption key has recorded the events between.
    case unauthenticated(from: Int64, to: Int64, BatchKey.Defect)
    /// The events from the first position up to the second are not signed with a batch key that this node knows, which has no
    /// key-encryption key. It goes on once they are: this fault does not last, and halts nothing.
    case unsigned(from: Int64, to: Int64)
    /// The node has started, and has as many events as the first number says, of as many as the second says. This fault does not
    /// last either.
    case unread(position: Int64, of: Int64)
    /// As ``unread(position:of:)``, of a node that takes in only what a synchronous standby has: none confirms that it has the rest.
    case unconfirmed(position: Int64, of: Int64)
    /// The event at this position is pruned, and the file that should hold its entry does not; nil for no file, where there are no
    /// bundles.
    case pruned(position: Int64, file: String?)
    /// The database has fewer events than this node remembers, or than the expected checkpoint states.
    case forgotten(remembered: Int64, found: Int64)
    /// The first events in the database are not those that this node remembers, or that the expected checkpoint is of.
    case rewritten(remembered: Int64)
    /// The ledger is sound, and goes on with an event that only a later program understands. The node waits for its upgrade.
    case needsUpgrade(position: Int64, LaterProgram)

    /// Whether the ledger contradicts what was kept of it outside the database: its own events may all fit each other.
    package var contradictsMemory: Bool {
        switch self {
        case .forgotten, .rewritten: true
        default: false
        }
    }

    /// True where the database's events do not follow on those that the node has taken in: it may hold another history, in which
    /// versions of documents have other contents.
    package var leavesHistory: Bool {
        switch self {
        case .position, .streamVersion, .time, .unfit, .fork, .shrunk, .head: true
        case .unreadable, .leafHash, .streamHead, .occupied, .snapshot, .contradicted, .unrecorded, .unauthenticated,
            .unsigned,
            .unread, .unconfirmed, .pruned, .forgotten, .rewritten, .needsUpgrade:
            false
        }
    }

    /// Whether the ledger goes on without the node, which is too old for it.
    package var meansUpgrade: Bool {
        if case .needsUpgrade = self { true } else { false }
    }

    /// Whether the ledger is sound, and what is asked for needs an entry that is kept elsewhere.
    package var isPruned: Bool {
        if case .pruned = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .position(let expected, let found):
            "the ledger should go on at position \(expected) and goes on at \(found)"
        case .streamVersion(let position): "the event at position \(position) is not the next of its stream"
        case .time(let position): "the event at position \(position) lies before the one before it"
        case .unfit(let position): "the event at position \(position) does not belong to its stream"
        case .unreadable(let position, let why): "the event at position \(position) cannot be read: \(why)"
        case .leafHash(let position):
            "the event at position \(position) does not have the hash that was recorded for it"
        case .fork(let position): "the ledger up to position \(position) is not the one this node has followed"
        case .snapshot(let position):
            "the snapshot at position \(position), from which this node started, is not what the ledger's events make"
        case .shrunk(let from, let to): "the ledger had \(from) events and now has \(to)"
        case .head(nil): "the row that says where the ledger ends is missing"
        case .head(let position?):
            "the ledger is said to end at position \(position), and the hashes beside that are not of so many events"
        case .streamHead(let position):
            "the recorded length of a stream is not that of its events, so that nothing can be added at position \(position)"
        case .occupied(let position, let index):
            "the ledger is said to end at position \(position), and the database holds something there already, by the index \(index): a row that no node recorded, or a damaged index"
        case .contradicted(let app, let version, let published, let made):
            "version \(version) of the document of \(app) was published with the content \(published) under a valid signature, and the ledger makes the content \(made) of that version"
        case .unrecorded(let app, let version, let recorded):
            "version \(version) of the document of \(app) was published under a valid signature, and the ledger has come to version \(recorded) of it"
        case .unauthenticated(let from, let to, let defect):
            "the ledger's end, after \(to) events, is not authenticated, and this node has verified the first \(from): \(defect)"
        case .unsigned(let from, let to):
            "the ledger has \(to) events, and this node has verified the first \(from): no batch key that it knows has signed the others"
        case .unread(let position, 0): "this node starts; it has \(position) events of the ledger, and reads on"
        case .unread(let position, let end):
            "this node starts; it has \(position) of \(end) events of the ledger, and reads on"
        case .unconfirmed(let position, let end):
            "this node starts; it has \(position) of \(end) events of the ledger, and waits for a synchronous standby that has the others"
        case .pruned(let position, nil):
            "the event at position \(position) is pruned: its entry is in an entry bundle outside the database"
        case .pruned(let position, let file?):
            "the event at position \(position) is pruned, and its entry cannot be had from the entry bundles: \(file)"
        case .forgotten(let remembered, let found):
            "the database has \(found) events, and this node knows of \(remembered): a backup was restored, or a standby took over that had not received the rest"
        case .needsUpgrade(let position, let why):
            "the event at position \(position) needs a later program than this node's: \(why)"
        case .rewritten(let remembered):
            "the first \(remembered) events in the database are not those that this node knows: after a restore or a failover, other events were recorded in the place of lost ones"
        }
    }
}

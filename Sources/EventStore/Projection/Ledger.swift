package import PinWire
package import Pinning
import Synchronization
package import TransparencyLog

/// A node's view of the ledger, shared by all parts of the node: the newest verified fold, and notice of its growth.
///
/// One lock guards one value; nothing waits while holding it. The next process reads again from the database what this
/// one loses when it dies.
package final class Ledger: Sendable {
    /// Apps whose documents may have to be made again.
    package struct Changes: Sendable {
        package var apps: Set<AppID>
        /// Whether every app is concerned.
        package var isEverything: Bool

        package init(apps: Set<AppID>, isEverything: Bool = false) {
            self.apps = apps
            self.isEverything = isEverything
        }

        /// The changes that events of these streams make.
        package init(in streams: some Sequence<StreamID>) {
            self.init(apps: [])
            for stream in streams { self.note(stream) }
        }

        package static let none = Changes(apps: [])
        package static let everything = Changes(apps: [], isEverything: true)
        package var isEmpty: Bool { self.apps.isEmpty && !self.isEverything }

        mutating func note(_ stream: StreamID) {
            switch stream {
            case .app(let id): self.apps.insert(id)
            case .fleet, .keys: self.isEverything = true
            case .watch, .access, .webhooks, .log, .changes, .audit: break
            }
        }
    }

    private struct Content {
        var view: LedgerView
        var local = Changes.none
        var remote = Changes.everything
        /// The changes whose documents the node waits for; nil on a node that does not.
        var awaited: Changes?
        /// Streams that this node is writing to now.
        var writing: Set<StreamID> = []
        /// Where the ledger will end by that.
        var writingEnd: Int64 = 0
        var fault: LedgerFault?
        var isComplete = false
        /// The events behind the view that wait for a signature, on a node that follows those.
        var tail: UnsignedTail?
        /// Nil once the ledger was read.
        var reading: LedgerReading?
        var rememberedKeys = RememberedKeys()
        /// The entries to be kept outside the database; nil on a node that keeps none.
        var recent: RecentEntries?
        var partialFault: LedgerFault? {
            guard let fault else { return nil }
            return self.isComplete && !fault.contradictsMemory && !fault.meansUpgrade ? nil : fault
        }
        var unsigned: LedgerFault? { self.tail.map { .unsigned(from: self.view.head.position, to: $0.end) } }
        var suspension: String?
        /// Other nodes authenticate what they append, and this node has no key.
        var isKeyMissing = false
        /// The name of the key that authenticates the ledger's end, where this node has others and not that one.
        var foreignKey: String?
        /// The position at which another of this node's keys came into force last; below zero where none has.
        var keyChange: Int64 = -1
        var watchers: [Int: AsyncStream<Int64>.Continuation] = [:]
        var nextWatcher = 0
        var isClosed = false
    }

    /// What this node last saw of its database.
    package let database = DatabaseState()
    private let content: Mutex<Content>
    private let changes = Atomic<UInt64>(0)

    /// What this node authenticates batches with; nil where it has no key-encryption key.
    package let keys: BatchKeys?

    /// The public keys by whose signatures a node without ``keys`` follows the ledger; none where it believes what it reads.
    let verifiers: [BatchVerifier]

    /// The highest feature level that this node's program knows.
    package let knownLevel: Int64

    /// - Parameters:
    ///   - view: A fold that is verified: made by this node, or of a snapshot that its key authenticates.
    ///   - knownLevel: The highest ``FeatureLevel`` to follow the ledger to.
    package init(
        view: LedgerView = LedgerView(), keys: BatchKeys? = nil, verifiers: [BatchVerifier] = [],
        knownLevel: Int64 = FeatureLevel.known
    ) {
        self.keys = keys
        self.verifiers = keys == nil ? verifiers : []
        self.knownLevel = knownLevel
        self.content = Mutex(Content(view: view))
    }

    /// The newest fold.
    package var view: LedgerView { self.content.withLock { $0.view } }

    /// Holds the entries that the node takes in from now on.
    package func holdRecent() {
        self.content.withLock { content in
            if content.recent == nil { content.recent = RecentEntries(after: content.view.head.frontier) }
        }
    }

    /// True where ``advance(from:to:changing:isLocal:halting:entries:)`` is to be given the entries.
    var holdsRecent: Bool { self.content.withLock { $0.recent != nil } }

    /// Drops the held entries before `end`, which are kept elsewhere by now.
    package func forgetRecent(before end: MerkleFrontier) {
        self.content.withLock { $0.recent?.drop(before: end) }
    }

    /// The view with its fault and the entries that are held.
    package var recollection: Recollection {
        self.content.withLock { Recollection(view: $0.view, fault: $0.fault, recent: $0.recent) }
    }

    /// A number that changes whenever the view or a fault does: a result computed from both stays valid while the
    /// number does. To be read before them.
    package var revision: UInt64 { self.changes.load(ordering: .acquiring) }

    /// The number of events taken in.
    package var position: Int64 { self.content.withLock { $0.view.head.position } }

    /// Why the node stopped following, if it did.
    package var fault: LedgerFault? { self.content.withLock { $0.fault } }

    /// Why the view must not be taken for the whole ledger: the node still reads it, or stopped before it had once read to the
    /// end, the ledger goes on without it or with events that nothing it knows has signed, or it knows from outside the database
    /// that the end is missing. Tokens and pins that were revoked there would be alive. Nil where the node did read the whole
    /// ledger, and follows it.
    package var partialFault: LedgerFault? {
        self.content.withLock { content in content.reading?.fault ?? content.partialFault ?? content.unsigned }
    }

    /// As ``partialFault``, except of a node that waits for signatures: it has everything that any node is known to have recorded.
    package var partialHalt: LedgerFault? {
        self.content.withLock { content in content.reading?.fault ?? content.partialFault }
    }

    /// True where the node had read the whole ledger, and its database holds another history by now: the view is the end of the one
    /// that the node has served.
    package var isLeft: Bool {
        self.content.withLock { $0.fault?.leavesHistory == true && $0.partialFault == nil && $0.reading == nil }
    }

    /// How far this node has read, until it has read the ledger once.
    var reading: LedgerReading? { self.content.withLock { $0.reading } }

    var rememberedKeys: RememberedKeys { self.content.withLock { $0.rememberedKeys } }

    func withReading(_ body: (inout LedgerReading?, inout RememberedKeys, LedgerView) -> Void) {
        self.content.withLock { content in
            let wasReading = content.reading != nil
            body(&content.reading, &content.rememberedKeys, content.view)
            if wasReading || content.reading != nil { self.changes.add(1, ordering: .releasing) }
        }
    }

    /// Why nothing may be signed or recorded through this node for now; it still reads and serves.
    package var suspension: String? { self.content.withLock { $0.suspension } }

    /// Why nothing may be recorded through this node; nil where it may.
    package var refusal: WriteFailure? {
        self.content.withLock { content in
            (content.fault ?? content.reading?.fault).map { .halted($0) }
                ?? content.suspension.map { .suspended($0) }
                ?? (content.isKeyMissing || content.foreignKey != nil || !self.verifiers.isEmpty ? .noKey : nil)
        }
    }

    /// The ledger's end as the database states it, where a node with the key has made it. A node without the key believes
    /// it, and records nothing where others have the key.
    ///
    /// An end that the node has reached is not checked again: its MAC changes with the key-encryption key. The first one is,
    /// even where a snapshot reaches so far.
    ///
    /// - Throws: ``LedgerFault/unauthenticated(from:to:_:)``.
    func authenticated(_ end: StoredEnd) throws(LedgerFault) -> Head {
        guard let keys else {
            if end.mac != nil { self.content.withLock { $0.isKeyMissing = true } }
            return end.head
        }
        self.noteKey(of: end)
        let (known, isComplete) = self.content.withLock { ($0.view.head.position, $0.isComplete) }
        guard end.head.position > (isComplete ? known : 0) else { return end.head }
        if let defect = keys.defect(of: end.mac, beside: end.head) {
            throw .unauthenticated(from: min(known, end.head.position), to: end.head.position, defect)
        }
        return end.head
    }

    /// The name of the key-encryption key that authenticates the ledger's end, where this node has others and not that one: it
    /// records nothing. Nil where it has that one, or none.
    package var foreignKey: String? { self.content.withLock { $0.foreignKey } }

    /// The name of the key-encryption key with which this node records; nil where it has none.
    package var keyName: String? { self.keys.map { Hex.encode($0.current.id) } }

    /// Takes note of the key that authenticates the ledger's end, as the database states it. One of this node's keys comes into force by a
    /// right MAC alone: its name is no secret. At a position where the node has seen the key change it does not go back: the former MAC of it is
    /// stored with the event. What a server says that is behind counts for nothing.
    ///
    /// - Returns: False where the end names another key than the one in force.
    @discardableResult
    func noteKey(of end: StoredEnd) -> Bool {
        guard let keys, let mac = end.mac else { return true }
        let isCurrent = mac.starts(with: keys.current.id)
        let defect = isCurrent ? nil : keys.defect(of: mac, beside: end.head)
        return self.content.withLock { content in
            guard isCurrent || end.head.position >= content.view.head.position else { return false }
            var foreign = isCurrent ? nil : content.foreignKey
            defer {
                if content.foreignKey != foreign { self.changes.add(1, ordering: .releasing) }
                content.foreignKey = foreign
            }
            guard !isCurrent else { return true }
            if defect != nil {
                foreign = Hex.encode(mac.prefix(8))
            } else if end.head.position > content.keyChange, keys.use(named: mac) {
                foreign = nil
                // The node has not seen a change before its start.
                if content.isComplete { content.keyChange = end.head.position }
                return true
            }
            return false
        }
    }

    func suspend(_ why: String?) {
        self.content.withLock { $0.suspension = why }
    }

    /// Records that the view has been at the ledger's end once, and is there now.
    func noteEnd() {
        self.content.withLock { content in
            content.isComplete = true
            guard content.tail != nil else { return }
            content.tail = nil
            self.changes.add(1, ordering: .releasing)
        }
    }

    /// Why the view is not at the ledger's end, on a node that follows signatures; nil where it is.
    package var unsigned: LedgerFault? { self.content.withLock { $0.unsigned } }

    /// Records that the ledger goes on behind the view with events that nothing has signed.
    ///
    /// - Returns: Whether it did not before.
    func noteUnsigned(through end: Int64) -> Bool {
        self.content.withLock { content in
            guard content.tail?.end != end else { return false }
            defer { self.changes.add(1, ordering: .releasing) }
            guard content.tail == nil else {
                content.tail?.end = end
                return false
            }
            content.tail = UnsignedTail(end: end)
            return true
        }
    }

    /// The positions of events among which to look for signatures next; nil where all were looked at.
    var unsearched: Range<Int64>? {
        self.content.withLock { content in content.tail?.unsearched(from: content.view.head.position) }
    }

    /// Records that the events at these positions end no batch that is signed with a known key.
    func noteSearched(_ positions: Range<Int64>) {
        self.content.withLock { $0.tail?.note(searched: positions) }
    }

    /// Whether there is no other signed end than the view's, so far as this node has seen.
    package var hasSearched: Bool { self.unsearched == nil }

    /// The number of events in the database, so far as this node has seen, those included that it waits to see signed.
    package var endSeen: Int64 {
        self.content.withLock { max($0.view.head.position, $0.tail?.end ?? 0) }
    }

    /// Stops following permanently: the last verified view stays. Tasks that wait for the ledger to grow are woken,
    /// since it does not.
    package func halt(_ fault: LedgerFault) {
        let (watchers, position) = self.content.withLock { content in
            // A contradiction of what is known outside the database weighs more than an upgrade to come.
            if content.fault == nil || content.fault?.meansUpgrade == true { content.fault = fault }
            self.changes.add(1, ordering: .releasing)
            return (Array(content.watchers.values), content.view.head.position)
        }
        for watcher in watchers { watcher.yield(position) }
    }

    /// Takes in a view that was made from the one at `base` and is verified: it is never taken back. Ignored where
    /// another path came as far.
    ///
    /// Both the writer (which knows what it appended) and the follower (which reads what all nodes appended) bring the
    /// view forward, by the same entries in the same order. The follower may be first with what the writer appended:
    /// changes in the streams that are being written count as local all the same.
    ///
    /// - Parameters:
    ///   - fault: What halts the ledger with this view: nobody sees the one without the other.
    ///   - entries: The entries between the two, as they are hashed; nil where they were not held when they were read.
    /// - Returns: False where the view at `base` has given way to another one before `view`, from which to make it
    ///   again. True too where the ledger has halted.
    @discardableResult
    func advance(
        from base: Head, to view: LedgerView, changing streams: some Sequence<StreamID>, isLocal: Bool,
        halting fault: LedgerFault? = nil, entries: [[UInt8]]? = nil
    ) -> Bool {
        let (watchers, position, isSettled) = self.content.withLock { content in
            let none: [AsyncStream<Int64>.Continuation] = []
            guard content.fault == nil, content.view.head.position < view.head.position else {
                return (none, Int64(0), true)
            }
            guard content.view.head == base else { return (none, 0, false) }
            content.view = view
            content.fault = fault
            content.recent?.take(entries, from: base, to: view.head)
            self.changes.add(1, ordering: .releasing)
            for stream in streams {
                content.awaited?.note(stream)
                if isLocal || content.writing.contains(stream) {
                    content.local.note(stream)
                } else {
                    content.remote.note(stream)
                }
            }
            return (Array(content.watchers.values), view.head.position, true)
        }
        for watcher in watchers { watcher.yield(position) }
        return isSettled
    }

    /// Says that this node is about to append a batch.
    func beginWriting(_ batch: Batch) {
        let (streams, end) = (Set(batch.streams.keys), batch.after.head.position)
        self.content.withLock { content in
            content.writing = streams
            content.writingEnd = end
        }
    }

    /// Records that the batch that was begun has ended.
    func endWriting() {
        self.content.withLock { content in
            content.writing = []
            content.writingEnd = 0
        }
    }

    /// Whether the events before `position` are known here, or will be as soon as this node's own batch is answered.
    func knows(through position: Int64) -> Bool {
        self.content.withLock { $0.view.head.position >= position || $0.writingEnd >= position }
    }

    /// The changes through this node since the last call. One consumer: the publisher.
    package func takeLocalChanges() -> Changes {
        self.content.withLock { content in
            defer { content.local = .none }
            return content.local
        }
    }

    /// The changes through other nodes since the last call. Those nodes publish them if they live.
    package func takeRemoteChanges() -> Changes {
        self.content.withLock { content in
            defer { content.remote = .none }
            return content.remote
        }
    }

    /// The changes since the last call, whose documents other nodes sign; everything at the first call. One consumer: what fetches
    /// documents on a node that signs none.
    package func takeAwaitedChanges() -> Changes {
        self.content.withLock { content in
            defer { content.awaited = Changes.none }
            return content.awaited ?? .everything
        }
    }

    /// Gives back changes that could not be published, for another attempt.
    package func giveBack(_ changes: Changes) {
        self.content.withLock { content in
            content.remote.apps.formUnion(changes.apps)
            content.remote.isEverything = content.remote.isEverything || changes.isEverything
        }
    }

    /// The head's position each time it grows, beginning with the present one; and once more when the node halts.
    ///
    /// Buffers only the newest: a slow reader skips positions and misses no event, since it reads the events themselves
    /// by position.
    package func positions() -> AsyncStream<Int64> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
        let id: Int? = self.content.withLock { content in
            guard !content.isClosed else { return nil }
            let id = content.nextWatcher
            content.nextWatcher += 1
            content.watchers[id] = continuation
            continuation.yield(content.view.head.position)
            return id
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.content.withLock { $0.watchers[id] = nil }
        }
        return stream
    }

    /// Ends every stream of ``positions()``, now and later.
    package func close() {
        let watchers = self.content.withLock { content in
            content.isClosed = true
            defer { content.watchers = [:] }
            return Array(content.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

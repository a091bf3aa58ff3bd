package import CoreMetrics
import Exposition
import LogLines
package import Logging
import Metrics
import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Keeps a node's ``Ledger`` in step with the database: reads what other nodes append.
///
/// NOTIFY wakes it, a poll every second is the fallback, and after every reconnection it reads on from its position. It
/// checks what it reads: positions without a gap, hashes, and the tree's right edge against the head. At a mismatch it
/// halts permanently and reports why, and the node goes on serving what was last verified. So it does at an event that only a
/// later program understands: a sound ledger goes on without this program.
package struct Follower: Sendable {
    package static let channel = "pinledger_position"
    private let ledger: Ledger
    private let reader: LedgerReader
    private let bulk: BulkReader
    private let listener: PostgresListener
    private let logger: Logger
    private let duration: CoreMetrics.Timer
    /// The number of entries read in one statement.
    private let pageSize: Int
    /// The number of entries from which they are read by COPY.
    private let bulkSize: Int64
    /// Whether what is read is taken in only once a standby has it: on nodes that record and sign, where they are told to.
    private let confirms: Bool
    /// How long it waits for that at a time.
    private let patience: Duration

    package init(
        ledger: Ledger, pool: PostgresPool, bundles: BundleDirectory? = nil, listener: PostgresListener, logger: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance, pageSize: Int = 2000, bulkSize: Int64 = 8000
    ) {
        self.ledger = ledger
        self.reader = LedgerReader(pool: pool, bundles: bundles)
        self.bulk = BulkReader(
            configuration: pool.configuration, knownLevel: ledger.knownLevel, bundles: bundles)
        self.listener = listener
        self.logger = logger
        self.duration = Timer(label: MetricFamily.followDuration.rawValue, factory: metrics)
        self.pageSize = pageSize
        self.bulkSize = bulkSize
        let configuration = pool.configuration
        self.confirms = configuration.requiresSynchronousStandby
        self.patience = min(.seconds(2), (configuration.statementTimeout ?? .seconds(30)) / 2)
    }

    /// Follows until cancelled, or until a mismatch.
    ///
    /// - Parameter audit: The check to run in the background, where the node started from a snapshot.
    package func run(beside audit: SnapshotAudit? = nil) async {
        async let audited: Void? = audit?.run()
        await self.follow()
        await audited
    }

    private func follow() async {
        var listenerLoss = ListenerLoss()
        var isUnconfirmed = false
        for await event in self.listener.events() {
            switch event {
            case .notification(let channel, _) where channel != Self.channel: continue
            case .notification(_, let payload):
                // This node's own appends are not read back. If they were wrong, the next poll would find it.
                if let position = Int64(payload), self.ledger.knows(through: position) { continue }
            default: break
            }
            guard self.ledger.fault == nil else { return }
            do {
                try await self.catchUp(confirms: self.confirms)
                isUnconfirmed = false
                self.ledger.database.find(.reading, self.logger)
                if let loss = listenerLoss.note(event, isAnswered: true) {
                    self.logger.log(.listenerLost, ["error": "\(loss)"])
                }
            } catch let fault as LedgerFault {
                self.ledger.halt(fault)
                self.logger.log(
                    fault.meansUpgrade ? .upgradeNeeded : fault.isPruned ? .eventsPruned : .followerHalted,
                    ["fault": "\(fault)"])
                return
            } catch let unconfirmed as Unconfirmed {
                guard !Task.isCancelled else { return }
                self.ledger.database.find(.reading, self.logger)
                _ = listenerLoss.note(event, isAnswered: true)
                if !isUnconfirmed { self.logger.log(.endUnconfirmed, ["error": "\(unconfirmed)"]) }
                isUnconfirmed = true
            } catch is CancellationError {
                return
            } catch let error as PostgresError where error.meansNoServer && !Task.isCancelled {
                self.ledger.database.lose(.reading, error, self.logger)
                _ = listenerLoss.note(event, isAnswered: false)
            } catch {
                // A statement that the end of this node has cancelled says nothing about the ledger.
                guard !Task.isCancelled else { return }
                _ = listenerLoss.note(event, isAnswered: false)
                self.logger.log(.ledgerUnreadable, ["error": "\(error)"])
            }
        }
    }

    /// No standby confirmed in time that it has what was read.
    package struct Unconfirmed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads to the ledger's present end, as a node does that starts. What ``run(beside:)`` would not take in yet, this waits for.
    ///
    /// - Parameters:
    ///   - isTrusting: Whether to believe an end that is not authenticated, as an operator has said.
    ///   - onWaiting: Called when it has to wait for a standby; nil to fail instead.
    /// - Throws: ``Unconfirmed`` where it does not wait, and otherwise as ``catchUp(trusting:confirms:)``.
    package func readToEnd(trusting isTrusting: Bool = false, onWaiting: (@Sendable () -> Void)? = nil) async throws {
        var isReported = false
        while let unconfirmed = try await self.unconfirmed(trusting: isTrusting) {
            guard let onWaiting else { throw unconfirmed }
            // The database does answer.
            self.ledger.database.find(.reading, self.logger)
            if !isReported { self.logger.log(.endUnconfirmed, ["error": "\(unconfirmed)"]) }
            isReported = true
            onWaiting()
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Reads to the ledger's end; returns why nothing was taken in, where that is for the lack of a standby.
    private func unconfirmed(trusting isTrusting: Bool) async throws -> Unconfirmed? {
        do {
            try await self.catchUp(trusting: isTrusting, confirms: self.confirms)
            return nil
        } catch let unconfirmed as Unconfirmed {
            try Task.checkCancellation()
            return unconfirmed
        }
    }

    /// Reads until the ledger's present end.
    ///
    /// - Parameters:
    ///   - isTrusting: Whether to believe an end that is not authenticated, as an operator has said.
    ///   - confirms: Whether to take in only what a synchronous standby has. A commit whose wait for the standby
    ///     was cancelled is visible on the primary, and lost with it.
    /// - Throws: ``LedgerFault`` at a mismatch, or the database's error.
    package func catchUp(trusting isTrusting: Bool = false, confirms: Bool = false) async throws {
        let (end, isStandby) = try await self.reader.endAndServer()
        let head = isTrusting ? end.head : try self.ledger.authenticated(end)
        let known = self.ledger.endSeen
        if head.position < known {
            // The writer may have brought the view forward since the head was read.
            let now = try await self.reader.head()
            guard now.position >= known else {
                // What the node knows came from another server, which a standby follows with a delay.
                if try await self.reader.isStandby() { return }
                throw LedgerFault.shrunk(from: known, to: now.position)
            }
            return
        }
        // What a standby shows, a standby has. A node that prefers standbys reads from the primary where none answers.
        if confirms, !isStandby, self.ledger.position < head.position {
            do { try await self.confirm() } catch let unconfirmed as Unconfirmed {
                self.ledger.noteUnconfirmed(before: head.position)
                throw unconfirmed
            }
        }
        guard try await self.isSigned(head) else {
            if let signed = try await self.lastSignedEnd() { try await self.take(signed) }
            return
        }
        try await self.take(head)
        guard self.ledger.fault == nil else { return }
        let now = self.ledger.view.head
        if now.position == head.position { try head.check(now) }
        let wasUnsigned = self.ledger.unsigned != nil
        self.ledger.noteEnd()
        if wasUnsigned { self.logger.log(.endSigned, ["position": "\(head.position)"]) }
    }

    /// Takes in everything before `head`.
    private func take(_ head: Head) async throws {
        while self.ledger.fault == nil {
            let base = self.ledger.view
            guard base.head.position < head.position else { break }
            self.ledger.noteRead(base.head.position, of: head.position)
            let begun = ContinuousClock.now
            let fold = try await self.fold(base, to: head)
            self.duration.record(duration: ContinuousClock.now - begun)
            let isTaken = self.ledger.advance(
                from: base.head, to: fold.view, changing: fold.grown, isLocal: false, halting: fold.fault,
                entries: fold.entries)
            if let fault = fold.fault, isTaken { throw fault }
            try Task.checkCancellation()
        }
    }

    /// Whether the ledger's end may be taken in for the signature beside it: on a node that follows signatures, only with a right
    /// one. Where it may not, the node says so from now on.
    private func isSigned(_ end: Head) async throws -> Bool {
        let verifiers = self.ledger.verifiers
        guard !verifiers.isEmpty, end.position > self.ledger.position,
            verifiers.defect(of: try await self.reader.signature(before: end.position), beside: end) != nil
        else { return true }
        if self.ledger.noteUnsigned(through: end.position), let fault = self.ledger.unsigned {
            self.logger.log(.endUnsigned, ["fault": "\(fault)"])
        }
        return false
    }

    /// The last signed end behind the view; nil where none was found yet.
    private func lastSignedEnd() async throws -> Head? {
        // New events first, and then a part of those before: also where new ones come all the time.
        for _ in 0..<2 {
            guard let positions = self.ledger.unsearched else { return nil }
            let (end, searched) = try await self.reader.signedEnd(at: positions, by: self.ledger.verifiers)
            self.ledger.noteSearched(searched)
            if let end { return end }
        }
        return nil
    }

    /// Waits until a synchronous standby has everything that was visible before.
    ///
    /// The wait is cancelled in time: the server does not notice by itself that nobody waits any more, and keeps the session.
    private func confirm() async throws {
        let (pool, patience) = (self.reader.pool, self.patience)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Asked afterwards too: the wait also ends when commits stop waiting for a standby.
                    for statement in [Statements.confirm, PostgresConfiguration.commitsWait] {
                        guard try await pool.query(statement).only.bool(0) else {
                            throw Unconfirmed(description: "commits on this server wait for no synchronous standby")
                        }
                    }
                }
                group.addTask {
                    try await Task.sleep(for: patience)
                    throw Unconfirmed(description: "no standby answered within \(patience)")
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch let error as PostgresError where error.code == .outcomeUnknown && error.sqlState == "01000" {
            throw Unconfirmed(description: "\(error)")
        }
    }

    /// Reads on to the last end of the ledger that the node's key authenticates, where its present end is not: a node that starts
    /// then knows keys and apps as its kind has recorded them, and can serve documents.
    ///
    /// Where nothing in the last ``searchLimit`` batches is authenticated the view stays as it is.
    package func catchUpToAuthenticated() async throws {
        guard let key = self.ledger.key else { return }
        let (base, end) = (self.ledger.view, try await self.reader.head())
        // A damaged head may lie below the snapshot from which the node started.
        guard base.head.position < end.position,
            let authentic = try await self.lastEnd(authenticatedBy: key, in: base.head.position..<end.position)
        else { return }
        let fold = try await self.fold(base, to: authentic)
        self.ledger.advance(
            from: base.head, to: fold.view, changing: fold.grown, isLocal: false, halting: fold.fault,
            entries: fold.entries)
        if let fault = fold.fault { throw fault }
    }

    /// True where the node's key authenticates one of the last ``searchLimit`` ends of the ledger: it is or was the ledger's key then,
    /// whatever has become of the present end and of the secrets.
    package func keyIsOfLedger() async throws -> Bool {
        guard let key = self.ledger.key else { return false }
        let end = try await self.reader.head().position
        return end > 0 ? try await self.lastEnd(authenticatedBy: key, in: 0..<end) != nil : false
    }

    /// The last end behind the first of `positions`, among ``searchLimit``, that a key authenticates.
    private func lastEnd(authenticatedBy key: BatchKey, in positions: Range<Int64>) async throws -> Head? {
        var bound = positions.upperBound
        var searched = 0
        while searched < Self.searchLimit, bound > positions.lowerBound {
            let page = try await self.reader.macs(
                at: positions.lowerBound..<bound, of: key, limit: min(self.pageSize, Self.searchLimit - searched))
            for candidate in page where key.defect(of: candidate.mac, beside: candidate.head) == nil {
                return candidate.head
            }
            guard let last = page.last else { return nil }
            bound = last.head.position - 1
            searched += page.count
        }
        return nil
    }

    /// Reads on to the last end of the ledger that the node verifies as it does others, where events behind it are missing: a node
    /// that starts then knows keys and apps, and can serve documents. Nothing changes where there is none.
    ///
    /// - Throws: ``LedgerFault`` where an event before that end is missing or damaged too.
    package func catchUpToVerified() async throws {
        guard self.ledger.key == nil else { return try await self.catchUpToAuthenticated() }
        let (base, verifiers) = (self.ledger.view, self.ledger.verifiers)
        guard var end = try await self.reader.lastEnd(), end.position > base.head.position else { return }
        if !verifiers.isEmpty {
            let found = try await self.reader.signedEnd(at: base.head.position..<end.position, by: verifiers)
            guard let signed = found.end else { return }
            end = signed
        }
        let fold = try await self.fold(base, to: end)
        self.ledger.advance(
            from: base.head, to: fold.view, changing: fold.grown, isLocal: false, halting: fold.fault,
            entries: fold.entries)
    }

    /// How many batches at the end are looked at: each costs a few small queries.
    private static let searchLimit = 2000

    /// The entries between a view and a later end of the ledger, folded.
    private struct Fold {
        var view: LedgerView
        /// The streams that grew.
        var grown: Set<StreamID> = []
        /// The entries; nil where they were read in bulk, or are not held.
        var entries: [[UInt8]]?
        /// Why the fold ends before the end, where a later program is needed to go on.
        var fault: LedgerFault?
    }

    /// Folds the entries between a view and a head, and notes the streams that grew by them. It does so aside, because only
    /// the tree at the head shows whether these entries are the ledger's.
    private func fold(_ base: LedgerView, to head: Head) async throws -> Fold {
        var fold = Fold(view: base)
        do {
            if head.position - base.head.position >= self.bulkSize {
                defer { fold.grown = fold.view.state.streams(grownSince: base.state) }
                let (ledger, end) = (self.ledger, head.position)
                try await self.bulk.fold(&fold.view, to: end) { ledger.noteRead($0, of: end) }
            } else {
                fold.entries = self.ledger.holdsRecent ? [] : nil
                while fold.view.head.position < head.position {
                    let page = try await self.reader.page(
                        at: fold.view.head.position..<head.position, limit: self.pageSize,
                        knowing: self.ledger.knownLevel, holdsEntries: fold.entries != nil)
                    fold.grown.formUnion(page.steps.map(\.stream))
                    fold.entries?.append(contentsOf: page.entries)
                    try fold.view.apply(page, before: head)
                    self.ledger.noteRead(fold.view.head.position, of: head.position)
                }
            }
        } catch let fault as LedgerFault where fault.meansUpgrade {
            try await self.check(head, goesOnFrom: fold.view.head)
            fold.fault = fault
            return fold
        } catch LedgerFault.pruned(let position, _) {
            throw try await self.reader.missing(at: position)
        } catch let unreadable as BundleDirectory.Unreadable {
            throw LedgerFault.pruned(position: fold.view.head.position, file: unreadable.description)
        }
        try head.check(fold.view.head)
        return fold
    }

    /// Checks by their hashes alone that the entries between two ends are the ledger's.
    private func check(_ head: Head, goesOnFrom start: Head) async throws {
        var end = start
        while end.position < head.position {
            let leaves = try await self.reader.leaves(at: end.position..<head.position, limit: self.pageSize)
            for leaf in leaves { end.frontier.append(leaf: leaf) }
            end.position += Int64(leaves.count)
        }
        try head.check(end)
    }
}

extension LedgerState {
    /// The streams that are longer than in an earlier state of the same ledger.
    fileprivate func streams(grownSince earlier: LedgerState) -> Set<StreamID> {
        let few: [StreamID] = [.fleet, .keys, .access, .webhooks]
        var grown = Set(few.filter { self.version(of: $0) != earlier.version(of: $0) })
        for app in self.apps.values where app.version != earlier.apps[app.id]?.version { grown.insert(.app(app.id)) }
        return grown
    }
}

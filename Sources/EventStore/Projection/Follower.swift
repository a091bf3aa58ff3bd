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
///
/// Connections may lead to several servers: a standby that is behind, a former primary. So all of one catch-up is read on one
/// connection, a standby that has fewer events than the node knows has lost nothing, and of a primary it is believed only once
/// a new connection says it too. A standby that has not got soon what the primary announces is left for the primary.
package struct Follower: Sendable {
    package static let channel = "pinledger_position"
    let ledger: Ledger
    let reader: LedgerReader
    private let bulk: BulkReader
    private let listener: PostgresListener
    let logger: Logger
    private let duration: CoreMetrics.Timer
    /// The number of entries read in one statement.
    let pageSize: Int
    /// The number of entries from which they are read by COPY.
    private let bulkSize: Int64
    /// Whether what is read is taken in only once a standby has it: on nodes that record and sign, where they are told to.
    let confirms: Bool
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
        var keyNews = KeyNews(of: self.ledger)
        var owed = Owed()
        for await event in self.listener.events(on: Self.channel) {
            if case .notification(_, let payload) = event, let end = Int64(payload) {
                // This node's own appends are not read back. If they were wrong, the next poll would find it.
                if self.ledger.knows(through: end) { continue }
                owed.end = max(owed.end, end)
            }
            // Announcements from before are missing here, and a standby that stands still would not show them.
            if case .connected = event, let end = try? await self.reader.endOfPrimary() {
                owed.end = max(owed.end, end)
            }
            guard self.ledger.fault == nil else { return }
            do {
                try await self.catchUp(confirms: self.confirms)
                try await self.settle(&owed)
                keyNews.look(at: self.ledger, self.logger)
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

    /// The end that the primary has announced and this node has not read yet.
    private struct Owed {
        var end: Int64 = 0
        /// True where a standby was given its moment.
        var hasWaited = false
        /// When the primary may be asked again: announcements may say anything, and as often as they like.
        var mayAskFrom = ContinuousClock.now

        mutating func clear() { (self.end, self.hasWaited) = (0, false) }
    }

    /// Reads again, for a moment, until the events before an announced position are there: a standby has them a moment after the
    /// primary announces them. Where it has not, its replay lags or stands still, and what the primary has is read from there.
    private func settle(_ owed: inout Owed) async throws {
        func isOwed() -> Bool { self.ledger.endSeen < owed.end && self.ledger.fault == nil }
        let configuration = self.reader.pool.configuration.ofPrimary
        if !owed.hasWaited {
            var pause = Duration.milliseconds(5)
            while isOwed(), pause < (configuration == nil ? .seconds(1) : .milliseconds(320)) {
                try await Task.sleep(for: pause)
                try await self.catchUp(confirms: self.confirms)
                pause *= 2
            }
            owed.hasWaited = true
        }
        // Without a primary that may be asked, the next poll finds what is there.
        guard isOwed(), configuration != nil else { return owed.clear() }
        guard owed.mayAskFrom <= .now else { return }
        do {
            owed.mayAskFrom = .now + .milliseconds(500)
            let known = self.ledger.endSeen
            if try await self.reader.endOfPrimary() ?? 0 > known {
                try await self.catchUpOnPrimary()
                self.logger.log(.standbyLeft, ["position": "\(known)", "announced": "\(owed.end)"])
            }
            owed.clear()
        } catch let error as PostgresError where error.meansNoServer {
            // The standby answers, and may have it later, or be promoted.
            owed.mayAskFrom = .now + .seconds(5)
        }
    }

    /// Reads until the ledger's end on a connection that is opened for it: to the primary, where the connection string names one beside
    /// standbys. The pool's other connections end, and the next ones lead to servers that have as much.
    ///
    /// - Throws: As ``catchUp(trusting:confirms:)``.
    package func catchUpOnPrimary() async throws {
        try await self.reader.onNewConnection { try await self.catchUp($0, trusting: false, confirms: self.confirms) }
    }

    /// Reads until the end of the ledger that a server has at present.
    ///
    /// - Parameters:
    ///   - isTrusting: Whether to believe an end that is not authenticated, as an operator has said.
    ///   - confirms: Whether to take in only what a synchronous standby has. A commit whose wait for the standby
    ///     was cancelled is visible on the primary, and lost with it.
    /// - Returns: False where the server lacks what this node knows, and is left for another one, or the same one later.
    /// - Throws: ``LedgerFault`` at a mismatch, or the database's error.
    @discardableResult
    package func catchUp(trusting isTrusting: Bool = false, confirms: Bool = false) async throws -> Bool {
        func read(_ reader: LedgerReader) async throws {
            try await self.catchUp(reader, trusting: isTrusting, confirms: confirms)
        }
        do {
            do { try await self.reader.onOneServer(read) } catch let fault as LedgerFault where fault.leavesHistory {
                // The connection may lead to a former primary. What a new one says counts.
                do { try await self.reader.onNewConnection(read) } catch let error as PostgresError {
                    // The check of new connections may have found it.
                    if let fault = self.ledger.fault { throw fault }
                    throw error
                }
            }
            return true
        } catch is LedgerReader.Behind {
            return false
        }
    }

    private func catchUp(_ reader: LedgerReader, trusting isTrusting: Bool, confirms: Bool) async throws {
        // Read first: the ledger only grows.
        let known = self.ledger.endSeen
        let (end, isStandby) = try await reader.endAndServer()
        let head = isTrusting ? end.head : try self.ledger.authenticated(end)
        guard head.position >= known else {
            // What the node knows came from another server, which a standby follows with a delay.
            if isStandby { throw LedgerReader.Behind(position: known - 1) }
            throw LedgerFault.shrunk(from: known, to: head.position)
        }
        // What a standby shows, a standby has. A node that prefers standbys reads from the primary where none answers.
        if confirms, !isStandby, self.ledger.position < head.position {
            do { try await self.confirm(on: reader) } catch let unconfirmed as Unconfirmed {
                self.ledger.noteUnconfirmed(before: head.position)
                throw unconfirmed
            }
        }
        guard try await self.isSigned(head, reader) else {
            if let signed = try await self.lastSignedEnd(reader) { try await self.take(signed, reader) }
            return
        }
        try await self.take(head, reader)
        guard self.ledger.fault == nil else { return }
        let now = self.ledger.view.head
        if now.position == head.position { try head.check(now) }
        let wasUnsigned = self.ledger.unsigned != nil
        self.ledger.noteEnd()
        if wasUnsigned { self.logger.log(.endSigned, ["position": "\(head.position)"]) }
    }

    /// Takes in everything before `head`.
    private func take(_ head: Head, _ reader: LedgerReader) async throws {
        while self.ledger.fault == nil {
            let base = self.ledger.view
            guard base.head.position < head.position else { break }
            self.ledger.noteRead(base.head.position, of: head.position)
            let begun = ContinuousClock.now
            let fold = try await self.fold(base, to: head, reader)
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
    private func isSigned(_ end: Head, _ reader: LedgerReader) async throws -> Bool {
        let verifiers = self.ledger.verifiers
        guard !verifiers.isEmpty, end.position > self.ledger.position,
            verifiers.defect(of: try await reader.signature(before: end.position), beside: end) != nil
        else { return true }
        if self.ledger.noteUnsigned(through: end.position), let fault = self.ledger.unsigned {
            self.logger.log(.endUnsigned, ["fault": "\(fault)"])
        }
        return false
    }

    /// The last signed end behind the view; nil where none was found yet.
    private func lastSignedEnd(_ reader: LedgerReader) async throws -> Head? {
        // New events first, and then a part of those before: also where new ones come all the time.
        for _ in 0..<2 {
            guard let positions = self.ledger.unsearched else { return nil }
            let (end, searched) = try await reader.signedEnd(at: positions, by: self.ledger.verifiers)
            self.ledger.noteSearched(searched)
            if let end { return end }
        }
        return nil
    }

    /// Waits until a synchronous standby has everything that was visible before.
    ///
    /// The wait is cancelled in time: the server does not notice by itself that nobody waits any more, and keeps the session.
    private func confirm(on reader: LedgerReader) async throws {
        let patience = self.patience
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Asked afterwards too: the wait also ends when commits stop waiting for a standby.
                    for statement in [Statements.confirm, PostgresConfiguration.commitsWait] {
                        guard try await reader.read(statement).only.bool(0) else {
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

    /// The entries between a view and a later end of the ledger, folded.
    struct Fold {
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
    func fold(_ base: LedgerView, to head: Head, _ reader: LedgerReader) async throws -> Fold {
        var fold = Fold(view: base)
        do {
            if head.position - base.head.position >= self.bulkSize {
                defer { fold.grown = fold.view.state.streams(grownSince: base.state) }
                // On a connection of its own, to a server that has the end as well.
                let (ledger, end) = (self.ledger, head.position)
                try await self.bulk.fold(&fold.view, to: end) { ledger.noteRead($0, of: end) }
            } else {
                fold.entries = self.ledger.holdsRecent ? [] : nil
                while fold.view.head.position < head.position {
                    let page = try await reader.page(
                        at: fold.view.head.position..<head.position, limit: self.pageSize,
                        knowing: self.ledger.knownLevel, holdsEntries: fold.entries != nil)
                    fold.grown.formUnion(page.steps.map(\.stream))
                    fold.entries?.append(contentsOf: page.entries)
                    try fold.view.apply(page, before: head)
                    self.ledger.noteRead(fold.view.head.position, of: head.position)
                }
            }
        } catch let fault as LedgerFault where fault.meansUpgrade {
            try await self.check(head, goesOnFrom: fold.view.head, reader)
            fold.fault = fault
            return fold
        } catch LedgerFault.pruned(let position, _) {
            throw try await reader.missing(at: position)
        } catch let unreadable as BundleDirectory.Unreadable {
            throw LedgerFault.pruned(position: fold.view.head.position, file: unreadable.description)
        }
        try head.check(fold.view.head)
        return fold
    }

    /// Checks by their hashes alone that the entries between two ends are the ledger's.
    private func check(_ head: Head, goesOnFrom start: Head, _ reader: LedgerReader) async throws {
        var end = start
        while end.position < head.position {
            let leaves = try await reader.leaves(at: end.position..<head.position, limit: self.pageSize)
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

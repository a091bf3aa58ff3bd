import Concurrency
package import CoreMetrics
package import EventStore
import Exposition
import Keys
import LogLines
package import Logging
package import PinWire
package import Pinning
package import Postgres
package import Secrets

/// Turns changes of the ledger into signed documents, and keeps a node's ``DocumentTable`` in step with published ones.
///
/// The node that recorded a change signs the document; a node that sees another's change waits a moment and signs only
/// if no other node did. A signed document is served here at once and stored a moment later, and every node serves the
/// stored bytes. If the process dies before a document is signed or stored, any other signing node, or this one after
/// its start, finds the stored one behind its version and makes it: the same content under the same version. Until then
/// it serves no document of that app, so that no client sees a version fall; except while it still reads a long ledger, where it
/// serves the document before, which clients that have the later one refuse.
///
/// Once the ledger is found damaged nothing more is signed, and the last published documents are still served.
package actor Publisher {
    /// The lifetimes of documents.
    package struct Schedule: Sendable {
        /// From `iat` to `exp`: how long a client may keep a document without asking whether it is still current.
        package var lifetimeSeconds: Int64 = 86_400
        /// Age at which a document is signed again, at the latest.
        package var renewalSeconds: Int64 = 21_600

        package init() {}

        /// Documents with this lifetime, which are renewed at a quarter of it.
        package init(lifetimeSeconds: Int64) {
            self.lifetimeSeconds = lifetimeSeconds
            self.renewalSeconds = max(1, lifetimeSeconds / 4)
        }
    }

    /// The channel that announces published documents.
    package static let channel = DocumentStore.channel
    /// The JOSE type of native documents.
    package static let documentType = "pinset+jws"

    let ledger: Ledger
    let keys: SigningKeys
    let store: DocumentStore
    let listener: PostgresListener
    let schedule: Schedule
    let clock: @Sendable () -> Timestamp
    let logger: Logger
    let signed: Counter
    package nonisolated let table: DocumentTable
    /// What it signs while the ledger is to record documents.
    package nonisolated let unrecorded = UnrecordedPublications()

    nonisolated let judge: DocumentJudge
    /// The requests that wait until local changes of apps are published.
    nonisolated let waiters = PublicationWaiters()
    /// The requests that wait until local changes of everything are published.
    nonisolated let fleetWaiters = PublicationWaiters()
    /// Work on changes that concern every app.
    var fleet: FleetRound
    /// Says that there is such work.
    let fleetWork = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// True where the last such work has failed.
    var hasFleetFailed = false
    /// The documents of other nodes that are to be fetched.
    var news = DocumentNews()
    let fleetSeed = UInt64.random(in: .min ... .max)
    var unstored = UnstoredDocuments()
    /// Read at a position that this node has still to reach: the newest of each app, up to ``aheadLimit`` of them.
    private var ahead: [AppID: DocumentStore.Stored] = [:]
    /// True where some were not kept for lack of room: they are read again.
    var hasPassedOver = false
    /// The last change of stored documents that this node has looked at; 0 where it is to look at all.
    var seenChange: Int64 = 0
    /// How often it was to look at all: a look that began before does not count then.
    var looks = 0
    /// SHA-256 of stored bodies that are not documents, of apps of the ledger: this node signs in their place.
    var unfit: [AppID: [UInt8]] = [:]
    /// True where the database had the private half of the active key when it was last looked for.
    private var isActiveKeyStored = true
    /// The documents that this node has kept; nil where it keeps none, or has taken them in.
    var keptSource: KeptSource?
    /// Says that there are documents to be stored.
    let storing = (
        changed: AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)),
        fleet: AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    )

    package init(
        ledger: Ledger, keys: SigningKeys, pool: PostgresPool, listener: PostgresListener, schedule: Schedule,
        table: DocumentTable, logger: Logger, metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.signed = Counter(label: MetricFamily.signedDocuments.rawValue, factory: metrics)
        self.ledger = ledger
        self.keys = keys
        self.store = DocumentStore(pool: pool) { ledger.position }
        self.listener = listener
        self.schedule = schedule
        self.table = table
        self.logger = logger
        self.clock = clock
        self.judge = DocumentJudge(ledger: ledger, logger: logger)
        self.fleet = FleetRound(seed: self.fleetSeed)
    }

    /// Signs the changes that stored documents lack, since this node may have served them before it was killed; holds
    /// back the rest when the time is up. Called after ``load(_:)``, before the node serves all that it can.
    package func prepare(within limit: Duration) async {
        guard self.keys.canSign, self.ledger.fault == nil else { return }
        let view = self.ledger.view
        guard view.state.keys.active != nil else { return }
        let versions = view.state.apps.keys.map { ($0, view.state.documentVersion(of: $0) ?? 0) }
        let behind = self.table.holdBack(below: Dictionary(uniqueKeysWithValues: versions)).sorted()
        let deadline = ContinuousClock.now + limit
        for start in stride(from: 0, to: behind.count, by: 100) {
            guard ContinuousClock.now < deadline else { return }
            let apps = Set(behind[start..<min(start + 100, behind.count)])
            await self.publish(apps, of: view)
        }
    }

    /// The number of apps whose document ahead of this node is kept. Those of other apps are read again.
    private static let aheadLimit = 500

    /// Serves documents that were read from the database, as far as the ledger agrees.
    func take(_ stored: [DocumentStore.Stored]) async {
        var refused: Set<AppID> = []
        for (count, each) in stored.enumerated() {
            // Verifying takes as long as signing, and a change may be waiting.
            if count % 10 == 9 { await Task.yield() }
            let app = each.document.app
            switch self.judge.rule(on: each) {
            case .serve:
                self.table.put([each.document.published])
                self.unfit[app] = nil
            case .wait:
                if self.ahead.count < Self.aheadLimit || self.ahead[app] != nil {
                    self.ahead[app] = each
                } else {
                    self.hasPassedOver = true
                }
            case .refuse:
                self.table.reject(each.document)
                let digest = sha256(each.document.body)
                guard self.keys.hasKeyEncryptionKey, self.ledger.view.state.apps[app] != nil, self.unfit[app] != digest
                else {
                    continue
                }
                self.unfit[app] = digest
                refused.insert(app)
            }
        }
        // Signed again, to be stored in its place.
        if !refused.isEmpty { self.ledger.giveBack(Ledger.Changes(apps: refused)) }
    }

    /// Takes in documents for whose position the ledger was waiting.
    private func takeReached() async {
        guard !self.ahead.isEmpty else { return }
        let (position, hasHalted) = (self.ledger.position, self.ledger.fault != nil)
        let reached = self.ahead.values.filter { hasHalted || $0.document.position <= position }
        for each in reached { self.ahead[each.document.app] = nil }
        await self.take(reached)
    }

    /// Whether this node may sign and store signed documents.
    var mayPublish: Bool { self.ledger.fault == nil && self.ledger.suspension == nil }

    /// Publishes until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followLedger() }
            group.addTask { await self.followReached() }
            group.addTask { await self.followStore() }
            group.addTask { await self.fetchNews() }
            group.addTask { await self.awaitOthers() }
            group.addTask { await self.sweep() }
            group.addTask { await self.workOnFleet() }
            group.addTask { await self.storeSigned(.changed) }
            group.addTask { await self.storeSigned(.fleet) }
            group.addTask {
                await self.table.checkAll()
                await self.restoreKept()
            }
            await group.waitForAll()
        }
        self.endWaiting()
        // Not cancelled with the rest: the next start must find every served document.
        await finish(within: .seconds(1)) { await self.storeRest() }
    }

    /// Returns when documents for every local change of an app up to `position` were published, or could not be for now; at once
    /// where this node signs nothing, has halted, or the task is cancelled.
    package nonisolated func waitForPublication(through position: Int64) async {
        guard self.keys.canSign, self.ledger.fault == nil else { return }
        await self.waiters.wait(through: position)
    }

    /// Returns when the documents of what was recorded were published, as ``waitForPublication(through:)`` does: those of all apps
    /// where it concerns everything.
    ///
    /// - Parameter stream: What the command was for, where nothing was recorded because nothing needed to change.
    package nonisolated func waitForPublication(of recorded: Recorded, in stream: StreamID) async {
        await self.waitForPublication(through: recorded.position)
        let streams = recorded.entries.isEmpty ? [stream] : recorded.entries.map(\.stream)
        guard Ledger.Changes(in: streams).isEverything, self.keys.canSign, self.ledger.fault == nil else { return }
        await self.fleetWaiters.wait(through: recorded.position)
    }

    /// Lets every request go on: nothing more is published.
    nonisolated func endWaiting() {
        self.waiters.advance(to: .max)
        self.fleetWaiters.advance(to: .max)
    }

    // MARK: What wakes it

    private func followLedger() async {
        for await _ in self.ledger.positions() {
            // In this order: the changes are all of those up to the position, and the view includes all of the changes.
            let position = self.ledger.position
            let changes = self.ledger.takeLocalChanges()
            // The whole fleet takes long, and no app's own change waits for it.
            if changes.isEverything { self.publishEverything(through: position) } else { self.passFleet(position) }
            await self.publish(changes.apps, of: self.ledger.view)
            guard self.ledger.fault == nil else {
                // Nothing more is published: no request may wait for it, and the present documents stay.
                self.endWaiting()
                self.table.holdBackNothing()
                continue
            }
            self.waiters.advance(to: position)
        }
    }

    /// Takes in documents that came before their events.
    private func followReached() async {
        for await _ in self.ledger.positions() { await self.takeReached() }
    }

    /// Publishes changes that other nodes recorded and did not publish, documents that failed, and documents due for
    /// renewal.
    private func sweep() async {
        var count = 0
        var pause = Self.sweepInterval
        var last = self.clock()
        while !Task.isCancelled {
            let changes = self.ledger.takeRemoteChanges()
            let now = self.clock()
            // Documents from the future are to be signed again at once.
            let hasFallen = Issuance.isAhead(last, of: now)
            last = now
            if changes.isEverything || hasFallen { self.publishEverything() }
            // By the former time those that another node has signed again were no newer.
            if hasFallen { self.lookAtAllStored() }
            if count % 40 == 0 {
                self.lookAtFleet()
                self.offerRefused()
                await self.eraseRetiredKeys()
                await self.findActiveKey()
            }
            let isDone = await self.publish(changes.apps, of: self.ledger.view) && !self.hasFleetFailed
            pause = isDone ? Self.sweepInterval : min(pause * 2, .seconds(10))
            count += 1
            try? await Task.sleep(for: pause)
        }
    }

    func eraseRetiredKeys() async {
        // A key that a halted node considers retired may still be needed by another ledger.
        guard self.keys.hasKeyEncryptionKey, self.mayPublish else { return }
        do { try await self.keys.eraseRetired(self.ledger.view.state.retiredKeyIDs) } catch {
            self.logger.log(.retiredKeysNotErased, ["error": "\(error)"])
        }
    }

    /// Says so when the private half with which this node signs is in the database no more: a restart would find none.
    func findActiveKey() async {
        guard self.keys.hasKeyEncryptionKey, self.mayPublish, let active = self.ledger.view.state.keys.active,
            let isStored = try? await self.keys.findStored(active)
        else { return }
        if !isStored, self.isActiveKeyStored {
            self.logger.log(.signingKeyNotStored, ["fault": "\(self.keys.trouble ?? "")"])
        }
        self.isActiveKeyStored = isStored
    }

    static let sweepInterval = Duration.milliseconds(250)

    // MARK: Publishing

    /// Signs and serves the documents of these apps that need it; false where that failed and is to be tried again.
    @discardableResult
    private func publish(_ apps: Set<AppID>, of view: LedgerView) async -> Bool {
        guard self.ledger.fault == nil else { return true }
        guard self.keys.hasKeyEncryptionKey, !apps.isEmpty, let active = view.state.keys.active else { return true }
        guard self.ledger.suspension == nil else {
            self.ledger.giveBack(Ledger.Changes(apps: apps))
            return true
        }
        do {
            let key = try await self.keys.privateKey(of: active)
            let now = Timestamp(seconds: self.clock().seconds)
            defer { self.startStoring(.changed) }
            for (count, app) in apps.enumerated() {
                // Many may have changed at once: other tasks run on this thread in between.
                if count % 10 == 9 { await Task.yield() }
                if count % 10 == 9 || count == 0 {
                    guard self.mayPublish else {
                        self.ledger.giveBack(Ledger.Changes(apps: apps))
                        return true
                    }
                    let present = self.ledger.view
                    // With a key that is no longer active it would replace what has been signed with the next one.
                    guard present.state.keys.activeKeyID == active.kid else {
                        return await self.publish(apps, of: present)
                    }
                }
                let isUnfit = self.unfit[app] != nil
                guard let document = try self.sign(app, of: view, with: key, active.kid, at: now, isUnfit: isUnfit)
                else { continue }
                self.serve(document, of: view, as: .changed)
            }
            return true
        } catch is CancellationError {
            return true
        } catch {
            self.logger.log(.documentsNotSigned, ["error": "\(error)"])
            self.ledger.giveBack(Ledger.Changes(apps: apps))
            return false
        }
    }

    /// Serves a document that this node has signed, and has it stored.
    func serve(_ document: DocumentStore.Signed, of view: LedgerView, as kind: UnstoredDocuments.Kind) {
        let published = document.published
        self.table.put([published])
        self.signed.increment()
        if view.state.log.recordsDocuments {
            self.unrecorded.add(published.publication, of: document.app)
        }
        let outgoing = DocumentStore.Outgoing(document: document, leaf: view.lastLeafHash)
        self.unstored.add(outgoing, as: kind, at: self.clock())
    }

    /// The app's document, signed; nil where the present one is as good.
    ///
    /// - Parameter isUnfit: True where what is stored in its place is not a document.
    nonisolated func sign(
        _ app: AppID, of view: LedgerView, with key: Ed25519PrivateKey, _ kid: String, at now: Timestamp, isUnfit: Bool
    ) throws -> DocumentStore.Signed? {
        guard let version = view.state.documentVersion(of: app) else { return nil }
        let held = self.table.held(app)
        var issuedAt = Issuance.first(at: now, lastEvent: view.head.lastTime, after: held?.issuedAt)
        if let held {
            // Looking it up may have halted the node.
            guard held.version <= version, self.ledger.fault == nil else { return nil }
            if held.version == version {
                let renewal = held.issuedAt.adding(seconds: self.schedule.renewalSeconds(of: app))
                let isAhead = Issuance.isAhead(held.issuedAt, of: now)
                guard held.keyID != kid || renewal <= now || isAhead || isUnfit else { return nil }
                issuedAt = Issuance.again(at: now, after: held.issuedAt)
            }
        }
        guard let document = view.state.document(of: app) else { return nil }
        let expiresAt = issuedAt.adding(seconds: self.schedule.lifetimeSeconds)
        let token = try CompactJWS.sign(
            document.payload(issuedAt: issuedAt, expiresAt: expiresAt), type: Self.documentType, keyID: kid, key: key
        )
        return DocumentStore.Signed(
            app: app, version: version, position: view.head.position, contentDigest: document.contentDigest,
            issuedAt: issuedAt, expiresAt: expiresAt, keyID: kid, body: Array(token.utf8)
        )
    }
}

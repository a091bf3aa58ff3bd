import Concurrency
package import CoreMetrics
package import EventStore
import Exposition
import Keys
import LogLines
package import Logging
package import PinWire
import Pinning
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
        /// Age at which a document is signed again.
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
    private let listener: PostgresListener
    private let schedule: Schedule
    private let clock: @Sendable () -> Timestamp
    let logger: Logger
    private let signed: Counter
    package nonisolated let table: DocumentTable
    /// What it signs while the ledger is to record documents.
    package nonisolated let unrecorded = UnrecordedPublications()

    nonisolated let judge: DocumentJudge
    /// The requests that wait until local changes are published.
    nonisolated let waiters = PublicationWaiters()
    /// Signed and served here, and not stored yet: the newest of each app, so never more than there are apps.
    private var unstored: [AppID: DocumentStore.Outgoing] = [:]
    /// Read at a position that this node has still to reach: the newest of each app, up to ``aheadLimit`` of them.
    private var ahead: [AppID: DocumentStore.Stored] = [:]
    /// SHA-256 of stored bodies that are not documents, of apps of the ledger: this node signs in their place.
    private var unfit: [AppID: [UInt8]] = [:]
    /// True where the database had the private half of the active key when it was last looked for.
    private var isActiveKeyStored = true
    /// The documents that this node has kept; nil where it keeps none, or has taken them in.
    var keptSource: KeptSource?
    private let storing = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

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
            await self.publish(Ledger.Changes(apps: apps), of: view)
        }
    }

    /// The number of apps whose document ahead of this node is kept. Those of other apps are read again.
    private static let aheadLimit = 500

    /// Serves documents that were read from the database, as far as the ledger agrees.
    func take(_ stored: [DocumentStore.Stored]) {
        var refused: Set<AppID> = []
        for each in stored {
            let app = each.document.app
            switch self.judge.rule(on: each) {
            case .serve:
                self.table.put([each.document.published])
                self.unfit[app] = nil
            case .wait:
                if self.ahead.count < Self.aheadLimit || self.ahead[app] != nil { self.ahead[app] = each }
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
    private func takeReached() {
        guard !self.ahead.isEmpty else { return }
        let (position, hasHalted) = (self.ledger.position, self.ledger.fault != nil)
        let reached = self.ahead.values.filter { hasHalted || $0.document.position <= position }
        for each in reached { self.ahead[each.document.app] = nil }
        self.take(reached)
    }

    /// Whether this node may sign and store signed documents.
    private var mayPublish: Bool { self.ledger.fault == nil && self.ledger.suspension == nil }

    /// Publishes until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followLedger() }
            group.addTask { await self.followStore() }
            group.addTask { await self.awaitOthers() }
            group.addTask { await self.sweep() }
            group.addTask { await self.storeSigned() }
            group.addTask {
                await self.table.checkAll()
                await self.restoreKept()
            }
            await group.waitForAll()
        }
        self.waiters.advance(to: .max)
        // Not cancelled with the rest: the next start must find every served document.
        await finish(within: .seconds(1)) { await self.storeRest() }
    }

    /// Returns when documents for every local change up to `position` were published, or could not be for now; at once
    /// where this node signs nothing, has halted, or the task is cancelled.
    package nonisolated func waitForPublication(through position: Int64) async {
        guard self.keys.canSign, self.ledger.fault == nil else { return }
        await self.waiters.wait(through: position)
    }

    // MARK: What wakes it

    private func followLedger() async {
        for await _ in self.ledger.positions() {
            // In this order: the changes are all of those up to the position, and the view includes all of the changes.
            let position = self.ledger.position
            let changes = self.ledger.takeLocalChanges()
            self.takeReached()
            await self.publish(changes, of: self.ledger.view)
            guard self.ledger.fault == nil else {
                // Nothing more is published: no request may wait for it, and the present documents stay.
                self.waiters.advance(to: .max)
                self.table.holdBackNothing()
                continue
            }
            self.waiters.advance(to: position)
        }
    }

    /// Fetches the documents that other nodes publish.
    private func followStore() async {
        var ticks = 0
        var isListening = false
        for await event in self.listener.events() {
            do {
                switch event {
                case .notification(channel: DocumentStore.channel, payload: let payload):
                    if let news = DocumentStore.News.list(payload) {
                        let apps = news.filter { $0.isNews(to: self.table) }.map(\.app)
                        if !apps.isEmpty { self.take(try await self.store.load(apps).stored) }
                    } else {
                        try await self.loadOutdated()
                    }
                case .notification: break
                case .disconnected: isListening = false
                case .connected:
                    isListening = true
                    try await self.loadOutdated()
                case .tick:
                    ticks += 1
                    // A fallback for a notification that is lost while nothing else happens.
                    if !isListening || ticks % 5 == 0 { try await self.loadOutdated() }
                }
            } catch is CancellationError {
                return
            } catch {
                self.logger.log(.documentsUnreadable, ["error": "\(error)"])
            }
        }
    }

    func loadOutdated() async throws { try await self.loadOutdated { self.take($0) } }

    func loadOutdated(_ take: ([DocumentStore.Stored]) -> Void) async throws {
        let apps = try await self.store.outdated(in: self.table)
        for start in stride(from: 0, to: apps.count, by: 500) {
            take(try await self.store.load(Array(apps[start..<min(start + 500, apps.count)])).stored)
        }
    }

    /// Publishes changes that other nodes recorded and did not publish, documents that failed, and documents due for
    /// renewal.
    private func sweep() async {
        var count = 0
        var pause = Self.sweepInterval
        var last = self.clock()
        while !Task.isCancelled {
            var changes = self.ledger.takeRemoteChanges()
            let now = self.clock()
            // Documents from the future are to be signed again at once.
            let hasFallen = Issuance.isAhead(last, of: now)
            last = now
            if count % 40 == 0 || hasFallen {
                changes = .everything
                await self.eraseRetiredKeys()
                await self.findActiveKey()
            }
            let isDone = await self.publish(changes, of: self.ledger.view)
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

    private static let sweepInterval = Duration.milliseconds(250)

    // MARK: Publishing

    /// Signs and serves the documents that need it; false where that failed and is to be tried again.
    @discardableResult
    private func publish(_ changes: Ledger.Changes, of view: LedgerView) async -> Bool {
        guard self.ledger.fault == nil else { return true }
        guard self.keys.hasKeyEncryptionKey, !changes.isEmpty, let active = view.state.keys.active else { return true }
        guard self.ledger.suspension == nil else {
            self.ledger.giveBack(changes)
            return true
        }
        do {
            let key = try await self.keys.privateKey(of: active)
            let apps = changes.isEverything ? Array(view.state.apps.keys) : Array(changes.apps)
            let now = Timestamp(seconds: self.clock().seconds)
            defer { if !self.unstored.isEmpty { self.storing.continuation.yield() } }
            for (count, app) in apps.enumerated() {
                // A change of everything is long work: other tasks run on this thread in between.
                if count % 50 == 49 {
                    await Task.yield()
                    guard self.mayPublish else {
                        self.ledger.giveBack(changes)
                        return true
                    }
                }
                guard let document = try self.sign(app, of: view, with: key, active.kid, at: now) else { continue }
                let published = document.published
                self.table.put([published])
                self.signed.increment()
                if view.state.log.recordsDocuments {
                    self.unrecorded.add(published.publication, of: app)
                }
                self.unstored[app] = DocumentStore.Outgoing(document: document, leaf: view.lastLeafHash)
            }
            return true
        } catch is CancellationError {
            return true
        } catch {
            self.logger.log(.documentsNotSigned, ["error": "\(error)"])
            self.ledger.giveBack(changes)
            return false
        }
    }

    /// The app's document, signed; nil where the present one is as good.
    private func sign(
        _ app: AppID, of view: LedgerView, with key: Ed25519PrivateKey, _ kid: String, at now: Timestamp
    ) throws -> DocumentStore.Signed? {
        guard let version = view.state.documentVersion(of: app) else { return nil }
        let held = self.table.held(app)
        var issuedAt = Issuance.first(at: now, lastEvent: view.head.lastTime, after: held?.issuedAt)
        if let held {
            // Looking it up may have halted the node.
            guard held.version <= version, self.ledger.fault == nil else { return nil }
            if held.version == version {
                let renewal = held.issuedAt.adding(seconds: self.schedule.renewalSeconds)
                let isAhead = Issuance.isAhead(held.issuedAt, of: now)
                guard held.keyID != kid || renewal <= now || isAhead || self.unfit[app] != nil else { return nil }
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

    // MARK: Storing

    /// Stores what is signed, many documents at a time, until cancelled.
    private func storeSigned() async {
        var pause = Duration.milliseconds(50)
        for await _ in self.storing.stream {
            while !self.unstored.isEmpty, self.mayPublish, !Task.isCancelled {
                let signed = Array(self.unstored.values.prefix(500))
                for each in signed { self.unstored[each.document.app] = nil }
                do {
                    try await self.store(signed)
                    pause = .milliseconds(50)
                } catch {
                    // Documents that were signed again meanwhile replace those to be tried again.
                    for each in signed where self.unstored[each.document.app] == nil {
                        self.unstored[each.document.app] = each
                    }
                    guard !Task.isCancelled else { return }
                    self.logger.log(.documentsNotStored, ["error": "\(error)"])
                    try? await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(5))
                }
            }
        }
    }

    /// Stores the rest when the node stops. The next node that starts signs again what cannot be stored now.
    private func storeRest() async {
        let signed = Array(self.unstored.values)
        self.unstored = [:]
        guard !signed.isEmpty, self.mayPublish else { return }
        do { try await self.store(signed) } catch {
            self.logger.log(.documentsLeftOver, ["error": "\(error)"])
        }
    }

    private func store(_ signed: [DocumentStore.Outgoing]) async throws {
        let apps = signed.map(\.document.app)
        let outgoing = signed.map { each in
            DocumentStore.Outgoing(document: each.document, leaf: each.leaf, unfit: self.unfit[each.document.app])
        }
        do {
            let taken = try await self.store.publish(outgoing)
            for app in taken { self.unfit[app] = nil }
            let passedOver = apps.filter { !taken.contains($0) }
            if !passedOver.isEmpty { self.take(try await self.store.load(passedOver).stored) }
        } catch let error as PostgresError where error.sqlState == "PL003" {
            // One app's clash must not hold back the others' documents.
            guard signed.count == 1 else {
                try await self.store(Array(signed[..<(signed.count / 2)]))
                return try await self.store(Array(signed[(signed.count / 2)...]))
            }
            self.logger.log(
                .documentClash, ["app": "\(apps[0])", "version": "\(signed[0].document.version)", "error": "\(error)"])
            // What stands there is refused, or halts this node.
            self.take(try await self.store.load(apps).stored)
        } catch let error as PostgresError where error.sqlState == "PL004" {
            let position = signed.map(\.document.position).max() ?? 0
            let end = try await self.store.ledgerEnd()
            let fault: LedgerFault =
                end < position ? .shrunk(from: position, to: end) : .fork(position: position)
            self.ledger.halt(fault)
            self.logger.log(.documentsForked, ["fault": "\(fault)", "error": "\(error)"])
        }
    }
}

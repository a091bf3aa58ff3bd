import EventStore
import Exposition
import PinWire
import Pinning
import Postgres
import Publishing
import Secrets

/// The numbers of a node at one moment, for `/metrics`.
struct NodeMetrics: Sendable {
    let services: Services
    let push: DocumentPush
    let tallies: ListenerTallies

    /// All of them. Memory only, but for what the system says of the process; its cost is linear in the apps.
    @Sendable func samples() -> MetricSamples {
        var samples = MetricSamples()
        samples.add(.build, 1, self.services.version)
        samples.addProcess(startedAt: self.services.startedAt)
        samples.addHealth(self.services.health)
        self.addNode(to: &samples)
        self.addLedger(to: &samples)
        self.addState(to: &samples)
        self.addSignals(to: &samples)
        self.addOutgoing(to: &samples)
        self.services.metrics.collect(into: &samples)
        return samples
    }

    private func addNode(to samples: inout MetricSamples) {
        let readiness = Readiness(self.services)
        for state in Readiness.stateNames {
            samples.add(.nodeState, readiness.stateName == state ? 1 : 0, state)
        }
        for use in Readiness.Use.allCases { samples.add(.nodeUse, readiness.allows(use) ? 1 : 0, use.rawValue) }
        samples.addAnswers(self.tallies, streams: self.push.count)
    }

    private func addLedger(to samples: inout MetricSamples) {
        let ledger = self.services.ledger
        let position = ledger.position
        samples.add(.ledgerPosition, Double(position))
        samples.add(.ledgerEvents, Double(max(0, ledger.endSeen - position)))
        let ahead = ledger.view.head.lastTime.microseconds - self.services.clock().microseconds
        samples.add(.ledgerAhead, Double(max(0, ahead)) / 1e6)
        if let writer = self.services.writer { samples.add(.waitingCommands, writer.waitingCount) }
        let occupancy = self.services.pool.occupancy
        samples.add(.databaseConnections, occupancy.leased, "in_use")
        samples.add(.databaseConnections, occupancy.idle, "idle")
        samples.add(.databaseWaiting, occupancy.waiting)
    }

    private func addState(to samples: inout MetricSamples) {
        let (state, now) = (self.services.ledger.view.state, self.services.clock())
        samples.add(.apps, state.apps.count)
        samples.addDocuments(self.services.publisher.table, at: now)
        samples.add(.documentsBehind, self.services.lag.count)
        var switches = ["everything": 0, "app": 0, "app_versions": 0, "host": 0]
        func count(_ killSwitch: KillSwitch?, _ scope: String) {
            if killSwitch?.isInForce(at: now) == true { switches[scope, default: 0] += 1 }
        }
        count(state.fleet.killSwitch, "everything")
        var warnings: [Warning.Kind: Int] = [:]
        state.apps.forEach { app in
            count(app.killSwitch, "app")
            for engaged in app.versionKillSwitches { count(engaged.killSwitch, "app_versions") }
            app.hosts.forEachValue { host in count(host?.killSwitch, "host") }
            for subject in app.watch.standing.keys { warnings[subject.kind, default: 0] += 1 }
        }
        for kind in Warning.Kind.allCases { samples.add(.warnings, warnings[kind, default: 0], kind.rawValue) }
        for (scope, count) in switches.sorted(by: { $0.key < $1.key }) { samples.add(.killSwitches, count, scope) }
        samples.add(.openChanges, state.changes.changes.values.count { $0.isOpen(at: now) })
        samples.add(.unreviewedChanges, state.changes.changes.values.count(where: \.awaitsReview))
        for key in SigningKeyState.allCases {
            samples.add(.signingKeys, state.keys.keys.values.count { $0.state == key }, key.rawValue)
        }
        let faults = self.services.secretFaults.all
        for kind in StoredSecret.Kind.allCases {
            samples.add(.unusableSecrets, faults.count { $0.kind == kind }, kind.rawValue)
        }
        let tokens = state.access.tokens.values.filter {
            [.general, .pipeline].contains($0.kind) && $0.isValid(at: now)
        }
        if let root = state.keys.root?.root { samples.add(.rootExpiry, Double(root.expiresAt.seconds)) }
        if let first = tokens.map(\.expiresAt).min() { samples.add(.tokenExpiry, Double(first.seconds)) }
        samples.add(.pausedWebhooks, state.webhooks.hooks.values.count(where: \.isPaused))
    }
}

extension MetricSamples {
    /// What the system says of the process.
    mutating func addProcess(startedAt: Timestamp) {
        let usage = ProcessUsage.now
        self.add(.startTime, Double(startedAt.microseconds) / 1e6)
        self.add(.processorTime, usage.processorSeconds)
        if let bytes = usage.residentBytes { self.add(.residentMemory, bytes) }
        if let count = usage.openFiles { self.add(.openFiles, count) }
    }

    /// The state of the node's own files, of its certificate and of its database's copies.
    mutating func addHealth(_ health: NodeHealth) {
        if let seconds = health.unkeptSeconds { self.add(.memoryUnkept, seconds) }
        self.add(.refusedFiles, health.refusedFileCount)
        if let database = health.database {
            self.add(.databaseStandbys, Double(database.standbys))
            if let isFailing = database.isArchiveFailing { self.add(.archiveFailing, isFailing ? 1 : 0) }
        }
        guard let validity = health.certificate?.validity else { return }
        self.add(.ownCertificateExpiry, Double(validity.end))
        self.add(.ownCertificateLifetime, Double(validity.end - validity.begin))
    }

    /// The documents that are served, and how long they are valid.
    mutating func addDocuments(_ table: DocumentTable, at now: Timestamp) {
        self.add(.documents, table.count)
        let documents = table.current.documents
        self.add(.expiredDocuments, documents.count { $0.expiresAt <= now })
        if let first = documents.min(by: { $0.expiresAt < $1.expiresAt }) {
            self.add(.documentExpiry, Double(first.expiresAt.seconds))
            self.add(.documentLifetime, Double(first.expiresAt.seconds - first.issuedAt.seconds))
        }
    }

    /// What was answered without the router, and to whom documents are sent as they change.
    mutating func addAnswers(_ tallies: ListenerTallies, streams: Int) {
        self.add(.preparedAnswers, tallies.served.reduce(0) { $0 + $1.ok }, "200")
        self.add(.preparedAnswers, tallies.served.reduce(0) { $0 + $1.unmodified }, "304")
        self.add(.clientStreams, streams)
        // Two listeners may be for the same.
        let connections = Dictionary(grouping: tallies.connections(), by: \.listener)
        for (listener, counts) in connections.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            self.add(.connections, counts.reduce(0) { $0 + $1.count }, listener.rawValue)
        }
    }
}

package import PinWire

/// What the service itself records of one app: its standing warnings, the keys that sign its clients' reports, and the
/// published documents. The state of the stream `watch/<id>`.
package struct Watch: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    /// The last warnings, by subject.
    package var standing: [Warning.Subject: Warning] = [:]
    /// The oldest first.
    package var telemetryKeys: [TelemetryKey] = []
    /// The publication of the highest version that is recorded.
    package var published: Recorded?
    /// The versions that were recorded last, at most ``publishedLimit``: a node may record one a moment after another node has
    /// recorded the next.
    package var publishedVersions: [Int64] = []
    static let publishedLimit = 8

    /// A recorded publication.
    package struct Recorded: Hashable, Sendable {
        package let publication: Publication
        /// The version of the stream `watch/<id>` that its event made: with it the event is found.
        package let streamVersion: Int64

        package init(publication: Publication, streamVersion: Int64) {
            self.publication = publication
            self.streamVersion = streamVersion
        }
    }

    /// The most standing warnings of one app; further ones are only on the attention list. Urgent ones have room of
    /// their own.
    package static let limit = 200
    static let urgentLimit = 400
    /// The most events that one round may record.
    static let eventLimit = 50

    package init() {}

    package mutating func evolve(_ event: WatchEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .warningRaised(let warning): self.standing[warning.subject] = warning
        case .warningCleared(let subject): self.standing[subject] = nil
        case .telemetryKeyAdded(let id, let note): self.addKey(id, note: note, at: time)
        case .telemetryKeyRetired(let id): self.retireKey(id, at: time)
        case .documentPublished(let publication):
            self.publishedVersions.append(publication.version)
            if self.publishedVersions.count > Self.publishedLimit { self.publishedVersions.removeFirst() }
            if publication.version > self.published?.publication.version ?? 0 {
                self.published = Recorded(publication: publication, streamVersion: self.version)
            }
        }
    }

    /// The standing warnings, in an order that every node has.
    package var inOrder: [Warning] {
        self.standing.values.map { ($0, $0.json.canonicalBytes) }
            .sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }
}

extension LedgerState {
    /// The warnings to record for an app now: pure, so that a second node that checks has none to add.
    package func warnings(of id: AppID, in context: DecisionContext) throws(Refusal) -> [WatchEvent] {
        guard let app = self.apps[id] else { throw .appUnknown(id) }
        var raised: [WatchEvent] = []
        var found: Set<Warning.Subject> = []
        var count = app.watch.standing.count
        let warnings = self.attention(of: app, in: context).compactMap { Warning($0) }
        for severity in AttentionItem.Severity.allCases {
            let limit = severity == .urgent ? Watch.urgentLimit : Watch.limit
            for warning in warnings where warning.severity == severity {
                guard found.insert(warning.subject).inserted else { continue }
                if let known = app.watch.standing[warning.subject] {
                    if warning.isNews(after: known) { raised.append(.warningRaised(warning)) }
                } else if count < limit, !app.isPremature(warning, in: context) {
                    raised.append(.warningRaised(warning))
                    count += 1
                }
            }
        }
        let cleared = app.watch.inOrder.map(\.subject).filter { subject in
            !found.contains(subject) && !app.isBlind(to: subject, in: context)
        }
        return Array((raised + cleared.map { .warningCleared($0) }).prefix(Watch.eventLimit))
    }
}

extension Warning {
    /// Whether this adds something to `known`, about the same subject: it is more severe, nearer or of another time.
    fileprivate func isNews(after known: Warning) -> Bool {
        if self.severity < known.severity { return true }
        // A date that is moved on daily within a horizon is not news each day; one that has left it is.
        if self.lead != nil || known.lead != nil { return self.lead != known.lead }
        return self.subject.kind != .servedKeyUnpinned && self.date != known.date
    }
}

extension App {
    /// How long an operator has for the task of a rotation's phase: a day, and an hour in an emergency.
    private static let grace: Int64 = 86_400
    private static let emergencyGrace: Int64 = 3600
    /// How long a node may take to read what another one was told of a certificate.
    private static let readingSeconds: Int64 = 600

    /// Whether it is too early to raise it, or the facts are not certain.
    fileprivate func isPremature(_ warning: Warning, in context: DecisionContext) -> Bool {
        switch warning.subject.kind {
        case .rotationStuck:
            let grace = warning.severity == .urgent ? Self.emergencyGrace : Self.grace
            return warning.date.map { context.now < $0.adding(seconds: grace) } ?? false
        case .certificateExpires where warning.subject.endpoint == nil:
            // It may have been renewed with the same key while no probe could see it.
            guard let pattern = warning.subject.host, let host = self.hosts[pattern] else { return false }
            return host.probed(of: pattern).contains { endpoint in
                context.facts.endpoint(endpoint).map { $0.live(at: context.now).isEmpty && !$0.chains.isEmpty } ?? false
            }
        case .certificateExpires, .servedKeyUnpinned, .pinsValidUntil, .rotationReady, .rolloutApproval, .rolloutStuck,
            .failingReports, .renewalAnnounced:
            return false
        }
    }

    /// Whether it is unknown if a warning is over: its endpoint has not been seen lately. A warning about a rotation's
    /// phase stands until the phase ends: estimates move, and a node that has just started has none yet.
    fileprivate func isBlind(to subject: Warning.Subject, in context: DecisionContext) -> Bool {
        if let rotation = subject.rotation.flatMap(self.rotation) {
            return !rotation.phase.isOver && self.watch.standing[subject]?.date == rotation.phaseSince
        }
        // A node that has just started knows of no reports yet.
        if subject.kind == .failingReports { return context.facts.telemetry(self.id) == nil }
        guard let pattern = subject.host, let endpoint = subject.endpoint, let host = self.hosts[pattern],
            host.probed(of: pattern).contains(endpoint)
        else { return false }
        let live = context.facts.endpoint(endpoint)?.live(at: context.now) ?? []
        if subject.kind == .renewalAnnounced, !live.isEmpty {
            // Another node has asked, and this one has not read it yet. A certificate that is new was not asked about: the old one is gone.
            return live.allSatisfy { chain in
                chain.certificates.first.map { context.facts.renewal($0.sha256) == nil } != false
                    && chain.firstSeen.adding(seconds: Self.readingSeconds) <= context.now
            }
        }
        return live.isEmpty
    }
}

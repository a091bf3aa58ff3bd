package import PinWire

/// What the service has warned of about one app and what is not over: the state of the stream `watch/<id>`.
package struct Watch: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    /// What was said last, by what it is about.
    package var standing: [Warning.Subject: Warning] = [:]

    /// Warnings of one app that stand at once; of further ones the attention list tells.
    package static let limit = 200
    /// Events that one look may record.
    static let eventLimit = 50

    package init() {}

    package mutating func evolve(_ event: WatchEvent) {
        self.version += 1
        switch event {
        case .warningRaised(let warning): self.standing[warning.subject] = warning
        case .warningCleared(let subject): self.standing[subject] = nil
        }
    }

    /// The warnings that stand, in an order that every node has.
    package var inOrder: [Warning] {
        self.standing.values.map { ($0, $0.json.canonicalBytes) }
            .sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }
}

extension LedgerState {
    /// What is to be said by itself of an app now: pure, so that of several nodes that look the second has nothing to
    /// say.
    package func warnings(of id: AppID, in context: DecisionContext) throws(Refusal) -> [WatchEvent] {
        guard let app = self.apps[id] else { throw .appUnknown(id) }
        var raised: [WatchEvent] = []
        var found: Set<Warning.Subject> = []
        for warning in self.attention(of: app, in: context).compactMap({ Warning($0) }) {
            guard found.insert(warning.subject).inserted else { continue }
            if let known = app.watch.standing[warning.subject] {
                if warning.isNews(after: known) { raised.append(.warningRaised(warning)) }
            } else if app.watch.standing.count + raised.count < Watch.limit {
                raised.append(.warningRaised(warning))
            }
        }
        let cleared = app.watch.inOrder.map(\.subject).filter { subject in
            !found.contains(subject) && !app.isBlind(to: subject, in: context)
        }
        return Array((raised + cleared.map { .warningCleared($0) }).prefix(Watch.eventLimit))
    }
}

extension Warning {
    /// Whether this says something that `known`, about the same, did not: that it is graver, nearer or another time.
    fileprivate func isNews(after known: Warning) -> Bool {
        if self.severity < known.severity { return true }
        // A date that is moved on daily within a horizon is no news each day; one that has left it is.
        if self.lead != nil || known.lead != nil { return self.lead != known.lead }
        return self.subject.kind != .servedKeyUnpinned && self.date != known.date
    }
}

extension App {
    /// Whether it cannot be told if a warning is over: the endpoint that it is about has not been seen lately.
    fileprivate func isBlind(to subject: Warning.Subject, in context: DecisionContext) -> Bool {
        guard let pattern = subject.host, let endpoint = subject.endpoint, let host = self.hosts[pattern],
            host.probed(of: pattern).contains(endpoint)
        else { return false }
        return context.facts.endpoint(endpoint)?.live(at: context.now).isEmpty ?? true
    }
}

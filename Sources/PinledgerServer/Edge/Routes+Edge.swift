import Edge
import Exposition
import HTTPTypes
import PinWire
import Publishing
import Signals

extension Routes {
    /// The operations of an edge: those of clients that need neither the ledger nor a key, and those of monitoring systems.
    init(edge: EdgeServices, limits: Server.Limits, tallies: ListenerTallies) {
        let keySet = EdgeKeySet(keys: edge.documents.keys, caching: edge.caching)
        let answers = PreparedAnswers(
            documents: edge.table, intake: nil, caching: edge.caching, clock: edge.clock, others: keySet.answer)
        let push = DocumentPush(
            table: edge.table, limit: limits.streams, networkLimit: limits.streamsOfOneNetwork,
            heartbeat: limits.heartbeat, trustedProxies: edge.trustedProxies)
        let missing: @Sendable (AppID) throws -> Problem = { app in
            // It cannot tell yet what it has not got from what there is not.
            guard edge.status.isComplete else {
                return Problem(.starting, "This edge has not got all documents of its upstream yet.")
            }
            var problem = Problem(.appUnknown, "This edge's upstream has no document of the app \(app).")
            // Long enough to spare the edge, short enough for an app that is just being made.
            problem.headers[.cacheControl] = "public, max-age=5"
            return problem
        }
        let metrics = EdgeMetrics(services: edge, push: push, tallies: tallies)
        self.init(
            all: ClientRoutes(answers: answers, intake: nil, missing: missing, keySet: { keySet.current }).routes
                + RootRoutes(answers: RootAnswers(caching: edge.caching, roots: edge.knownRoots)).routes
                + StreamRoutes(push: push, missing: missing).routes
                + DocumentFeedRoutes(
                    feed: DocumentFeed(table: edge.table), heartbeat: limits.heartbeat, rights: edge.downstream.rights
                ).routes
                + EdgeReportRoutes(services: edge, missing: missing).routes
                + EdgeReadinessRoutes(services: edge).routes
                + OperationsRoutes(version: edge.version).routes
                + MetricsRoutes(samples: metrics.samples).routes,
            answers: answers, push: push, keySet: { keySet.current })
    }
}

extension EdgeServices {
    /// The roots of trust that the edge has.
    ///
    /// - Throws: ``Problem`` where it has none and has not asked its upstream yet.
    @Sendable fileprivate func knownRoots() throws -> [RootOfTrust] {
        let roots = self.roots.all
        guard !roots.isEmpty || self.status.isComplete else {
            throw Problem(.starting, "This edge has not got all documents of its upstream yet.")
        }
        return roots
    }
}

extension Server.Node {
    init(_ edge: EdgeServices) {
        self.init(
            authenticator: edge.downstream, isLogPublic: { false }, unread: { nil },
            trustedProxies: edge.trustedProxies,
            // Counted, and recorded nowhere: an edge has no ledger. What is refused is in its log.
            audit: AuditCounter(), intake: nil, metrics: edge.metrics, clock: edge.clock, logger: edge.logger)
    }
}

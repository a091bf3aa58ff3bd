package import Edge
package import Exposition
package import Logging
package import PinWire
import Publishing

/// What the handlers of an edge work with: a node without database, keys and operators' interface.
package struct EdgeServices: Sendable {
    package let documents: EdgeDocuments
    package let roots: EdgeRoots
    package let status: EdgeStatus
    package let reports: ReportQueue
    /// Who may follow all documents.
    package let downstream: DownstreamTokens
    package let trustedProxies: TrustedProxies
    package let caching: ClientCaching
    package let health: NodeHealth
    package let clock: @Sendable () -> Timestamp
    package let logger: Logger
    package let version: String
    package let metrics: MetricRegistry
    /// Whether the edge is on its way out.
    package let drain = Drain()
    let startedAt: Timestamp

    var table: DocumentTable { self.documents.table }

    package init(
        documents: EdgeDocuments, roots: EdgeRoots, status: EdgeStatus, reports: ReportQueue,
        downstream: DownstreamTokens,
        trustedProxies: TrustedProxies, caching: ClientCaching, clock: @escaping @Sendable () -> Timestamp,
        logger: Logger, version: String, metrics: MetricRegistry = MetricRegistry()
    ) {
        self.documents = documents
        self.roots = roots
        self.status = status
        self.reports = reports
        self.downstream = downstream
        self.trustedProxies = trustedProxies
        self.caching = caching
        self.health = NodeHealth(clock: clock)
        self.clock = clock
        self.logger = logger
        self.version = version
        self.metrics = metrics
        self.startedAt = clock()
    }
}

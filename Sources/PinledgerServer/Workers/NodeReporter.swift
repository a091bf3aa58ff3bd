import Concurrency
import EventStore
import LogLines
import PinWire
import Pinning

/// Tells the nodes that share the database what this one is and does, every ten seconds. On a new ledger, it first begins it.
///
/// If the process dies, the others count it as gone after a minute.
package struct NodeReporter: Sendable {
    private let services: Services
    private let name: String
    private let id: String

    /// - Parameter name: What operators know the node by.
    package init(services: Services, name: String) {
        self.services = services
        self.name = name
        self.id = Hex.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }

    private var registry: NodeRegistry { NodeRegistry(pool: self.services.pool) }

    package func run() async {
        await self.services.beginLedger()
        await PeriodicWorker(every: NodeRegistry.interval).run(
            logging: .nodeNotReported, to: self.services.logger
        ) {
            try await self.registry.report(self.report, as: self.id)
        }
    }

    /// Removes the report of a node that stops. Where that fails, the others find out in a minute.
    package func end() async {
        try? await self.registry.forget(self.id)
    }

    private var report: NodeReport {
        NodeReport(
            name: self.name, program: self.services.version, schemaVersion: Migration.all.last?.version ?? 0,
            featureLevel: self.services.environment.knownLevel, isReadOnly: self.services.writer == nil,
            state: Readiness(self.services).stateName, position: self.services.ledger.position)
    }
}

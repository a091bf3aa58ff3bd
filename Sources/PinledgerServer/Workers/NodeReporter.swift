import Concurrency
import EventStore
import LogLines
import Logging
import PinWire
import Pinning
import Postgres

/// Tells the nodes that share the database what this one is and does, every ten seconds.
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

    /// Reports the node until cancelled, and then removes the report. Where that fails, the others find out in a minute.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await PeriodicWorker(every: NodeRegistry.interval).run { await self.report() } }
            group.addTask { await self.reportHalt() }
        }
        await finish(within: .seconds(1)) { try? await self.registry.forget(self.id) }
    }

    /// Reports the node once; a failure is logged.
    package func report() async {
        do { try await self.registry.report(self.present, as: self.id) } catch {
            guard !Task.isCancelled else { return }
            self.services.logger.log(.nodeNotReported, ["error": "\(error)"])
        }
    }

    /// Reports a halt at once: a node that is told to trust the database asks whether another one does not.
    private func reportHalt() async {
        for await _ in self.services.ledger.positions() where self.services.ledger.fault != nil {
            return await self.report()
        }
    }

    private var present: NodeReport {
        NodeReport(
            name: self.name, program: self.services.version, schemaVersion: Migration.all.last?.version ?? 0,
            featureLevel: self.services.environment.knownLevel, isReadOnly: self.services.writer == nil,
            state: Readiness(self.services).stateName, position: self.services.ledger.position)
    }
}

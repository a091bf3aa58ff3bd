import Concurrency
package import EventStore
import LogLines
import Logging
import Pinning

/// Records the requests that this node has counted (``AuditCounter``): every few seconds those of known callers, and strangers' less
/// often.
package struct AuditWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands
    private let node: String

    /// - Parameter node: What operators know the node by.
    package init(services: Services, commands: SystemCommands, node: String) {
        self.services = services
        self.commands = commands
        self.node = node
    }

    /// Looks every five seconds until cancelled.
    package func run() async {
        await self.commands.worker(every: .seconds(5), first: .afterInterval).run { await self.record() }
    }

    private func record() async {
        let taken = self.services.audit.take(at: self.services.clock())
        var (rest, omitted) = (taken.records[...], taken.omitted)
        while !rest.isEmpty || omitted > 0 {
            let part = Array(rest.prefix(AuditEvent.recordLimit))
            let outcome = await self.commands.submit(
                .audit(.record(node: self.node, part, omitted: omitted)), failure: .auditNotRecorded,
                ["records": "\(rest.count)"])
            guard outcome == .recorded else { return self.services.audit.putBack(rest, omitted: omitted) }
            rest = rest.dropFirst(part.count)
            omitted = 0
        }
    }
}

import Concurrency
package import EventStore
import LogLines
import Logging
import PinWire
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
        await self.commands.worker(every: .seconds(5), first: .afterInterval).run {
            await self.record()
            await self.recordDeposits()
        }
    }

    /// The most deposits that are recorded in one round: a login that writes many makes few events.
    private static let depositsAtOnce: Int32 = 2

    /// Records what read-only nodes have left in the database. If the process dies in between, it is recorded again.
    private func recordDeposits() async {
        let deposits = AuditDeposits(pool: self.services.pool)
        do {
            for deposit in try await deposits.lease(atMost: Self.depositsAtOnce) {
                if let records = deposit.records {
                    let outcome = await self.commands.submit(
                        .audit(
                            .record(
                                node: "\(String(shown: deposit.node.utf8)) (read-only)", records,
                                omitted: deposit.omitted)),
                        failure: .auditNotRecorded, ["records": "\(records.count)"])
                    guard outcome == .recorded else { return }
                } else {
                    self.services.logger.log(.auditDepositUnreadable, ["node": "\(String(shown: deposit.node.utf8))"])
                }
                try await deposits.settle(deposit.id)
            }
        } catch {
            guard !Task.isCancelled else { return }
            self.services.logger.log(.auditNotRecorded, ["error": "\(error)"])
        }
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

/// Leaves the requests that a read-only node has counted in the database, for a node that may append.
package struct AuditDepositor: Sendable {
    private let services: Services
    private let node: String

    /// - Parameter node: What operators know the node by.
    package init(services: Services, node: String) {
        self.services = services
        self.node = node
    }

    /// Looks every five seconds until cancelled.
    package func run() async {
        await PeriodicWorker(every: .seconds(5), first: .afterInterval).run(
            logging: .auditNotRecorded, to: self.services.logger
        ) { try await self.deposit() }
    }

    /// Deposits what waits. What there is no room for waits for the next time.
    package func deposit() async throws {
        let taken = self.services.audit.take(at: self.services.clock())
        var (rest, omitted) = (taken.records[...], taken.omitted)
        do {
            while !rest.isEmpty || omitted > 0 {
                let part = Array(rest.prefix(AuditEvent.recordLimit))
                guard
                    try await AuditDeposits(pool: self.services.pool).deposit(part, omitted: omitted, of: self.node)
                else { break }
                rest = rest.dropFirst(part.count)
                omitted = 0
            }
            self.services.audit.putBack(rest, omitted: omitted)
        } catch {
            self.services.audit.putBack(rest, omitted: omitted)
            throw error
        }
    }
}

import EventStore
import PinledgerServer

extension Node {
    /// Starts without listening, does one thing and stops.
    func runOnce(_ body: @escaping @Sendable (Services) async throws -> Void) async throws {
        let parts = try await self.assemble()
        let failure: (any Error)? = await withTaskGroup(of: Void.self) { group in
            group.addTask { await parts.services.writer?.run() }
            defer { group.cancelAll() }
            do {
                do { _ = try await self.read(parts) } catch let unconfirmed as Follower.Unconfirmed {
                    throw CommandFailure(
                        "the ledger's last events may be lost in a failover: \(unconfirmed)",
                        advice: "Bring back a synchronous standby, or leave --require-synchronous out.",
                        status: .unreachable)
                }
                parts.services.ledger.endReading()
                if let fault = parts.services.ledger.fault, fault.meansUpgrade {
                    throw CommandFailure("\(fault)", advice: "Use the program that the nodes run.")
                }
                await parts.services.beginLedger()
                try await body(parts.services)
                return nil
            } catch {
                return error
            }
        }
        await self.close(parts)
        if let failure { throw failure }
    }
}

import LogLines
package import Logging
package import Postgres
import TransparencyLog

extension Ledger {
    /// Compares the ledger of every connection that `pool` opens from now on with the one that this node knows, before
    /// anything is written through it: behind the same address a server may have been promoted, or a backup restored,
    /// that lacks the last events. At a mismatch the node halts, and the connection is not lent.
    ///
    /// A node that has halted records and publishes nothing; its connections are not compared.
    package func hold(_ pool: PostgresPool, logger: Logger) {
        pool.checkConnections { connection throws(PostgresError) in
            guard self.fault == nil else { return }
            do { try await self.check(connection) } catch let error as PostgresError {
                throw error
            } catch {
                if let fault = error as? LedgerFault {
                    self.halt(fault)
                    logger.log(.ledgerReplaced, ["fault": "\(fault)"])
                }
                throw PostgresError(
                    .connectionFailed, "the database holds another ledger than this node knows: \(error)")
            }
        }
    }

    /// Checks that a connection leads to the ledger that this node knows.
    ///
    /// - Throws: ``LedgerFault`` where the database's ledger is shorter or another one, or the database's error; that the
    ///   connection failed where a standby is behind.
    package func check(_ connection: PostgresConnection) async throws {
        // Read first: the database's ledger only grows.
        let known = self.view
        guard known.head.position > 0 else { return }
        let row = try await connection.query(Statements.headAndLeaf.sql, [.int64(known.head.position - 1)]).only
        let position = try row.int64(0)
        guard position >= known.head.position else {
            // A standby that is behind has lost nothing: another server is tried, or this one later.
            guard try !row.bool(3) else {
                throw PostgresError(
                    .connectionFailed,
                    "the standby has \(position) events, and this node knows of \(known.head.position)")
            }
            throw LedgerFault.shrunk(from: known.head.position, to: position)
        }
        if position == known.head.position {
            guard try row.bytes(1) == known.head.frontier.encoded else { throw LedgerFault.fork(position: position) }
        }
        if let leaf = known.lastLeaf {
            guard try row.optionalBytes(2).flatMap({ LogHash($0) }) == leaf else {
                throw LedgerFault.fork(position: known.head.position)
            }
        }
    }
}

import EventStore
import LogLines
import Logging
import Postgres

/// How a node reads the ledger when it starts, and what it does where that is not sound.
extension Node {
    /// Reads the ledger to its end. An end that is not authenticated is taken, and authenticated, where the operator has said
    /// that this start trusts the database.
    func readToEnd(_ ledger: Ledger, _ follower: Follower, _ pool: PostgresPool) async throws {
        do {
            try await follower.catchUp()
            // Each call looks for signatures for a limited time.
            while ledger.position == 0, !ledger.hasSearched {
                try await Task.sleep(for: .milliseconds(10))
                try await follower.catchUp()
            }
            guard ledger.position == 0, let unsigned = ledger.unsigned else { return }
            throw CommandFailure(
                "\(unsigned)",
                advice:
                    "Give --batch-public-key what `pinledger key batch-public-key` prints for the key-encryption key of the other nodes. If this is it, nothing was recorded since they have it: record any change through one of them.",
                status: .notVerified)
        } catch let fault as LedgerFault {
            guard case .unauthenticated(_, let end, let defect) = fault else { throw fault }
            guard self.configuration.memory.trustsDatabase else {
                try await follower.catchUpToAuthenticated()
                throw LedgerFault.unauthenticated(from: ledger.position, to: end, defect)
            }
            try await follower.catchUp(trusting: true)
            if !self.configuration.isReadOnly {
                guard try await LedgerReader(pool: pool).authenticateEnd(of: ledger) else { throw fault }
            }
            self.logger.log(.endTrusted, ["fault": "\(fault)"])
        }
    }

    /// When the ledger is damaged, earlier documents are still served; nothing is published or changed.
    func haltOnDamage(_ ledger: Ledger, _ reading: () async throws -> Void) async throws {
        do { try await reading() } catch let fault as LedgerFault {
            ledger.halt(fault)
            let line: LogLine =
                switch fault {
                case .unauthenticated: .endUnauthenticated
                case .needsUpgrade: .upgradeNeeded
                default: .ledgerDamaged
                }
            self.logger.log(line, ["fault": "\(fault)"])
        }
    }
}

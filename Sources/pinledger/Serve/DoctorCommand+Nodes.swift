import EventStore
import PinWire
import Pinning
import Postgres

extension DoctorCommand {
    /// Whether the nodes that share the database run one program, and whether an upgrade of them waits to be finished.
    func nodes(_ connection: PostgresConnection) async -> Finding {
        let subject = "nodes"
        do {
            let (nodes, level) = try await connection.perform { @Sendable connection in
                (
                    try NodeRegistry.nodes(on: connection).filter(\.isLive).map(\.report),
                    try LedgerReader.featureLevel(on: connection)
                )
            }
            guard level <= FeatureLevel.known else {
                return Finding(
                    subject: subject, verdict: .fail,
                    detail: "the ledger is at the feature level \(level), and this program knows \(FeatureLevel.known)",
                    advice: "Use the program that the other nodes run.")
            }
            let versions = Set(nodes.map(\.program)).sorted().map { String(shown: $0.utf8) }
            let detail =
                nodes.isEmpty
                ? "none reports itself" : "\(nodes.count), of version \(versions.joined(separator: " and "))"
            let stopped = nodes.filter {
                ["halted", "upgrade_needed", "suspended", "unsigned", "other_key"].contains($0.state)
            }
            if let first = stopped.first {
                return Finding(
                    subject: subject, verdict: .warn,
                    detail: detail + "; \(String(shown: first.name.utf8)) is \(first.state)",
                    advice: "Read the node's log: it says why, and what to do.")
            }
            if versions.count > 1 {
                return Finding(
                    subject: subject, verdict: .warn, detail: detail,
                    advice: "Finish the upgrade: see `pinledger handbook upgrades`.")
            }
            if let known = nodes.map(\.featureLevel).min(), known > level {
                return Finding(
                    subject: subject, verdict: .warn,
                    detail: detail + "; the ledger is at the feature level \(level), and all know \(known)",
                    advice: "Finish the upgrade: `pinledger node raise-feature-level \(known)`.")
            }
            return Finding(subject: subject, verdict: .ok, detail: detail)
        } catch let fault as LedgerFault where fault.meansUpgrade {
            return Finding(
                subject: subject, verdict: .fail, detail: "\(fault)",
                advice: "Use the program that the other nodes run.")
        } catch {
            return Finding(
                subject: subject, verdict: .warn, detail: ErrorText.sentence(for: error),
                advice: "Run `pinledger migrate`, and grant the account the role pinledger_app.")
        }
    }
}

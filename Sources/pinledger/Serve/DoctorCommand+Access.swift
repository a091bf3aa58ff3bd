import PinWire
import Postgres

extension DoctorCommand {
    /// Whether valid tokens from before there were roles may do everything.
    func access(_ connection: PostgresConnection) async -> Finding {
        let subject = "access"
        do {
            let rows = try await connection.perform { @Sendable connection in
                try connection.query(Self.unscopedTokens).map { row in
                    "\(String(shown: try row.text(0).utf8)) (\(String(shown: try row.text(1).utf8)))"
                }
            }
            guard !rows.isEmpty else {
                return Finding(subject: subject, verdict: .ok, detail: "no valid token is from before there were roles")
            }
            let named = rows.prefix(5).joined(separator: ", ") + (rows.count > 5 ? " and \(rows.count - 5) more" : "")
            return Finding(
                subject: subject, verdict: .warn,
                detail:
                    "\(rows.count == 1000 ? "at least " : "")\(rows.count) valid token\(rows.count == 1 ? "" : "s") from before there were roles may do everything: "
                    + named,
                advice:
                    "Replace each with `pinledger token create NAME --role ROLE --app APP`, and revoke it with `pinledger token revoke ID`."
            )
        } catch {
            return Finding(subject: subject, verdict: .warn, detail: ErrorText.sentence(for: error))
        }
    }

    // The ids of calendar feeds begin with cal_, and open nothing but their calendar.
    private static let unscopedTokens = """
        WITH issued AS (
            SELECT e.entry -> 'data' ->> 'token_id' AS id, e.entry -> 'data' ->> 'name' AS name,
                   (e.entry -> 'data' ->> 'expires_at')::timestamptz AS expires_at
              FROM (SELECT convert_from(entry, 'UTF8')::jsonb AS entry
                      FROM pinledger.event WHERE stream = 'access' AND type = 'TokenIssued') e
             WHERE e.entry -> 'schema' = '1'
        )
        SELECT id, name FROM issued
         WHERE id NOT LIKE 'cal\\_%' AND expires_at > now() AND id NOT IN (
                SELECT convert_from(entry, 'UTF8')::jsonb -> 'data' ->> 'token_id'
                  FROM pinledger.event WHERE stream = 'access' AND type = 'TokenRevoked')
         ORDER BY id LIMIT 1000
        """
}

import Foundation
import Postgres

extension DoctorCommand {
    func database() async -> (PostgresConnection?, Finding) {
        let subject = "database"
        do {
            guard let text = try await self.connectionString() else {
                return (
                    nil,
                    Finding(
                        subject: subject, verdict: .fail, detail: "none is given",
                        advice: "Give --database or set PINLEDGER_DATABASE, or start `pinledger dev`.")
                )
            }
            let configuration = PostgresConfiguration(connectionString: text)
            do {
                let connection = try await self.connection(configuration)
                guard try await connection.hasItsSettings() else {
                    return (
                        nil, Finding(subject: subject, verdict: .fail, detail: Pooler.message, advice: Pooler.advice)
                    )
                }
                let number = connection.serverVersion
                let version = "PostgreSQL \(number / 10_000).\(number % 10_000)"
                guard number >= 140_000 else {
                    return (
                        connection,
                        Finding(
                            subject: subject, verdict: .fail, detail: version,
                            advice: "Use PostgreSQL 14 or later.")
                    )
                }
                let detail = "\(version), \(configuration.redactedDescription)"
                let isStandby = (try? await connection.query("SELECT pg_is_in_recovery()").only.bool(0)) == true
                guard !isStandby || self.isReadOnly else {
                    return (
                        connection,
                        Finding(
                            subject: subject, verdict: .fail, detail: "\(detail): a standby, and no primary answers",
                            advice: "Name the primary too: a standby records nothing.")
                    )
                }
                return (connection, Finding(subject: subject, verdict: .ok, detail: detail))
            } catch  where Pooler.isReason(for: error) {
                return (nil, Finding(subject: subject, verdict: .fail, detail: Pooler.message, advice: Pooler.advice))
            } catch {
                return (
                    nil,
                    Finding(
                        subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error),
                        advice: self.isDevelopment
                            ? "Start `pinledger dev`." : "Check the connection string, the server and its pg_hba.conf.")
                )
            }
        } catch {
            return (
                nil,
                Finding(subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error))
            )
        }
    }

    /// A connection to the server that a node would record in, or to any where that one does not answer.
    private func connection(
        _ configuration: PostgresConfiguration
    ) async throws(PostgresError) -> PostgresConnection {
        var primary = configuration
        primary.preferredServer = self.isReadOnly ? .preferStandby : .readWrite
        do { return try await PostgresConnection.connect(primary) } catch {
            return try await PostgresConnection.connect(configuration)
        }
    }

    func connectionString() async throws -> String? {
        if let text = self.settings?.text(.database) { return text }
        guard FileManager.default.fileExists(atPath: self.directory.path) else { return nil }
        return try await PrivateDatabase(home: self.directory.path).connectionString(user: "pinledger_dev")
    }
}

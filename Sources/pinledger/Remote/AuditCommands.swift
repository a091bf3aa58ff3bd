import ArgumentParser

struct AuditCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Verify and export the history, and show who was refused what.",
        discussion: """
            Auditors need the log's key, and read access to the log or a copy of it. Operators who have the database use \
            `pinledger fsck`.
            """,
        subcommands: [
            AuditVerifyCommand.self, AuditCheckpointCommand.self, AuditProveCommand.self, AuditVerifyProofCommand.self,
            AuditReportCommand.self, AuditExportCommand.self, AuditRequestsCommand.self,
        ])
}

import ArgumentParser

struct AuditCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Verify and export the history from outside.",
        discussion: """
            Auditors need the log's key, and read access to the log or a copy of it. Operators who have the database use \
            `pinledger fsck`.
            """,
        subcommands: [AuditVerifyCommand.self, AuditReportCommand.self, AuditExportCommand.self])
}

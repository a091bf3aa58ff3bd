import ArgumentParser
import Foundation
import Keys

/// The `pinledger` program: the server and the operator's commands.
@main
struct Main {
    static func main() async {
        // A peer or reader that goes away is an error of the write, not the end of a server.
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        // Before anything waits: only the first thread's name is the process's, and what follows may be on another one.
        let isProtected = Self.command(named: words) is any HoldsKeys.Type
        if isProtected { ProcessProtection.apply() }
        do {
            var command = try await Pinledger.asyncParseAsRoot(KeyIDArgument.marking(words))
            if !isProtected, type(of: command) is any HoldsKeys.Type { ProcessProtection.apply() }
            VisibleSecrets.warn()
            let pager = Pager(for: command)
            defer { pager?.end() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error where ErrorText.isOfArguments(error) {
            let code = Pinledger.exitCode(for: error)
            let text = Pinledger.fullMessage(for: error)
            if code == .success {
                Console.print(text)
                exit(0)
            }
            if code == .validationFailure,
                let suggestion = CommandSuggestion(words, of: Pinledger.self)
            {
                Console.error("pinledger: \(suggestion.message)")
                Console.error("  \(suggestion.advice)")
                exit(ExitStatus.usage.rawValue)
            }
            if !text.isEmpty { Console.error(text) }
            exit(code == .validationFailure ? ExitStatus.usage.rawValue : code.rawValue)
        } catch {
            let failure = ErrorText.failure(for: error)
            for line in failure.lines(.running) { Console.error(line) }
            exit(failure.status.rawValue)
        }
    }

    /// The command that the first words name.
    static func command(named words: [String]) -> any ParsableCommand.Type {
        var command: any ParsableCommand.Type = Pinledger.self
        for word in words {
            guard
                let next = command.configuration.subcommands.first(where: {
                    $0._commandName == word || $0.configuration.aliases.contains(word)
                })
            else { break }
            command = next
        }
        return command
    }
}

struct Pinledger: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pinledger",
        abstract: "Manage TLS certificate pins: record changes in an append-only ledger and serve signed documents.",
        discussion: """
            Exit codes: 0 done; 1 failed; 2 wrong usage; 3 refused by a rule; 4 token missing or refused; 5 not found; \
            6 conflict; 7 too many requests; 8 server not reachable; 10 verification failed.
            """,
        version: Version.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Servers",
                subcommands: [
                    ServeCommand.self, EdgeCommand.self, DevCommand.self, MigrateCommand.self, DoctorCommand.self,
                    FsckCommand.self,
                    RecoverCommand.self, BundleCommands.self, NodeCommands.self, ConfigCommands.self,
                    StatusCommand.self, SLOCommand.self, HandbookCommand.self,
                ]
            ),
            CommandGroup(
                name: "Pins",
                subcommands: [
                    AppCommands.self, HostCommands.self, PinCommands.self, RolloutCommands.self, KillCommands.self,
                    ImportCommand.self, PlanCommand.self, ApplyCommand.self, RotationCommands.self,
                    HookCommands.self, ChangeCommands.self, ProbeCommand.self, FetchURLCommand.self,
                    GuardRailCommands.self,
                    ExplainCommand.self, SimulateCommand.self,
                    AttentionCommand.self, ForecastCommand.self, CalendarCommands.self,
                ]
            ),
            CommandGroup(
                name: "Deployed clients",
                subcommands: [ClientCommands.self, CompatCommand.self, ExportCommand.self, FirebaseCommand.self]),
            CommandGroup(
                name: "History and reports",
                subcommands: [
                    HistoryCommand.self, DocumentCommands.self, LogCommands.self, AuditCommands.self,
                    TelemetryCommands.self,
                ]),
            CommandGroup(
                name: "Keys and access",
                subcommands: [
                    KeyCommands.self, RootCommands.self, TokenCommands.self, AccessCommands.self, LoginCommand.self,
                    LogoutCommand.self, WhoAmICommand.self, ContextCommands.self, APICommand.self,
                    WebhookCommands.self,
                ]),
        ]
    )
}

enum Version {
    /// The version of program and API; in step with CHANGELOG.md.
    static let text = "0.1.0"
}

/// The program's exit codes.
enum ExitStatus: Int32 {
    case failure = 1
    case usage = 2
    case refused = 3
    case unauthorized = 4
    case notFound = 5
    case conflict = 6
    case tooMany = 7
    case unreachable = 8
    case notVerified = 10
}

/// An error for a person, with what to do.
struct CommandFailure: Error {
    var message: String
    var advice: String?
    /// The name that exists and is most like the one that was typed; nil where none is known.
    var suggestion: String?
    var status: ExitStatus
    /// The type of the server's problem, such as `/problems/guard_rail`; nil where none is the cause.
    var problem: String?
    /// The target of the request that was answered with it.
    var target: String?

    init(_ message: String, advice: String? = nil, status: ExitStatus = .failure) {
        self.message = message
        self.advice = advice
        self.status = status
    }

    /// The failure as the program prints it.
    func lines(_ words: TerminalWords) -> [String] {
        // Texts that are made here may come from what the server is made of too. A name that someone gave is none of the API's words.
        let advice = [self.suggestion.map { "Did you mean `\($0)`?" }, self.advice.map { words.text($0) }]
            .compactMap(\.self).joined(separator: " ")
        return ["pinledger: \(words.text(self.message))"] + (advice.isEmpty ? [] : ["  \(advice)"])
    }

    /// Why a file with a secret is refused.
    ///
    /// - Parameters:
    ///   - what: The contents of the file, with an article.
    init(_ failure: PrivateFile.Failure, _ what: String, _ path: String, status: ExitStatus = .failure) {
        let (message, advice) = failure.text(what, path)
        self.init(message, advice: advice, status: status)
    }
}

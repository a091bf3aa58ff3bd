import ArgumentParser
import Foundation
import PinWire

/// Proposed changes.
struct ChangeCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change", abstract: "Review, approve and apply proposed changes.",
        discussion: """
            Every command that changes something can propose it instead, with --propose: others then look at it, and approve \
            it where a rule asks for that (pinledger access rule list).
            """,
        subcommands: [
            Create.self, List.self, Show.self, Difference.self, Update.self, Propose.self, ChangeApproveCommand.self,
            Reject.self,
            Withdraw.self,
            Apply.self, Review.self,
        ]
    )

    static func path(_ id: String, _ verb: String? = nil) -> String {
        "/v1/changes/\(APIClient.escaped(id))" + (verb.map { "/\($0)" } ?? "")
    }

    /// The options of what is done to a proposed change.
    struct ActOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Reason. The ledger keeps it permanently.", valueName: "text"))
        var reason: String?

        @Flag(help: "Show what would be recorded, and record nothing.")
        var dryRun = false

        @Option(
            help: ArgumentHelp(
                "Key of the request. A request repeated with the same key is recorded once.", valueName: "key"))
        var idempotencyKey: String?

        var change: ChangeOptions {
            var options = ChangeOptions.none
            options.reason = self.reason
            options.dryRun = self.dryRun
            options.idempotencyKey = self.idempotencyKey
            return options
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List proposed changes, the newest first.",
            discussion: "pinledger change list --status open")
        @Option(help: ArgumentHelp("Those in this state.", valueName: "state")) var status: State?
        @Option(help: ArgumentHelp("Those about this app.", valueName: "app")) var app: String?
        @Option(help: ArgumentHelp("At most so many, 1 to 1000.", valueName: "count")) var limit: Int = 100
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        /// The states of changes, and what unites some.
        enum State: String, CaseIterable, ExpressibleByArgument {
            case open, draft, proposed, suspended, applied, rejected, withdrawn, expired
            case awaitsReview = "awaits_review"
        }

        func run() async throws {
            var query = ["limit=\(self.limit)"]
            if let status { query.append("status=\(APIClient.escaped(status.rawValue))") }
            if let app { query.append("app=\(APIClient.escaped(app))") }
            try await self.watching.with(self.remote) { client in
                let json = try await client.get("/v1/changes?\(query.joined(separator: "&"))")
                ListReport.print(
                    json, "changes", self.remote.output,
                    ["ID", "STATE", "CREATED", "AUTHOR", "APPROVALS", "ABOUT", "REASON"]
                ) { change in
                    [
                        change.text("change_id"),
                        change["awaits_review"] == true
                            ? "\(change.text("status")), awaits review" : change.text("status"),
                        change.time("created_at"), change["author"]?.text("name") ?? "-",
                        String(change["approvals"]?.arrayValue?.count ?? 0), ChangeText.places(change),
                        change.text("reason"),
                    ]
                }
                if self.remote.output.isTable, json["more"] == true {
                    Console.error("There are more: narrow it down with --status and --app, or raise --limit.")
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a proposed change: what it would do, and what it waits for.",
            discussion: "pinledger change show chg_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                let change = try await client.get(ChangeCommands.path(self.id))
                guard self.remote.output.isTable else { return Console.print(change, self.remote.output) }
                ChangeText.print(change)
                let effects = try await ChangeText.effects(change, client)
                if !effects.isEmpty { Console.print("Devices and deployed clients:") }
                for line in effects { Console.print("  " + line) }
            }
        }
    }

    struct Difference: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "diff", abstract: "Show what an open change would change, and nothing else.",
            discussion: """
                pinledger change diff chg_4kQ9sXb2Lw8ZtR7c

                Exit codes: 0 shown, 6 the change cannot be applied as it is.
                """)
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let change = try await client.get(ChangeCommands.path(self.id))
                guard let preview = change["preview"] else {
                    throw CommandFailure(
                        "the change is \(change.text("status")): what it did is in the history", status: .conflict)
                }
                guard let differences = preview["differences"] else {
                    throw CommandFailure(
                        preview["problem"]?.said("detail") ?? "the change cannot be applied now", status: .conflict)
                }
                guard self.remote.output.isTable else { return Console.print(differences, self.remote.output) }
                for line in ChangeText.differences(preview) { Console.print(line) }
            }
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update",
            abstract: "Set another reason, time or end of an open change. Its approvals are void then.",
            discussion: "pinledger change update chg_4kQ9sXb2Lw8ZtR7c --not-before 2026-12-01T06:00:00Z")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @Option(
            help: ArgumentHelp(
                "Have the server apply it at this time (\(TimeInput.moments) or 12h), or with the word never not by itself.",
                valueName: "time"))
        var notBefore: String?
        @Option(help: ArgumentHelp("When it lapses (\(TimeInput.moments) or 7d).", valueName: "time"))
        var expires: String?
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                var members: [String: JSON] = [
                    "content_sha256": try await client.get(ChangeCommands.path(self.id))["content_sha256"] ?? .null
                ]
                if let notBefore {
                    members["not_before"] =
                        notBefore == "never" ? .null : .string(try TimeInput.rfc3339(notBefore, .ahead))
                }
                if let expires { members["expires_at"] = .string(try TimeInput.rfc3339(expires, .ahead)) }
                ChangeReport.print(
                    try await client.change("PATCH", ChangeCommands.path(self.id), members, self.act.change),
                    self.remote.output)
            }
        }
    }

    struct Propose: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "propose", abstract: "Open a draft, or a suspended change, for approvals.",
            discussion: "pinledger change propose chg_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", ChangeCommands.path(self.id, "propose"), self.act.change)
        }
    }

    struct Reject: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reject", abstract: "Reject a change. It cannot be opened again.",
            discussion: "pinledger change reject chg_4kQ9sXb2Lw8ZtR7c --reason 'not before the release'")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", ChangeCommands.path(self.id, "reject"), self.act.change)
        }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "withdraw", abstract: "Withdraw a change of your own.",
            discussion: "pinledger change withdraw chg_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", ChangeCommands.path(self.id, "withdraw"), self.act.change)
        }
    }

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "apply", abstract: "Apply a change: all of its commands at once, or none.",
            discussion: "pinledger change apply chg_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @Flag(help: "Go without the approvals that it needs. Needs --reason; another person reviews it afterwards.")
        var bypassApprovals = false
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = self.bypassApprovals ? ["bypass_approvals": true] : [:]
            try await self.remote.change("POST", ChangeCommands.path(self.id, "apply"), members, self.act.change)
        }
    }

    struct Review: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "review", abstract: "Close the review of a change that bypassed approvals.",
            discussion: "pinledger change review chg_4kQ9sXb2Lw8ZtR7c --reason 'right: the key was stolen (INC-7)'")
        @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
        @OptionGroup var act: ActOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", ChangeCommands.path(self.id, "review"), self.act.change)
        }
    }
}

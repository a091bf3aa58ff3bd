import ArgumentParser
import PinWire

struct ApprovalRuleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule", abstract: "Manage the rules by which changes need approvals.",
        subcommands: [List.self, Set.self, Remove.self])

    private static func path(_ name: String) -> String { "/v1/access/approval-rules/\(APIClient.escaped(name))" }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List approval rules.", discussion: "pinledger access rule list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/approval-rules"), "approval_rules", self.remote.output,
                    ["RULE", "APPROVALS", "APPS", "PERMISSIONS", "APPROVERS"]
                ) { rule in
                    func list(_ name: String) -> String {
                        (rule[name]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: " ")
                    }
                    return [
                        rule.text("rule"), rule.text("approvals") + (rule["signed"] == true ? ", signed" : ""),
                        list("apps"), list("permissions"),
                        rule["roles"] == nil ? "-" : list("roles"),
                    ]
                }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set a rule: which permissions, on which apps, need how many approvals.",
            discussion: """
                pinledger access rule set two-people protection.weaken kill_switches.release guard_rails.override \
                access.manage approvals.manage --app '*' --approvals 1
                """)
        @Argument(help: "The rule's name.") var name: String
        @Argument(help: "The permissions whose use needs approvals.") var permissions: [String]
        @Option(
            name: .customLong("app"), parsing: .singleValue,
            help: ArgumentHelp(
                "App that it is about: an id, the beginning of ids with an asterisk (com.example.*), or * for all. Can be repeated.",
                valueName: "pattern"))
        var apps: [String]
        @Option(help: ArgumentHelp("How many other people must approve, 1 to 5.", valueName: "count"))
        var approvals: Int = 1
        @Option(
            name: .customLong("approver-role"), parsing: .singleValue,
            help: ArgumentHelp(
                "Role that approvers must have. Can be repeated; without it, every role with changes.approve.",
                valueName: "role"))
        var roles: [String] = []
        @Flag(help: "Count only approvals that their givers signed with their own key.") var signed = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = [
                "permissions": .array(self.permissions.map { .string($0) }),
                "apps": .array(self.apps.map { .string($0) }), "approvals": .integer(Int64(self.approvals)),
            ]
            if self.signed { members["signed"] = true }
            if !self.roles.isEmpty { members["roles"] = .array(self.roles.map { .string($0) }) }
            try await self.remote.change("PUT", ApprovalRuleCommands.path(self.name), members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a rule.", discussion: "pinledger access rule remove two-people")
        @Argument(help: "The rule's name.") var name: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", ApprovalRuleCommands.path(self.name), self.change)
        }
    }
}

struct FreezeCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freeze", abstract: "Manage freezes: times in which apps are left as they are.",
        subcommands: [List.self, Add.self, Remove.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List freezes that are not over.", discussion: "pinledger access freeze list"
        )
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/freezes"), "freezes", self.remote.output,
                    ["ID", "FROM", "UNTIL", "APPS"]
                ) { freeze in
                    [
                        freeze.text("freeze_id"), freeze.time("from"),
                        freeze.time("until"),
                        (freeze["apps"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: " "),
                    ]
                }
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a freeze: apps stay as they are for a time.",
            discussion:
                "pinledger access freeze add --app '*' --from 2026-12-20 --until 2027-01-04 --reason 'end of the year'")
        @Option(
            name: .customLong("app"), parsing: .singleValue,
            help: ArgumentHelp(
                "App to freeze: an id, the beginning of ids with an asterisk (com.example.*), or * for all. Can be repeated.",
                valueName: "pattern"))
        var apps: [String]
        @Option(help: ArgumentHelp("When it begins (\(TimeInput.moments), 2h or now).", valueName: "time"))
        var from: String = "now"
        @Option(help: ArgumentHelp("When it is over (\(TimeInput.moments) or 7d).", valueName: "time"))
        var until: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let from = try TimeInput.moment(self.from, .ahead)
            let until = try TimeInput.moment(self.until, .ahead)
            try TimeInput.checkOrder(("--from", self.from, from), ("--until", self.until, until))
            let members: [String: JSON] = [
                "apps": .array(self.apps.map { .string($0) }),
                "from": .string(from.rfc3339),
                "until": .string(until.rfc3339),
            ]
            try await self.remote.change("POST", "/v1/access/freezes", members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "End a freeze now.",
            discussion: "pinledger access freeze remove frz_8Zs2LqW5Vb7Kx3Nd")
        @Argument(help: "The freeze's id (frz_…).") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "DELETE", "/v1/access/freezes/\(APIClient.escaped(self.id))", self.change)
        }
    }
}

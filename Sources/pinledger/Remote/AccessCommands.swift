import ArgumentParser
import PinWire

struct AccessCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access", abstract: "Manage who may do what: principals, their roles, and roles of your own.",
        discussion: """
            A principal is a person or a service account. It holds roles on apps, and acts with tokens that belong to it \
            (pinledger token create --principal). You can only give rights that you hold.
            """,
        subcommands: [
            List.self, Show.self, Add.self, Rename.self, Suspend.self, Reinstate.self, GrantRole.self, Revoke.self,
            AccessRoleCommands.self, IdentityProviderCommands.self, SignInRuleCommands.self, IdentityCommands.self,
            ApprovalRuleCommands.self, ApprovalKeyCommands.self, FreezeCommands.self, AccessReviewCommand.self,
        ]
    )

    private static func path(_ id: String) -> String { "/v1/access/principals/\(APIClient.escaped(id))" }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List principals and their grants.", discussion: "pinledger access list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/access/principals")
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                let principals = json["principals"]?.arrayValue ?? []
                if self.remote.output.kind == .name {
                    return principals.forEach { Console.line($0.text("principal_id")) }
                }
                guard !principals.isEmpty else { return Console.error("None.") }
                var table = Table(["ID", "KIND", "NAME", "SUSPENDED", "GRANT", "ROLE"])
                for principal in principals {
                    let head = [
                        principal.text("principal_id"), principal.text("kind"), principal.text("name"),
                        principal.time("suspended_at"),
                    ]
                    let grants = principal["grants"]?.arrayValue ?? []
                    if grants.isEmpty { table.add(head + ["-", "-"]) }
                    for grant in grants { table.add(head + [grant.text("grant_id"), GrantText.text(grant)]) }
                }
                Console.print(table)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a principal: its grants, and its tokens.",
            discussion: "pinledger access show prn_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let principal = try await client.get(AccessCommands.path(self.id))
                guard self.remote.output.isTable else { return Console.print(principal, self.remote.output) }
                var table = Table(["WHAT", "VALUE"])
                for name in ["principal_id", "kind", "name", "created_at", "suspended_at"] {
                    table.add([name, principal.text(name)])
                }
                for grant in principal["grants"]?.arrayValue ?? [] {
                    table.add([grant.text("grant_id"), GrantText.text(grant)])
                }
                for key in principal["approval_keys"]?.arrayValue ?? [] {
                    table.add(["approval key", key.text("kid")])
                }
                for token in try await client.get("/v1/tokens")["tokens"]?.arrayValue ?? []
                where token["principal_id"]?.stringValue == self.id {
                    let end = token["revoked_at"]?.stringValue.map { "revoked at \(LocalTime.text($0))" }
                    table.add([
                        token.text("token_id"),
                        "\(token.text("name")), \(end ?? "until \(token.time("expires_at"))")",
                    ])
                }
                Console.print(table)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a person or a service account.",
            discussion: "pinledger access add 'Ada Lovelace'")
        @Argument(help: "Name for people.") var name: String
        @Flag(help: "It is a program, such as a pipeline, and not a person.") var service = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = [
                "name": .string(self.name), "kind": .string(self.service ? "service" : "person"),
            ]
            try await self.remote.change("POST", "/v1/access/principals", members, self.change)
        }
    }

    struct Rename: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Change the name of a principal. Its id stays.",
            discussion: "pinledger access rename prn_4kQ9sXb2Lw8ZtR7c 'Ada King'")
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var id: String
        @Argument(help: "New name.") var name: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "PATCH", AccessCommands.path(self.id), ["name": .string(self.name)], self.change)
        }
    }

    struct Suspend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "suspend", abstract: "Stop accepting the tokens of a principal.",
            discussion: "pinledger access suspend prn_4kQ9sXb2Lw8ZtR7c --reason 'laptop stolen'")
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", AccessCommands.path(self.id), ["suspended": true], self.change)
        }
    }

    struct Reinstate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reinstate", abstract: "Resume accepting the tokens of a suspended principal.",
            discussion: "pinledger access reinstate prn_4kQ9sXb2Lw8ZtR7c")
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", AccessCommands.path(self.id), ["suspended": false], self.change)
        }
    }

    struct GrantRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "grant", abstract: "Grant a role on apps to a principal.",
            discussion: """
                pinledger access grant prn_4kQ9sXb2Lw8ZtR7c editor --app 'com.example.*'

                Permissions that belong to no app, such as managing signing keys, come only with --app '*'.
                """)
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var id: String
        @Argument(help: "The role.") var role: String
        @OptionGroup var grant: GrantOptions
        @Option(
            name: .customLong("for"), help: "How long it holds, such as 12h or 30d, or until when; always without it.")
        var duration: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members = try self.grant.grant(of: self.role)
            if let duration {
                let end = Node.clock().adding(seconds: try TimeInput.seconds(duration))
                members["expires_at"] = .string(Timestamp(seconds: end.seconds).rfc3339)
            }
            try await self.remote.change("POST", AccessCommands.path(self.id) + "/grants", members, self.change)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Revoke a grant.",
            discussion: "pinledger access revoke grt_8Zs2LqW5Vb7Kx3Nd")
        @Argument(help: "The grant's id (grt_…).") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "DELETE", "/v1/access/grants/\(APIClient.escaped(self.id))", self.change)
        }
    }
}

struct AccessRoleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role", abstract: "Manage roles: named sets of permissions.",
        subcommands: [List.self, Set.self, Remove.self])

    private static func path(_ name: String) -> String { "/v1/access/roles/\(APIClient.escaped(name))" }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List roles and their permissions.", discussion: "pinledger access role list"
        )
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/roles"), "roles", self.remote.output,
                    ["ROLE", "BUILT IN", "PERMISSIONS"]
                ) { role in
                    [
                        role.text("role"), role["built_in"] == true ? "yes" : "no",
                        (role["permissions"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: " "),
                    ]
                }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Set the permissions of a role of your own, and create it where there is none.",
            discussion: "pinledger access role set release-manager apps.read apps.change history.read")
        @Argument(help: "The role's name.", completion: .roles) var name: String
        @Argument(help: "All of its permissions.") var permissions: [String]
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "PUT", AccessRoleCommands.path(self.name),
                ["permissions": .array(self.permissions.map { .string($0) })], self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a role that no principal and no valid token has.",
            discussion: "pinledger access role remove release-manager")
        @Argument(help: "The role's name.", completion: .roles) var name: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", AccessRoleCommands.path(self.name), self.change)
        }
    }
}

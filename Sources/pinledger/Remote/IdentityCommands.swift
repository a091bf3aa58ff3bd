import ArgumentParser
import PinWire

struct IdentityProviderCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider", abstract: "Manage the identity providers whose people and programs may sign in.",
        subcommands: [List.self, Set.self, Remove.self])

    private static func path(_ name: String) -> String {
        "/v1/access/identity-providers/\(APIClient.escaped(name))"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List identity providers, and what this server knows of their keys.",
            discussion: "pinledger access provider list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/identity-providers"), "identity_providers", self.remote.output,
                    ["PROVIDER", "ISSUER", "AUDIENCES", "ALGORITHMS", "CLIENT", "KEYS"]
                ) { provider in
                    func list(_ name: String) -> String {
                        (provider[name]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: " ")
                    }
                    let keys = provider["keys"]
                    let state =
                        keys?["failure"]?.stringValue
                        ?? keys?["fetched_at"]?.stringValue.map { "of \(LocalTime.text($0))" } ?? "not asked yet"
                    return [
                        provider.text("provider"), provider.text("issuer"), list("audiences"), list("algorithms"),
                        provider.text("client_id"), state,
                    ]
                }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Add an identity provider, or change one.",
            discussion: """
                pinledger access provider set company --issuer https://login.example.com --audience pinledger \
                --client-id pinledger

                It opens nothing by itself: rules say who may sign in (pinledger access sign-in set).
                """)
        @Argument(help: "The provider's name.") var name: String
        @Option(help: ArgumentHelp("Its issuer, as its tokens have it in iss.", valueName: "url")) var issuer: String
        @Option(
            name: .customLong("audience"), parsing: .singleValue,
            help: ArgumentHelp("What tokens must have in aud. Can be repeated.", valueName: "text"))
        var audiences: [String]
        @Option(
            name: .customLong("algorithm"), parsing: .singleValue,
            help: ArgumentHelp(
                "Algorithm that may sign its tokens, such as RS256. Can be repeated. Default: RS256 and ES256.",
                valueName: "name"))
        var algorithms: [String] = []
        @Option(
            help: ArgumentHelp(
                "Client by which people sign in with `pinledger login`; without it, only programs do.",
                valueName: "id"))
        var clientID: String?
        @Option(
            help: ArgumentHelp(
                "What `pinledger login` asks the provider for. Default: openid profile email.", valueName: "text"))
        var scope: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = [
                "issuer": .string(self.issuer), "audiences": .array(self.audiences.map { .string($0) }),
            ]
            if !self.algorithms.isEmpty { members["algorithms"] = .array(self.algorithms.map { .string($0) }) }
            members["client_id"] = self.clientID.map { .string($0) }
            members["scope"] = self.scope.map { .string($0) }
            try await self.remote.change("PUT", IdentityProviderCommands.path(self.name), members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove an identity provider that no rule uses.",
            discussion: "pinledger access provider remove company")
        @Argument(help: "The provider's name.") var name: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", IdentityProviderCommands.path(self.name), self.change)
        }
    }
}

struct SignInRuleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Manage the rules that say who may sign in, and what they may then do.",
        subcommands: [List.self, Set.self, Remove.self])

    private static func path(_ name: String) -> String { "/v1/access/sign-in-rules/\(APIClient.escaped(name))" }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List sign-in rules.", discussion: "pinledger access sign-in list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/sign-in-rules"), "sign_in_rules", self.remote.output,
                    ["RULE", "PROVIDER", "KIND", "CLAIMS", "MAY DO", "SECONDS"]
                ) { rule in
                    let kind = rule.text("kind") + (rule["linked_only"] == true ? " (linked)" : "")
                    let grants = rule["grants"]?.arrayValue ?? []
                    return [
                        rule.text("rule"), rule.text("provider"), kind, ClaimText.text(rule["claims"]),
                        grants.map { GrantText.text($0) }.joined(separator: "; "), rule.text("session_seconds"),
                    ]
                }
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Set a rule: identities with these claims hold a role on these apps, for a session.",
            discussion: """
                pinledger access sign-in set release --provider github --service \
                --claim 'sub=repo:example/shop:ref:refs/heads/main' --role editor --app com.example.shop

                All claims must be there. A claim that is given twice may have either value. A value is compared to the \
                character; it may end with an asterisk after a colon or a slash, as repo:example/shop:*. A rule that is set \
                again ends what sessions hold by its earlier form.
                """)
        @Argument(help: "The rule's name.") var name: String
        @Option(help: ArgumentHelp("The provider of the identities.", valueName: "name")) var provider: String
        @Option(
            name: .customLong("claim"), parsing: .singleValue,
            help: ArgumentHelp(
                "Claim that the identity must have, and its value. Can be repeated.", valueName: "name=value"))
        var claims: [String]
        @Option(help: ArgumentHelp("Role that they hold; pinledger access role list shows all.", valueName: "role"))
        var role: String
        @OptionGroup var grant: GrantOptions
        @Flag(help: "They are programs, such as a pipeline's jobs, and not people.") var service = false
        @Flag(
            help:
                "Admit only identities that are linked to a principal (access identity link), so that a person who has one gets no second."
        )
        var linkedOnly = false
        @Option(
            name: .customLong("for"),
            help: ArgumentHelp(
                "How long a session lasts, 5m to 12h. Default: 8h for people, 1h for programs.", valueName: "time"))
        var duration: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var claims: [String: [String]] = [:]
            for claim in self.claims {
                let parts = claim.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else {
                    throw CommandFailure(
                        "\(claim) is not a claim and its value", advice: "Write it as name=value.", status: .usage)
                }
                claims[String(parts[0]), default: []].append(String(parts[1]))
            }
            var members: [String: JSON] = [
                "provider": .string(self.provider), "kind": self.service ? "service" : "person",
                "linked_only": .bool(self.linkedOnly),
                "claims": .object(claims.mapValues { .array($0.map { .string($0) }) }),
                "grants": .array([.object(try self.grant.grant(of: self.role))]),
            ]
            if let duration { members["session_seconds"] = .integer(try TimeInput.seconds(duration)) }
            try await self.remote.change("PUT", SignInRuleCommands.path(self.name), members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a rule, and end what sessions hold by it.",
            discussion: "pinledger access sign-in remove release")
        @Argument(help: "The rule's name.") var name: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", SignInRuleCommands.path(self.name), self.change)
        }
    }
}

/// The conditions of a sign-in rule in words.
enum ClaimText {
    static func text(_ claims: JSON?) -> String {
        (claims?.objectValue ?? [:]).sorted { $0.key < $1.key }.map { name, values in
            "\(name)=\((values.arrayValue ?? []).compactMap(\.stringValue).joined(separator: "|"))"
        }.joined(separator: ", ")
    }
}

struct IdentityCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Manage which principal an identity of a provider signs in as.",
        subcommands: [List.self, Link.self, Unlink.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List identities.", discussion: "pinledger access identity list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/access/identities"), "identities", self.remote.output,
                    ["ID", "PRINCIPAL", "ISSUER", "SUBJECT"]
                ) {
                    [$0.text("identity_id"), $0.text("principal_id"), $0.text("issuer"), $0.text("subject")]
                }
            }
        }
    }

    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "link", abstract: "Link an identity to a principal: its sign-ins are the principal's.",
            discussion: """
                pinledger access identity link prn_4kQ9sXb2Lw8ZtR7c --issuer https://login.example.com --subject 248289761001

                Without it, the first sign-in of a person's identity adds a principal. Link all identities of one person, so \
                that their approvals count once. One that is another principal's is unlinked there first.
                """)
        @Argument(help: "The principal's id (prn_…).", completion: .principals) var principal: String
        @Option(help: ArgumentHelp("The identity's provider, as in iss.", valueName: "url")) var issuer: String
        @Option(help: ArgumentHelp("The identity, as in sub.", valueName: "text")) var subject: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = [
                "principal_id": .string(self.principal), "issuer": .string(self.issuer),
                "subject": .string(self.subject),
            ]
            try await self.remote.change("POST", "/v1/access/identities", members, self.change)
        }
    }

    struct Unlink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unlink",
            abstract:
                "Unlink an identity from its principal. Its sessions end, and it signs in again when it is linked.",
            discussion: "pinledger access identity unlink idn_5f2c9a1b7d3e4f60")
        @Argument(help: "The identity's id (idn_…).") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", "/v1/access/identities/\(APIClient.escaped(self.id))", self.change)
        }
    }
}

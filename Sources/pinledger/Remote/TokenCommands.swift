import ArgumentParser
import Keys
import PinWire

struct WhoAmICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whoami", abstract: "Show which server commands use, and as whom.", discussion: "pinledger whoami")
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let context = try self.remote.serverContext()
        try await self.remote.withClient { client in
            let json = try await client.get("/v1/whoami")
            guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
            var table = Table(["WHAT", "VALUE"])
            table.add(["server", context.server])
            table.add(["name", json["actor"]?.text("name") ?? "-"])
            table.add(["id", json["actor"]?.text("id") ?? "-"])
            table.add(["kind", json["actor"]?.text("kind") ?? "-"])
            if let token = json["token"] { table.add(["may do", GrantText.rights(ofToken: token)]) }
            if let principal = json["principal"] {
                table.add(["principal", "\(principal.text("principal_id")) (\(principal.text("name")))"])
                for grant in principal["grants"]?.arrayValue ?? [] {
                    table.add(["principal's role", GrantText.text(grant)])
                }
            }
            for permission in json["permissions"]?.arrayValue ?? [] {
                table.add([
                    permission.text("permission"), permission["everywhere"] == true ? "everywhere" : "on some apps",
                ])
            }
            table.add(["token valid until", json["token"]?.time("expires_at") ?? "-"])
            table.add(["server's time", json.time("server_time")])
            Console.print(table)
        }
    }
}

struct TokenCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage API tokens.",
        subcommands: [List.self, Show.self, Create.self, Rotate.self, Revoke.self, Verify.self, Bootstrap.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List tokens, without their texts.",
            discussion: "pinledger token list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/tokens"), "tokens", self.remote.output,
                    ["ID", "NAME", "MAY DO", "LAST USED", "EXPIRES", "REVOKED"]
                ) {
                    [
                        $0.text("token_id"), $0.text("name"), GrantText.rights(ofToken: $0), $0.time("last_used_at"),
                        $0.time("expires_at"), $0.time("revoked_at"),
                    ]
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show what a token may do, and from where it was used.",
            discussion: """
                pinledger token show tok_01J8Z3KQ5T2mXc9R

                Networks are ranges of 256 addresses (IPv4) or /48 (IPv6); times are to the minute.
                """)
        @Argument(help: "The token's id (tok_…).", completion: .tokens) var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/tokens/\(APIClient.escaped(self.id))")
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                var table = Table(["WHAT", "VALUE"])
                table.add(["id", json.text("token_id")])
                table.add(["name", json.text("name")])
                table.add(["kind", json.text("kind")])
                table.add(["may do", GrantText.rights(ofToken: json)])
                for (member, title) in [
                    ("principal_id", "principal"), ("replaced_by", "replaced by"),
                ] {
                    if let text = json[member]?.stringValue { table.add([title, text]) }
                }
                for network in json["networks"]?.arrayValue ?? [] {
                    table.add(["accepted from", network.stringValue ?? ""])
                }
                for (member, title) in [
                    ("created_at", "created"), ("last_used_at", "last used"), ("expires_at", "valid until"),
                    ("revoked_at", "revoked"),
                ] {
                    if let time = json[member]?.stringValue { table.add([title, LocalTime.text(time)]) }
                }
                for use in json["used_from"]?.arrayValue ?? [] {
                    let (first, last) = (use.time("first_used_at"), use.time("last_used_at"))
                    table.add([
                        "used from", "\(use.text("network")), \(first) to \(last)",
                    ])
                }
                Console.print(table)
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Create a token and show its text. It is shown only once.",
            discussion: """
                pinledger token create ci --role editor --app com.example.shop --for 30d

                Say what the token may do with --role and --app, or whose it is with --principal: it may then do what \
                the principal may, with --role at most that. You can only give a token rights that you hold.
                """)
        @Argument(help: "What the token is for.") var name: String
        @Option(help: ArgumentHelp("Role of the token; pinledger access role list shows all.", valueName: "role"))
        var role: String?
        @OptionGroup var grant: GrantOptions
        @Option(
            help: ArgumentHelp("Person or service account that it belongs to (prn_…).", valueName: "id"))
        var principal: String?
        @Option(
            name: .customLong("from"), parsing: .singleValue,
            help: ArgumentHelp(
                "Accept it from this network only, such as 10.0.0.0/8. Can be repeated.", valueName: "network"))
        var networks: [String] = []
        @Flag(help: "It is a build pipeline's: its text begins with pk_ci_.") var pipeline = false
        @Option(
            name: .customLong("for"),
            help: "How long the token is valid, such as 12h or 30d, or until when (2026-11-22); at most a year.")
        var duration = "90d"
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let expiry = Node.clock().adding(seconds: try TimeInput.seconds(self.duration))
            var members: [String: JSON] = [
                "name": .string(self.name), "expires_at": .string(Timestamp(seconds: expiry.seconds).rfc3339),
            ]
            if let role {
                members["grants"] = .array([.object(try self.grant.grant(of: role))])
            } else if !self.grant.isEmpty {
                throw CommandFailure(
                    "--app and --host are given without a role", advice: "Add --role, such as --role editor.",
                    status: .usage)
            } else if self.principal == nil {
                throw CommandFailure(
                    "the command does not say what the token may do",
                    advice: "Add --role and --app, such as --role editor --app com.example.shop, or --principal ID.",
                    status: .usage)
            }
            members["principal_id"] = self.principal.map { .string($0) }
            if !self.networks.isEmpty { members["networks"] = .array(self.networks.map { .string($0) }) }
            if self.pipeline { members["kind"] = "pipeline" }
            try await NewTokenReport.create(members, until: expiry, self.change, self.remote)
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Replace a token by a new one, and show its text. Both are accepted for a time.",
            discussion: """
                pinledger token rotate tok_01J8Z3KQ5T2mXc9R --overlap 2d

                The new token has the name, the rights, the principal and the networks of the earlier one, which ends after the \
                overlap, if it does not end before. Give the new text to its holder within this time.
                """)
        @Argument(help: "The earlier token's id (tok_…).", completion: .tokens) var id: String
        @Option(help: ArgumentHelp("How long the earlier token is still accepted; at most 30d.", valueName: "time"))
        var overlap = "7d"
        @Option(
            name: .customLong("for"),
            help: "How long the new token is valid, such as 12h or 30d, or until when (2026-11-22); at most a year.")
        var duration = "90d"
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let expiry = Node.clock().adding(seconds: try TimeInput.seconds(self.duration))
            let replaced: JSON = [
                "token_id": .string(self.id), "overlap_seconds": .integer(try TimeInput.seconds(self.overlap)),
            ]
            let members: [String: JSON] = [
                "expires_at": .string(Timestamp(seconds: expiry.seconds).rfc3339), "replaces": replaced,
            ]
            try await NewTokenReport.create(members, until: expiry, self.change, self.remote)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Revoke a token at once.",
            discussion: "pinledger token revoke tok_01J8Z3KQ5T")
        @Argument(help: "The token's id (tok_…).", completion: .tokens) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "/v1/tokens/\(APIClient.escaped(self.id))"
            try await self.remote.change("DELETE", path, self.change)
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Check the form and checksum of a token on standard input. Needs no server.",
            discussion: """
                pinledger token verify

                The token is read from standard input.
                """
        )

        func run() async throws {
            guard let line = readLine() else {
                throw CommandFailure(
                    "standard input is empty", advice: "Pipe the token into this command.", status: .usage)
            }
            do {
                let token = try APIToken(parsing: line)
                Console.print("a token of kind \(token.kind.rawValue), checksum right")
            } catch {
                throw CommandFailure("not a token: \(error)", status: .notVerified)
            }
        }
    }

    struct Bootstrap: AsyncParsableCommand, JoinedArguments, HoldsKeys {
        static let configuration = CommandConfiguration(
            commandName: "bootstrap",
            abstract: "Create the first token, directly in the database instead of through a server.",
            discussion: """
                pinledger token bootstrap --database "$DATABASE" --kek-file kek

                Use it when an installation starts for the first time, or when every token is lost. The ledger records \
                it like every change.

                With --person, the token belongs to a person of that name, who is added with the role admin. Where approval \
                rules hold, only such a token can propose changes or bypass approvals.

                With --code, it prints a code that works once, within 15 minutes, instead of the token: the person gets the token on \
                their own machine with `pinledger login --code-file -`.
                """
        )
        /// Whose token it is.
        struct Holder: ParsableArguments {
            @Argument(help: "What the token is for, or with --person the person's name.") var name = "first admin"
            @Flag(help: "Add a person of this name with the role admin, whose token it is.") var person = false
            @Flag(help: "Print a code for a person of this name, to be exchanged for a token once, within 15 minutes.")
            var code = false
        }

        private var holder = Holder()
        private var options = NodeOptions()

        init() {}

        init(joining decoder: any Decoder) throws {
            self.holder = try Holder(from: decoder)
            self.options = try NodeOptions(from: decoder)
        }

        var groups: [any ParsableArguments] { [self.holder, self.options] }

        func run() async throws {
            var options = self.options
            options.flags.values[.listen] = ["127.0.0.1:0"]
            let (name, isPerson, isCode) = (self.holder.name, self.holder.person || self.holder.code, self.holder.code)
            let configuration = try NodeConfiguration(options)
            try await Node(configuration: configuration).runOnce { services in
                let issuer = LocalOperator(services: services)
                try await issuer.ensureSigningKey()
                let token = try await issuer.createToken(
                    name: name, asPerson: isPerson, isCode: isCode, seconds: isCode ? 900 : 90 * 86_400)
                Console.error(
                    isCode
                        ? "The code for \(name), valid once and for 15 minutes (`pinledger login --code-file -`):"
                        : "The token, shown only once, valid for 90 days:")
                Console.print(token)
            }
        }
    }
}

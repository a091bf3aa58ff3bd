import ArgumentParser
import PinWire

struct WebhookCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Manage webhooks: receivers of signed events.",
        discussion: """
            Messages follow the Standard Webhooks convention. A receiver answers with a status from 200 to 299, and \
            recognizes a repeated message by its webhook-id.
            """,
        subcommands: [
            List.self, Create.self, Show.self, Update.self, Pause.self, Resume.self, Remove.self, RotateSecret.self,
            Test.self, Deliveries.self, Replay.self,
        ]
    )

    /// The path of a webhook.
    static func path(_ id: String) -> String { "/v1/webhooks/\(APIClient.escaped(id))" }

    /// The events that are sent.
    struct Filter: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Send only these types of events or groups of them, such as kill-switch.*, separated by commas.",
                valueName: "types"))
        var types: String?
        @Option(help: ArgumentHelp("Send only events of these apps, separated by commas.", valueName: "apps"))
        var apps: String?

        static func list(_ text: String) -> JSON {
            .array(text.split(separator: ",").map { .string(String($0)) })
        }

        /// Events that people would expect and such a filter leaves out, as far as the program can tell.
        fileprivate static func warn(_ json: JSON, _ client: APIClient) async {
            let settings = (json["events"]?.arrayValue ?? []).compactMap { $0["data"] }.first {
                $0["types"] != nil || $0["apps"] != nil
            }
            guard let settings, json["dry_run"] != true else { return }
            let types = settings["types"]?.arrayValue?.compactMap(\.stringValue) ?? []
            let apps = settings["apps"]?.arrayValue?.compactMap(\.stringValue) ?? []
            let wantsSwitches = types.isEmpty || types.contains("KillSwitchEngaged")
            if wantsSwitches, !apps.isEmpty {
                Console.error(
                    "It does not receive the fleet's kill switch, which belongs to no app. Create a webhook without --apps and with --types 'kill-switch.*'."
                )
            } else if wantsSwitches, !types.isEmpty, !types.contains("FleetKillSwitchEngaged") {
                Console.error(
                    "It does not receive the fleet's kill switch (FleetKillSwitchEngaged). --types 'kill-switch.*' includes all kill switches."
                )
            }
            for app in apps {
                guard case .success(let answer) = await client.look("/v1/apps/\(APIClient.escaped(app))"),
                    answer.status == 404
                else { continue }
                Console.error("There is no app \(app) yet.")
            }
        }

        var members: [String: JSON] {
            var members: [String: JSON] = [:]
            members["types"] = self.types.map(Self.list)
            members["apps"] = self.apps.map(Self.list)
            return members
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List webhooks.",
            discussion: "pinledger webhook list")
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                ListReport.print(
                    try await client.get("/v1/webhooks"), "webhooks", self.remote.output,
                    ["ID", "URL", "PAUSED", "TYPES", "APPS", "DESCRIPTION"]
                ) {
                    [
                        $0.text("webhook_id"), $0.text("url"),
                        $0["paused"] == true ? $0.text("pause_cause") : "-", Self.words($0["types"]),
                        Self.words($0["apps"]), $0.text("description"),
                    ]
                }
            }
        }

        static func words(_ list: JSON?) -> String {
            let words = list?.arrayValue?.compactMap(\.stringValue) ?? []
            return words.isEmpty ? "all" : words.joined(separator: ",")
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Create a webhook and show its secret. It is shown only once.",
            discussion: "pinledger webhook create https://hooks.example.com/pins --types 'kill-switch.*,PinRevoked'"
        )
        @Argument(help: "Address that messages are posted to.") var url: String
        @OptionGroup var filter: Filter
        @Option(help: ArgumentHelp("Note for people.", valueName: "text")) var description: String?
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members = self.filter.members
            members["url"] = .string(self.url)
            members["description"] = self.description.map { .string($0) }
            try await self.remote.withClient { client in
                let json = try await client.change("POST", "/v1/webhooks", members, self.change)
                await Filter.warn(json, client)
                try WebhookCommands.show(json, self.remote.output)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a webhook and the state of its deliveries.",
            discussion: "pinledger webhook show whk_01J8Z3KQ5T")
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get(WebhookCommands.path(self.id))
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                var table = Table(["WHAT", "VALUE"])
                for name in [
                    "webhook_id", "url", "description", "created_at", "secret_rotated_at", "pause_cause", "paused_at",
                ] {
                    table.add([name, json.text(name)])
                }
                table.add(["types", List.words(json["types"])])
                table.add(["apps", List.words(json["apps"])])
                for name in ["cursor", "waiting", "retrying", "dead", "last_success_at", "failing_since"] {
                    table.add([name, json["progress"]?.text(name) ?? "-"])
                }
                Console.print(table)
            }
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Change a webhook. Settings that are not named stay.",
            discussion: """
                pinledger webhook update whk_01J8Z3KQ5T --types 'kill-switch.*,PinRevoked'

                An empty list of types or apps means all.
                """
        )
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @Option(help: ArgumentHelp("Address that messages are posted to.", valueName: "url")) var url: String?
        @OptionGroup var filter: Filter
        @Option(help: ArgumentHelp("Note for people; empty to clear it.", valueName: "text"))
        var description: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members = self.filter.members
            members["url"] = self.url.map { .string($0) }
            members["description"] = self.description.map { $0.isEmpty ? .null : .string($0) }
            try await self.remote.withClient { client in
                let json = try await client.change("PATCH", WebhookCommands.path(self.id), members, self.change)
                await Filter.warn(json, client)
                ChangeReport.print(json, self.remote.output)
            }
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pause", abstract: "Pause a webhook. Events wait in the ledger.",
            discussion: "pinledger webhook pause whk_01J8Z3KQ5T")
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", WebhookCommands.path(self.id), ["paused": true], self.change)
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume", abstract: "Resume a paused webhook with the event after the last one sent.",
            discussion: "pinledger webhook resume whk_01J8Z3KQ5T")
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", WebhookCommands.path(self.id), ["paused": false], self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a webhook and erase its secret.",
            discussion: "pinledger webhook remove whk_01J8Z3KQ5T")
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", WebhookCommands.path(self.id), self.change)
        }
    }

    struct RotateSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate-secret",
            abstract: "Rotate a webhook's secret and show the new one. It is shown only once.",
            discussion: """
                pinledger webhook rotate-secret whk_01J8Z3KQ5T --reason yearly

                For a day, messages also carry the signature of the old secret. After several rotations, of the last \
                four.
                """
        )
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let path = "\(WebhookCommands.path(self.id))/rotate-secret"
                let json = try await client.change("POST", path, [:], self.change)
                try WebhookCommands.show(json, self.remote.output)
            }
        }
    }

    /// Shows a change that returned a secret: the secret alone goes to standard output.
    fileprivate static func show(_ json: JSON, _ output: OutputForm) throws {
        guard let secret = json["secret"]?.stringValue else {
            ChangeReport.print(json, output)
            guard json["dry_run"] == true else {
                throw CommandFailure(
                    "the secret was created, but the response with it was lost",
                    advice:
                        "Create another: `pinledger webhook rotate-secret ID`; `pinledger webhook list` has the id.")
            }
            return
        }
        guard output.isTable else { return ChangeReport.print(json, output) }
        let id = json["events"]?.arrayValue?.first?["data"]?.text("webhook_id") ?? "-"
        Console.error("The secret of \(id), shown only once:")
        Console.print(secret)
    }
}

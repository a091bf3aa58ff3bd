import ArgumentParser
import PinWire

struct WebhookCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Receivers that every event is sent to, signed.",
        discussion: """
            Messages follow the Standard Webhooks convention. A receiver answers with a status from 200 to 299, and knows a \
            repeated message by its webhook-id.
            """,
        subcommands: [
            List.self, Add.self, Show.self, Update.self, Pause.self, Resume.self, Remove.self, RotateSecret.self,
            Test.self, Deliveries.self, Replay.self,
        ]
    )

    /// The path of a webhook.
    static func path(_ id: String) -> String { "/v1/webhooks/\(APIClient.escaped(id))" }

    /// Which events are sent.
    struct Filter: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Only these types of events or groups of them, such as kill-switch.*, with commas between them.",
                valueName: "types"))
        var types: String?
        @Option(help: ArgumentHelp("Only events of these apps, with commas between them.", valueName: "apps"))
        var apps: String?

        static func list(_ text: String) -> JSON {
            .array(text.split(separator: ",").map { .string(String($0)) })
        }

        /// What such a filter leaves out that people would expect, as far as it can be told.
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
                    "It is not sent the fleet's kill switch, which belongs to no app: add a webhook without --apps and with --types 'kill-switch.*'."
                )
            } else if wantsSwitches, !types.isEmpty, !types.contains("FleetKillSwitchEngaged") {
                Console.error(
                    "It is not sent the fleet's kill switch (FleetKillSwitchEngaged): --types 'kill-switch.*' has all of them."
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
        static let configuration = CommandConfiguration(abstract: "Lists webhooks.")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
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

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds a receiver and shows its secret, this once.",
            discussion: "pinledger webhook add https://hooks.example.com/pins --types 'kill-switch.*,PinRevoked'"
        )
        @Argument(help: "Where messages are posted to.") var url: String
        @OptionGroup var filter: Filter
        @Option(help: ArgumentHelp("What people should know of it.", valueName: "text")) var description: String?
        @OptionGroup var change: ChangeOptions
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
        static let configuration = CommandConfiguration(abstract: "Shows a webhook and how it is doing.")
        @Argument(help: "whk_…") var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get(WebhookCommands.path(self.id))
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
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
                Console.print(table.text)
            }
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Changes a webhook; what is not named stays. An empty list of types or apps means all.")
        @Argument(help: "whk_…") var id: String
        @Option(help: ArgumentHelp("Where messages are posted to.", valueName: "url")) var url: String?
        @OptionGroup var filter: Filter
        @Option(help: ArgumentHelp("What people should know of it; empty for nothing.", valueName: "text"))
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
            abstract: "Sends nothing for now. Events wait in the ledger, however many.")
        @Argument(help: "whk_…") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", WebhookCommands.path(self.id), ["paused": true], self.change)
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Goes on with the event after the last one sent.")
        @Argument(help: "whk_…") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("PATCH", WebhookCommands.path(self.id), ["paused": false], self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes a webhook and erases its secret.")
        @Argument(help: "whk_…") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", WebhookCommands.path(self.id), self.change)
        }
    }

    struct RotateSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a new secret and shows it, this once.",
            discussion:
                "For a day messages carry the signature of the old secret as well; after several rotations, of the last four."
        )
        @Argument(help: "whk_…") var id: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let path = "\(WebhookCommands.path(self.id))/rotate-secret"
                let json = try await client.change("POST", path, [:], self.change)
                try WebhookCommands.show(json, self.remote.output)
            }
        }
    }

    /// Shows a change that came with a secret: the secret alone goes to standard output.
    fileprivate static func show(_ json: JSON, _ output: RemoteOptions.OutputForm) throws {
        guard let secret = json["secret"]?.stringValue else {
            ChangeReport.print(json, output)
            guard json["dry_run"] == true else {
                throw CommandFailure(
                    "it is recorded, and its secret was in an answer that was lost",
                    advice:
                        "Make another one: `pinledger webhook rotate-secret ID`; `pinledger webhook list` has the id.")
            }
            return
        }
        guard output == .table else { return ChangeReport.print(json, output) }
        let id = json["events"]?.arrayValue?.first?["data"]?.text("webhook_id") ?? "-"
        Console.error("The secret of \(id), shown this once:")
        Console.print(secret)
    }
}

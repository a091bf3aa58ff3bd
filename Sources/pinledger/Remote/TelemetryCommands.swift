import ArgumentParser
import PinWire

struct TelemetryCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telemetry", abstract: "What clients report of their connections, and the keys they sign it with.",
        subcommands: [Show.self, Reactions.self, Key.self]
    )

    /// The path of what belongs to an app.
    fileprivate static func path(_ app: String, _ rest: String) -> String {
        "/v1/apps/\(APIClient.escaped(app))/\(rest)"
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows how many installs reported, and how many of them failed.",
            discussion: """
                By host, policy and version of the document. An install counts once an hour, with what it reported first. \
                Reports that were not signed with a key of the app are advisory: anybody can make them.
                """
        )
        @Argument var app: String
        @Option(help: "How far to look back, in hours; 336 at most.") var hours = 24
        @Option(help: "Only this host pattern.") var host: String?
        @Flag(help: "What came in each minute; with --host.") var minutes = false
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                var path = TelemetryCommands.path(self.app, "telemetry?hours=\(self.hours)")
                if let host = self.host { path += "&host=\(APIClient.escaped(host))" }
                if self.minutes { path += "&minutes=true" }
                let json = try await client.get(path)
                if let host = self.host, json["cells"]?.arrayValue?.isEmpty != false {
                    // A host that nothing was reported of is told apart from one that the app does not have.
                    _ = try await client.get(HostCommands.path(self.app, host))
                }
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                TelemetryText.print(json)
            }
        }
    }

    struct Reactions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what clients' reports come to, and when the detectors would have fired.",
            discussion: """
                With `app set --json` an app's monitoring takes `reaction`: off, shadow (verdicts are shown, nothing follows) or \
                act. Reports alone never weaken protection: while the served key is pinned, somebody is called and nothing else. \
                `count_unsigned` lets a rollout's plan count installs whose reports are not signed, which anybody can send.
                """
        )
        @Argument var app: String
        @Option(help: "Replay with another threshold, in per cent of failing installs.") var threshold: Double?
        @Option(help: "How far to look back, in hours; 336 at most.") var hours = 24
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var path = TelemetryCommands.path(self.app, "reactions?hours=\(self.hours)")
            if let threshold = self.threshold {
                guard let points = try RolloutCommands.basisPoints(threshold).integerValue, (1...9999).contains(points)
                else {
                    throw CommandFailure("--threshold must be above 0 and below 100", status: .usage)
                }
                path += "&failure_threshold_bp=\(points)"
            }
            try await self.remote.withClient { client in
                let json = try await client.get(path)
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                Self.print(json)
            }
        }

        private static func print(_ json: JSON) {
            Console.print("Reaction: \(json.text("reaction")), measured at \(json.text("measured_at"))")
            var table = Table(["HOST", "POLICY", "VERSION", "SIGNED", "INSTALLS", "FAILING", "STEP", "WHY"])
            for verdict in json["verdicts"]?.arrayValue ?? [] {
                guard let evidence = verdict["evidence"] else { continue }
                let reasons = (verdict["reasons"]?.arrayValue ?? []).compactMap(\.stringValue)
                table.add([
                    evidence.text("host"), evidence.text("arm"), evidence.text("version"),
                    evidence.text("authenticated"),
                    evidence["sample"]?.text("installs") ?? "-", evidence["sample"]?.text("failing") ?? "-",
                    verdict.text("step"), reasons.isEmpty ? "-" : reasons.joined(separator: ", "),
                ])
            }
            Console.print(table.text)
            let replay = json["would_have_fired"]
            Console.print("")
            Console.print("With a threshold of \(replay?.text("failure_threshold_bp") ?? "-") basis points:")
            var fired = Table(["HOST", "POLICY", "VERSION", "STAGE TEST", "CHANGE POINT"])
            for arm in replay?["arms"]?.arrayValue ?? [] {
                fired.add([
                    arm.text("host"), arm.text("arm"), arm.text("version"), arm["stage_test"]?.text("minute") ?? "-",
                    arm["change_point"]?.text("minute") ?? "-",
                ])
            }
            Console.print(fired.text)
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keys that an app's reports are signed with.",
            discussion: """
                To rotate: `telemetry key add`, ship a release with the new key, and `telemetry key retire` the old one when \
                the releases that have it do not matter any more. Up to ten are in use at once.
                """,
            subcommands: [List.self, Add.self, Retire.self]
        )

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Lists an app's keys, retired ones included.")
            @Argument var app: String
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.withClient { client in
                    ListReport.print(
                        try await client.get(TelemetryCommands.path(self.app, "telemetry-keys")), "keys",
                        self.remote.output, ["ID", "STATE", "CREATED", "RETIRED", "NOTE"]
                    ) {
                        [
                            $0.text("key_id"), $0.text("state"), $0.text("created_at"), $0.text("retired_at"),
                            $0.text("note"),
                        ]
                    }
                }
            }
        }

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Makes a key and shows its secret, this once.")
            @Argument var app: String
            @Option(help: ArgumentHelp("What people should know of it.", valueName: "text")) var note: String?
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                var members: [String: JSON] = [:]
                members["note"] = self.note.map { .string($0) }
                try await self.remote.withClient { client in
                    let path = TelemetryCommands.path(self.app, "telemetry-keys")
                    let json = try await client.change("POST", path, members, self.change)
                    guard let secret = json["secret"]?.stringValue else {
                        ChangeReport.print(json, self.remote.output)
                        guard json["dry_run"] == true else {
                            throw CommandFailure(
                                "it is recorded, and its secret was in an answer that was lost",
                                advice:
                                    "Retire it and make another one: `pinledger telemetry key retire \(self.app) ID`; `pinledger telemetry key list \(self.app)` has the id."
                            )
                        }
                        return
                    }
                    guard self.remote.output == .table else { return ChangeReport.print(json, self.remote.output) }
                    Console.error("The secret of \(json.text("key_id")), shown this once:")
                    Console.print(secret)
                }
            }
        }

        struct Retire: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Refuses what is signed with a key from now on, and erases its secret.")
            @Argument var app: String
            @Argument(help: "tlk_…") var id: String
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                let path = TelemetryCommands.path(self.app, "telemetry-keys/\(APIClient.escaped(self.id))/retire")
                try await self.remote.change("POST", path, self.change)
            }
        }
    }
}

/// Reports for people.
private enum TelemetryText {
    static func print(_ json: JSON) {
        var table = Table([
            "HOST", "POLICY", "VERSION", "SIGNED", "INSTALLS", "FAILING", "NETWORKS", "REASONS", "REPORTS",
        ])
        for cell in json["cells"]?.arrayValue ?? [] {
            let reasons = (cell["reasons"]?.objectValue ?? [:]).sorted { $0.key < $1.key }
            table.add([
                cell.text("host"), cell.text("arm"), cell.text("version"),
                cell["authenticated"] == true ? "yes" : "no", cell.text("installs"), cell.text("failing"),
                cell["networks"]?.text("distinct") ?? "-",
                reasons.isEmpty
                    ? "-" : reasons.map { "\($0.key) \($0.value.integerValue ?? 0)" }.joined(separator: ", "),
                cell.text("reports"),
            ])
        }
        Console.print(table.text)
        for (name, what) in [("authenticated", "signed"), ("advisory", "unsigned")] {
            guard let share = json["sampling"]?[name]?.integerValue, share > 1 else { continue }
            Console.print("Of installs that reported \(what), one in \(share) is counted.")
        }
        let minutes = (json["cells"]?.arrayValue ?? []).filter { $0["minutes"] != nil }
        guard !minutes.isEmpty else { return }
        var times = Table(["MINUTE", "POLICY", "VERSION", "SIGNED", "INSTALLS", "FAILING"])
        for cell in minutes {
            for minute in cell["minutes"]?.arrayValue ?? [] {
                times.add([
                    minute.text("minute"), cell.text("arm"), cell.text("version"),
                    cell["authenticated"] == true ? "yes" : "no", minute.text("installs"), minute.text("failing"),
                ])
            }
        }
        Console.print("")
        Console.print(times.text)
    }
}

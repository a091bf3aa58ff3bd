import ArgumentParser
import PinWire

struct TelemetryCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telemetry",
        abstract: "Show what clients report about their connections, and manage the keys that sign reports.",
        subcommands: [Show.self, Reactions.self, Key.self]
    )

    /// The path of an app's part.
    fileprivate static func path(_ app: String, _ rest: String) -> String {
        "/v1/apps/\(APIClient.escaped(app))/\(rest)"
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show how many installs reported, and how many of them failed.",
            discussion: """
                pinledger telemetry show com.example.app --host api.example.com --minutes

                Counts are by host, policy and document version. An install counts once an hour, with its first \
                report. Reports that are not signed with a key of the app are advisory: anyone can send them.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "Hours to look back; at most 336.") var hours = 24
        @Option(help: "Show only this host pattern.") var host: String?
        @Flag(help: "Show each minute. Needs --host.") var minutes = false
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                var path = TelemetryCommands.path(self.app, "telemetry?hours=\(self.hours)")
                if let host = self.host { path += "&host=\(APIClient.escaped(host))" }
                if self.minutes { path += "&minutes=true" }
                let json = try await client.get(path)
                if let host = self.host, json["cells"]?.arrayValue?.isEmpty != false {
                    // Distinguishes a host without reports from one that the app does not have.
                    _ = try await client.get(HostCommands.path(self.app, host))
                }
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                TelemetryText.print(json)
            }
        }
    }

    struct Reactions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reactions",
            abstract: "Show the verdicts on clients' reports, and when the detectors would have fired.",
            discussion: """
                pinledger telemetry reactions com.example.app --threshold 2

                Set an app's reaction with `app update --json`, in `monitoring`: off, shadow (show verdicts only) or \
                act. Reports alone never weaken protection: while the served key is pinned, they only raise an alert. \
                `count_unsigned` lets a rollout plan count installs with unsigned reports, which anyone can send.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "Replay with this threshold, in percent of failing installs.") var threshold: Double?
        @Option(help: "Hours to look back; at most 336.") var hours = 24
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
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Self.print(json)
            }
        }

        private static func print(_ json: JSON) {
            Console.print("Reaction: \(json.text("reaction")), measured at \(json.time("measured_at"))")
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
            Console.print(table)
            let replay = json["would_have_fired"]
            Console.print("")
            Console.print("With a threshold of \(replay?.text("failure_threshold_bp") ?? "-") basis points:")
            var fired = Table(["HOST", "POLICY", "VERSION", "STAGE TEST", "CHANGE POINT"])
            for arm in replay?["arms"]?.arrayValue ?? [] {
                fired.add([
                    arm.text("host"), arm.text("arm"), arm.text("version"), arm["stage_test"]?.time("minute") ?? "-",
                    arm["change_point"]?.time("minute") ?? "-",
                ])
            }
            Console.print(fired)
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key", abstract: "Manage the keys that sign an app's reports.",
            discussion: """
                To rotate: `telemetry key create`, ship a release with the new key, and `telemetry key retire` the old \
                one when you no longer need reports of the releases that have it. An app can have ten keys in use.
                """,
            subcommands: [List.self, Create.self, Retire.self]
        )

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List an app's keys, including retired ones.",
                discussion: "pinledger telemetry key list com.example.app")
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.withClient { client in
                    ListReport.print(
                        try await client.get(TelemetryCommands.path(self.app, "telemetry-keys")), "keys",
                        self.remote.output, ["ID", "STATE", "CREATED", "RETIRED", "NOTE"]
                    ) {
                        [
                            $0.text("key_id"), $0.text("state"), $0.time("created_at"), $0.time("retired_at"),
                            $0.text("note"),
                        ]
                    }
                }
            }
        }

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "create", abstract: "Create a key and show its secret. It is shown only once.",
                discussion: "pinledger telemetry key create com.example.app --note \"from 3.2 on\"")
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @Option(help: ArgumentHelp("Note for people.", valueName: "text")) var note: String?
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
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
                                "the key was created, but the response with its secret was lost",
                                advice:
                                    "Retire it and create another: `pinledger telemetry key retire \(self.app) ID`; `pinledger telemetry key list \(self.app)` has the id."
                            )
                        }
                        return
                    }
                    guard self.remote.output.isTable else { return ChangeReport.print(json, self.remote.output) }
                    Console.error("The secret of \(json.text("key_id")), shown only once:")
                    Console.print(secret)
                }
            }
        }

        struct Retire: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "retire", abstract: "Retire a key: refuse what it signs and erase its secret.",
                discussion: "pinledger telemetry key retire com.example.app tlk_01J8Z3KQ5T")
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @Argument(help: "The key's id (tlk_…).") var id: String
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
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
        Console.print(table)
        var unpinned: [String: Int64] = [:]
        for cell in json["cells"]?.arrayValue ?? [] {
            unpinned[cell.text("host"), default: 0] += cell["unpinned"]?.integerValue ?? 0
        }
        for (host, count) in unpinned.sorted(by: { $0.key < $1.key }) where count > 0 {
            Console.print("Connections to \(host) that went on without pins, because those had ended: \(count).")
        }
        for (name, what) in [("authenticated", "signed"), ("advisory", "unsigned")] {
            guard let share = json["sampling"]?[name]?.integerValue, share > 1 else { continue }
            Console.print("One in \(share) installs with \(what) reports is counted.")
        }
        let minutes = (json["cells"]?.arrayValue ?? []).filter { $0["minutes"] != nil }
        guard !minutes.isEmpty else { return }
        var times = Table(["MINUTE", "POLICY", "VERSION", "SIGNED", "INSTALLS", "FAILING"])
        for cell in minutes {
            for minute in cell["minutes"]?.arrayValue ?? [] {
                times.add([
                    minute.time("minute"), cell.text("arm"), cell.text("version"),
                    cell["authenticated"] == true ? "yes" : "no", minute.text("installs"), minute.text("failing"),
                ])
            }
        }
        Console.print("")
        Console.print(times)
    }
}

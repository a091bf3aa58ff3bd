import ArgumentParser
import PinWire

struct AppCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Manage apps. Each has a document of its own.",
        subcommands: [
            List.self, Show.self, Create.self, Update.self, Compare.self, Revert.self, Archive.self, Unarchive.self,
            Adoption.self,
        ]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the apps.",
            discussion: """
                pinledger app list
                pinledger app list --archived
                """
        )
        @Flag(help: "List the archived apps instead of those in use.") var archived = false
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let apps = try await Self.all(archived: self.archived, client)
                ListReport.print(
                    ["apps": .array(apps)], "apps", self.remote.output,
                    ["APP", "NAME", "HOSTS", "VERSION", "KILL SWITCH", "UPDATED"]
                ) {
                    [
                        $0.text("app"), $0.text("display_name"), $0.text("host_count"), $0.text("version"),
                        $0["kill_switch"] == nil
                            ? ($0["version_kill_switches"] == nil ? "-" : "SOME VERSIONS") : "ENGAGED",
                        $0.time("updated_at"),
                    ]
                }
            }
        }

        /// All apps that the caller sees: those in use, or the archived ones.
        static func all(archived: Bool = false, _ client: APIClient) async throws -> [JSON] {
            var apps: [JSON] = []
            let first = "/v1/apps?\(archived ? "archived=true&" : "")limit=1000"
            var path: String? = first
            while let next = path {
                let page = try await client.get(next)
                apps += page["apps"]?.arrayValue ?? []
                path = page["next_cursor"]?.stringValue.map { "\(first)&cursor=\($0)" }
            }
            return apps
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show an app with its hosts and pins.",
            discussion: "pinledger app show com.example.app")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/apps/\(APIClient.escaped(self.app))")
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Console.print(
                    "\(json.text("app")) (\(json.text("display_name"))), version \(json.text("version")), updated \(json.time("updated_at"))"
                )
                if json["archived_at"] != nil { Console.print("ARCHIVED since \(json.time("archived_at"))") }
                if let rollout = json["rollout"] { Console.print("rollout: \(RolloutText.text(rollout))") }
                if let gate = json["version_gate"] { Console.print("version gate: \(gate.canonicalText)") }
                if json["monitoring"]?["enabled"] == true {
                    let reaction = json["monitoring"]?["reaction"]?.stringValue ?? "shadow"
                    Console.print("clients report; reaction: \(reaction)")
                }
                if json["pins_valid_until"] != nil {
                    Console.print("pins valid until: \(json.time("pins_valid_until"))")
                }
                if let killSwitch = json["kill_switch"] {
                    Console.print("KILL SWITCH ENGAGED until \(killSwitch.time("expires_at"))")
                }
                for killSwitch in json["version_kill_switches"]?.arrayValue ?? [] {
                    let versions = killSwitch["versions"].map(KillCommands.text) ?? "-"
                    Console.print("KILL SWITCH ENGAGED for \(versions) until \(killSwitch.time("expires_at"))")
                }
                for host in json["hosts"]?.arrayValue ?? [] {
                    Console.print("")
                    Console.print(HostText.text(host))
                }
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Create an app.",
            discussion: "pinledger app create com.example.app --name \"Example\"")
        @Argument(help: "Bundle id or service name, such as com.example.app.") var app: String
        @Option(help: "Name to display.") var name: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let members: JSON = .members(["app": .string(self.app), "display_name": self.name.map { .string($0) }])
                let json = try await client.change("POST", "/v1/apps", members.objectValue ?? [:], self.change)
                ChangeReport.print(json, self.remote.output)
            }
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Change an app's settings.",
            discussion: """
                pinledger app update com.example.app --min-version 3.1.0 --max-version none
                pinledger app update com.example.app --json 'monitoring={"enabled":true,"reaction":"act"}'

                The value `none` clears a setting.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "Name to display.") var name: String?
        @Option(help: "Lowest app version that gets candidates.") var minVersion: String?
        @Option(help: "Highest app version that gets candidates.") var maxVersion: String?
        @Option(help: "When clients stop enforcing pins: 30d (from now), 2026-11-22 or 2026-11-22T18:30:00Z.")
        var pinsValidUntil: String?
        @Option(
            help: ArgumentHelp(
                "Set a member of the app to a JSON value. May be repeated.", valueName: "name=json"))
        var json: [String] = []
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = [:]
            members["display_name"] = self.name.map { .string($0) }
            if self.minVersion != nil || self.maxVersion != nil {
                let gate: JSON = .members([
                    "minimum": self.minVersion.flatMap { $0 == "none" ? nil : .string($0) },
                    "maximum": self.maxVersion.flatMap { $0 == "none" ? nil : .string($0) },
                ])
                members["version_gate"] = gate == [:] ? .null : gate
            }
            if let until = self.pinsValidUntil {
                members["pins_valid_until"] = until == "none" ? .null : .string(try TimeInput.rfc3339(until, .ahead))
            }
            for assignment in self.json {
                let parts = assignment.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = try? JSON(text: String(parts[1])) else {
                    throw CommandFailure("--json \(assignment) is not of the form NAME=JSON", status: .usage)
                }
                members[String(parts[0])] = value
            }
            guard !members.isEmpty else {
                throw CommandFailure(
                    "no setting is given", advice: "Name at least one, such as --name.", status: .usage)
            }
            try await self.remote.change("PATCH", "/v1/apps/\(APIClient.escaped(self.app))", members, self.change)
        }
    }
}

/// A host for people.
enum HostText {
    static func text(_ host: JSON) -> String {
        var lines = [host.text("host") + (host["include_subdomains"] == true ? " and all subdomains" : "")]
        if let killSwitch = host["kill_switch"] {
            lines[0] += "  KILL SWITCH ENGAGED until \(killSwitch.time("expires_at"))"
        }
        for slot in ["baseline", "candidate"] {
            guard let policy = host[slot] else { continue }
            if policy["source"] == "builtin" {
                lines.append("  \(slot): the pins built into the app")
                continue
            }
            lines.append("  \(slot): \(policy.text("mode"))")
            var table = Table(["    STATE", "ROLE", "PIN", "SINCE", "NOTE"])
            for pin in policy["pins"]?.arrayValue ?? [] {
                table.add([
                    "    \(pin.text("state"))", pin.text("role"), pin.text("pin"), pin.time("since"), pin.text("note"),
                ])
            }
            if !(policy["pins"]?.arrayValue ?? []).isEmpty { lines.append(table.text) }
        }
        if let rollout = host["rollout"] { lines.append("  rollout: \(RolloutText.text(rollout))") }
        return lines.joined(separator: "\n")
    }
}

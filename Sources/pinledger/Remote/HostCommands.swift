import ArgumentParser
import PinWire

struct HostCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Manage an app's hosts.",
        subcommands: [List.self, Show.self, Add.self, Update.self, Remove.self]
    )

    /// The path of a host in the API.
    static func path(_ app: String, _ host: String) -> String {
        "/v1/apps/\(APIClient.escaped(app))/hosts/\(APIClient.escaped(host))"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List an app's hosts.", discussion: "pinledger host list com.example.app")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/apps/\(APIClient.escaped(self.app))/hosts")
                ListReport.print(
                    json, "hosts", self.remote.output, ["HOST", "BASELINE", "CANDIDATE", "ROLLOUT", "KILL SWITCH"]
                ) { host in
                    func policy(_ slot: String) -> String {
                        guard let policy = host[slot] else { return "-" }
                        guard policy["source"] != "builtin" else { return "builtin" }
                        let active = (policy["pins"]?.arrayValue ?? []).count { $0["state"] == "active" }
                        return "\(policy.text("mode")), \(active) pins"
                    }
                    return [
                        host.text("host") + (host["include_subdomains"] == true ? " (+)" : ""), policy("baseline"),
                        policy("candidate"), host["rollout"].map(RolloutText.text) ?? "-",
                        host["kill_switch"] == nil ? "-" : "ENGAGED",
                    ]
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a host with its pins, its services, and what probes see of them.",
            discussion: "pinledger host show com.example.app api.example.com")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let path = HostCommands.path(self.app, self.host)
                let json = try await client.get(path)
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Console.print(HostText.text(json))
                ObservationText.print(try await client.get("\(path)/observations"), of: json)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a host, with its own pins or with those built into the app.",
            discussion: """
                pinledger host add com.example.app api.example.com --primary server.pem --backup next.csr
                pinledger host add com.example.app '*.example.com' --builtin
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "A host name, or a wildcard such as *.example.com.") var host: String
        @Flag(help: "Also match all subdomains, at any depth.") var includeSubdomains = false
        @Flag(help: "Use the pins built into the app.") var builtin = false
        @Option(help: "What clients do with a chain that matches no pin.") var mode = PinMode.enforce
        @OptionGroup var pins: NewPinOptions
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let baseline: JSON =
                self.builtin
                ? ["source": "builtin"]
                : ["source": "document", "mode": .string(self.mode.rawValue), "pins": try self.pins.json]
            let members: [String: JSON] = [
                "host": .string(self.host), "include_subdomains": .bool(self.includeSubdomains), "baseline": baseline,
            ]
            try await self.remote.change("POST", "/v1/apps/\(APIClient.escaped(self.app))/hosts", members, self.change)
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Change a host's mode, its subdomains or its services.",
            discussion: """
                pinledger host update com.example.app api.example.com --mode report_only --reason "moving to a new key"
                pinledger host update com.example.app mail.example.com --endpoint mail.example.com:587+smtp
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @Option(help: "What clients do with a chain that matches no pin.") var mode: PinMode?
        @Option(help: "The policy whose mode changes.") var policy = PolicyArm.baseline
        @Option(help: "Also match all subdomains, at any depth.") var includeSubdomains: TruthValue?
        @Option(
            name: .customLong("endpoint"),
            help: ArgumentHelp(
                "A service to probe: host:port, or host:port+smtp. May be repeated. `default` probes what follows from the pattern.",
                valueName: "service"))
        var endpoints: [String] = []
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = [:]
            members["include_subdomains"] = self.includeSubdomains.map { .bool($0 == .yes) }
            if !self.endpoints.isEmpty {
                members["endpoints"] =
                    self.endpoints == ["default"] ? .null : .array(self.endpoints.map { .string($0) })
            }
            if let mode = self.mode { members[self.policy.rawValue] = ["mode": .string(mode.rawValue)] }
            guard !members.isEmpty else {
                throw CommandFailure(
                    "no setting is given", advice: "Name at least one, such as --mode.", status: .usage)
            }
            try await self.remote.change("PATCH", HostCommands.path(self.app, self.host), members, self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a host. Clients stop pinning it.",
            discussion: "pinledger host remove com.example.app api.example.com --reason \"service retired\"")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("DELETE", HostCommands.path(self.app, self.host), self.change)
        }
    }
}

/// Probes' results for a host, for people.
enum ObservationText {
    static func print(_ json: JSON, of host: JSON) {
        let active = ["baseline", "candidate"].flatMap { slot in
            (host[slot]?["pins"]?.arrayValue ?? []).filter { $0["state"] == "active" }.map { $0.text("pin") }
        }
        let endpoints = json["endpoints"]?.arrayValue ?? []
        guard !endpoints.isEmpty else {
            return Console.print(
                "  services: none to probe (name one: `pinledger host update APP \(host.text("host")) --endpoint HOST:PORT`)"
            )
        }
        for endpoint in endpoints {
            let last = endpoint["last_success"]?.stringValue.map { "last seen \($0)" } ?? "never seen by a probe"
            Console.print("  service \(endpoint.text("endpoint")): \(last)")
            for chain in (endpoint["chains"]?.arrayValue ?? []) where chain["current"] == true {
                let certificates = chain["certificates"]?.arrayValue ?? []
                let pins = certificates.map { $0["key"]?.text("pin") ?? "-" }
                let pinned = pins.first { active.contains($0) }
                let subject = certificates.first?.text("subject") ?? "-"
                Console.print("    \(chain.text("address")) from \(chain.text("vantage")): \(subject)")
                Console.print(
                    pinned.map { "      pinned: \($0)" } ?? "      NOT PINNED: presents \(pins.first ?? "no key")")
            }
        }
    }
}

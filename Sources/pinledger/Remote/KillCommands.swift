import ArgumentParser
import Foundation
import PinWire

struct KillCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Turn pinning off for a time: for a host, versions of an app, an app or everything.",
        discussion: "A kill switch deletes nothing. When it is released or expires, the pins are enforced again.",
        subcommands: [List.self, Engage.self, Release.self, History.self]
    )

    struct Scope: ParsableArguments {
        @Argument(help: "The app. Required unless --everything is given.", completion: .apps) var app: String?
        @Argument(help: "The host. Default: the whole app.", completion: .hosts) var host: String?
        @Flag(help: "Every host of every app.") var everything = false
        @Option(
            help: ArgumentHelp(
                "Only these versions of the app: 3.1.0-3.1.2, 3.1.0.. or ..3.1.2 (both ends included), or 3.1.1.",
                valueName: "range"))
        var versions: String?
        @Option(help: ArgumentHelp("A version within the range to leave out. May be repeated.", valueName: "version"))
        var except: [String] = []
        @Option(help: ArgumentHelp("The lowest build number to include.", valueName: "build"))
        var minBuild: Int64?

        /// The versions it covers; nil for all.
        func range() throws -> VersionGate? {
            guard self.versions != nil || !self.except.isEmpty || self.minBuild != nil else { return nil }
            guard self.app != nil, self.host == nil, !self.everything else {
                throw CommandFailure(
                    "--versions, --except and --min-build need an app, without a host and without --everything",
                    status: .usage)
            }
            guard self.versions != nil || self.minBuild != nil else {
                throw CommandFailure("--except needs --versions or --min-build", status: .usage)
            }
            do {
                let range = try self.versions.map(VersionRangeInput.init)
                return VersionGate(
                    minimum: range?.minimum, maximum: range?.maximum, excluded: try self.except.map(AppVersion.init),
                    minimumBuild: self.minBuild)
            } catch {
                throw CommandFailure("\(error)", status: .usage)
            }
        }

        func path() throws -> String {
            guard self.everything != (self.app != nil) else {
                throw CommandFailure("name an app, or give --everything", status: .usage)
            }
            guard let app = self.app else { return "/v1/kill-switch" }
            return (self.host.map { HostCommands.path(app, $0) } ?? "/v1/apps/\(APIClient.escaped(app))")
                + "/kill-switch"
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List engaged kill switches.",
            discussion: "pinledger kill list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/kill-switches")
                ListReport.print(
                    json, "kill_switches", self.remote.output,
                    ["SCOPE", "APP", "HOST", "VERSIONS", "ENGAGED", "EXPIRES", "IN FORCE"]
                ) {
                    [
                        $0.text("scope"), $0.text("app"), $0.text("host"), $0["versions"].map(KillCommands.text) ?? "-",
                        $0.time("engaged_at"), $0.time("expires_at"), $0.text("in_force"),
                    ]
                }
            }
        }
    }

    /// A range of versions in the form of `--versions`, with its other bounds.
    static func text(versions: JSON) -> String {
        let (minimum, maximum) = (versions["minimum"]?.stringValue, versions["maximum"]?.stringValue)
        var parts: [String] = []
        if let minimum, minimum == maximum {
            parts.append(minimum)
        } else if minimum != nil || maximum != nil {
            parts.append("\(minimum ?? "")..\(maximum ?? "")")
        }
        if let build = versions["minimum_build"]?.integerValue { parts.append("build \(build)..") }
        let excluded = (versions["excluded"]?.arrayValue ?? []).compactMap(\.stringValue)
        if !excluded.isEmpty { parts.append("except \(excluded.joined(separator: ", "))") }
        return parts.joined(separator: " ")
    }

    struct Engage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "engage", abstract: "Engage a kill switch: turn pinning off.",
            discussion: """
                pinledger kill engage com.example.app --reason "CA incident 4711" --for 4h
                pinledger kill engage com.example.app --versions 3.1.0-3.1.2 --reason "built with the wrong pins"
                """
        )
        @OptionGroup var scope: Scope
        @Option(
            name: .customLong("for"),
            help: "How long, such as 30m, 4h or 2d, or until when (2026-11-22T18:30:00Z); at most 7 days.")
        var duration = "4h"
        @Flag(help: "With --everything: do not ask for confirmation.") var yes = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            if self.scope.everything, !self.yes, !self.change.dryRun { try Self.confirm() }
            let expiry = Node.clock().adding(seconds: try TimeInput.seconds(self.duration))
            var members: [String: JSON] = ["expires_at": .string(Timestamp(seconds: expiry.seconds).rfc3339)]
            members["versions"] = try self.scope.range()?.json
            let path = try self.scope.path()
            try await self.remote.withClient { client in
                let answer = try await client.change("PUT", path, members, self.change)
                ChangeReport.print(answer, self.remote.output)
                guard self.remote.output.isTable, answer["change"] == nil else { return }
                for line in await KillReach.lines(answer, self.scope.app, client) { Console.print(line) }
            }
        }

        /// Asks for confirmation on a terminal. A script is not asked: its command is explicit.
        private static func confirm() throws {
            guard isatty(STDIN_FILENO) == 1 else { return }
            Console.error("This turns pinning off for every host of every app. Type everything to continue:")
            guard readLine()?.trimmingCharacters(in: .whitespaces) == "everything" else {
                throw CommandFailure("nothing was changed", advice: "Give --yes to skip the question.")
            }
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "release", abstract: "Release a kill switch: turn pinning on again.",
            discussion: "pinledger kill release com.example.app --reason \"incident over\"")
        @OptionGroup var scope: Scope
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var path = try self.scope.path()
            if let range = try self.scope.range() { path += "?\(Self.query(range))" }
            try await self.remote.withClient { client in
                let answer = try await client.change("DELETE", path, [:], self.change)
                ChangeReport.print(answer, self.remote.output)
                guard self.remote.output.isTable, answer["dry_run"] != true, answer["change"] == nil else { return }
                for line in await KillReach.lines(answer, self.scope.app, client) { Console.print(line) }
            }
        }

        /// The range in the form of the API's queries.
        private static func query(_ range: VersionGate) -> String {
            let parameters = [
                ("minimum", range.minimum?.text), ("maximum", range.maximum?.text),
                ("excluded", range.excluded.isEmpty ? nil : range.excluded.map(\.text).joined(separator: ",")),
                ("minimum_build", range.minimumBuild.map { String($0) }),
            ]
            return parameters.compactMap { name, value in value.map { "\(name)=\(APIClient.escaped($0))" } }
                .joined(separator: "&")
        }
    }

    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "history",
            abstract: "Show who engaged and released kill switches, when and why. Newest first.",
            discussion: """
                pinledger kill history com.example.app --since 7d
                pinledger kill history --day 2026-11-22

                A token that may read the history of some apps sees the switches of these, and not those of every app at once.
                """)
        @Argument(help: "Show only this app with its hosts and versions, and the fleet.", completion: .apps)
        var app: String?
        @OptionGroup var period: PeriodOptions
        @Option(help: ArgumentHelp("Show at most this many.", valueName: "count")) var limit = 50
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard (1...1000).contains(self.limit) else {
                throw CommandFailure("--limit must be from 1 to 1000", status: .usage)
            }
            let parameters = ["type=\(APIClient.escaped("kill-switch.*"))", "limit=\(self.limit)"]
            let query = try (parameters + self.period.parameters()).joined(separator: "&")
            try await self.remote.withClient { client in
                var events = try await self.events(query, client)
                events.sort { $0["position"]?.integerValue ?? 0 > $1["position"]?.integerValue ?? 0 }
                ListReport.print(
                    ["events": .array(Array(events.prefix(self.limit)))], "events", self.remote.output,
                    ["TIME", "WHO", "WHAT", "WHY"]
                ) {
                    [
                        $0.time("time"), $0["actor"]?.text("name") ?? "-",
                        EventSentence($0).text, $0.text("reason"),
                    ]
                }
            }
        }

        /// The newest events that the caller may read: of the app and the fleet, else of everything, else of each app that it sees.
        private func events(_ query: String, _ client: APIClient) async throws -> [JSON] {
            func ofApp(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/history?\(query)" }
            // An app's own switches and the fleet's are in two streams.
            var pages: [JSON] = []
            if let app { pages.append(try await client.get(ofApp(app))) }
            let rest = self.app == nil ? "/v1/history?\(query)" : "/v1/history?stream=fleet&\(query)"
            let answer = try await client.send("GET", rest)
            guard answer.status == 403 else {
                try answer.check()
                return try (pages + [answer.json]).flatMap(\.events)
            }
            if self.app == nil {
                let apps = try await AppCommands.List.all(client) + AppCommands.List.all(archived: true, client)
                for app in apps {
                    let answer = try await client.send("GET", ofApp(app.text("app")))
                    // Some apps are seen without their history.
                    if answer.status == 403 { continue }
                    try answer.check()
                    pages.append(try answer.json)
                }
                // A token that may read no history gets that refusal.
                if pages.isEmpty { try answer.check() }
            }
            Console.error(
                "Kill switches of every app at once are left out: your token may read the history of some apps alone.")
            return pages.flatMap(\.events)
        }
    }
}

extension JSON {
    /// The events of a page of the history.
    fileprivate var events: [JSON] { self["events"]?.arrayValue ?? [] }
}

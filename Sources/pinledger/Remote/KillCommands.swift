import ArgumentParser
import Foundation
import NIOHTTP1
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
            abstract: "List engaged kill switches.",
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
                        $0.text("engaged_at"), $0.text("expires_at"), $0.text("in_force"),
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
            abstract: "Engage a kill switch: turn pinning off.",
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
                guard self.remote.output.isTable, answer["dry_run"] != true, answer["change"] == nil else { return }
                for line in await KillCommands.reach(answer, self.scope.app, client) { Console.print(line) }
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
            abstract: "Release a kill switch: turn pinning on again.",
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
                for line in await KillCommands.reach(answer, self.scope.app, client) { Console.print(line) }
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
            abstract: "Show who engaged and released kill switches, when and why. Newest first.",
            discussion: "pinledger kill history com.example.app --since 7d")
        @Argument(help: "Show only this app with its hosts and versions, and the fleet.") var app: String?
        @Option(help: "Show only events since then: 2026-11-22, 2026-11-22T18:30:00Z or 7d (ago).") var since: String?
        @Option(help: ArgumentHelp("Show at most this many.", valueName: "count")) var limit = 50
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard (1...1000).contains(self.limit) else {
                throw CommandFailure("--limit must be from 1 to 1000", status: .usage)
            }
            var query = "type=\(APIClient.escaped("kill-switch.*"))&limit=\(self.limit)"
            if let since = self.since { query += "&since=\(APIClient.escaped(try TimeInput.rfc3339(since, .back)))" }
            try await self.remote.withClient { client in
                // An app's own switches and the fleet's are in two streams.
                let paths =
                    self.app.map { ["/v1/apps/\(APIClient.escaped($0))/history?", "/v1/history?stream=fleet&"] }
                    ?? ["/v1/history?"]
                var events: [JSON] = []
                for path in paths { events += try await client.get(path + query)["events"]?.arrayValue ?? [] }
                events.sort { $0["position"]?.integerValue ?? 0 > $1["position"]?.integerValue ?? 0 }
                ListReport.print(
                    ["events": .array(Array(events.prefix(self.limit)))], "events", self.remote.output,
                    ["TIME", "WHO", "WHAT", "WHY"]
                ) {
                    [
                        $0.text("time"), $0["actor"]?.text("name") ?? "-",
                        EventSentence($0).text, $0.text("reason"),
                    ]
                }
            }
        }
    }

    /// When clients learn of a change of a kill switch, and which of them do not.
    fileprivate static func reach(_ answer: JSON, _ app: String?, _ client: APIClient) async -> [String] {
        guard answer["events"]?.arrayValue?.isEmpty == false else { return [] }
        var lines: [String] = []
        var age = ""
        if let app,
            case .success(let document) = await client.look("/client/v1/apps/\(APIClient.escaped(app))/document"),
            document.status == 200, let seconds = Self.maxAge(document.headers.first(name: "cache-control"))
        {
            age = ", from caches within \(seconds) s"
        }
        lines.append(
            "Clients learn of it when they next fetch their document\(age); clients with an open stream learn at once.")
        let findings = (answer["guard_rail_findings"]?.arrayValue ?? []).filter { $0["limit"] == "kill_switch" }
        let kinds = Set(findings.compactMap { $0["client"]?.stringValue }).sorted()
        if !kinds.isEmpty {
            lines.append(
                "\(kinds.count) kind\(kinds.count == 1 ? "" : "s") of deployed clients will not learn of it: \(kinds.joined(separator: ", "))."
            )
        } else if !findings.isEmpty {
            lines.append("Some deployed clients will not learn of it; see the findings.")
        }
        return lines
    }

    /// `max-age` of a Cache-Control field (RFC 9111 section 5.2.2.1).
    private static func maxAge(_ field: String?) -> Int? {
        field?.split(separator: ",").compactMap { part -> Int? in
            let text = part.trimmingCharacters(in: .whitespaces)
            return text.hasPrefix("max-age=") ? Int(text.dropFirst(8)) : nil
        }.first
    }
}

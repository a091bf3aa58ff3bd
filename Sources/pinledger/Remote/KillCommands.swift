import ArgumentParser
import Foundation
import PinWire

struct KillCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill switches: pinning off for a time, for a host, versions of an app, an app or everything.",
        discussion: "Nothing is deleted: released, everything is as before.",
        subcommands: [List.self, Engage.self, Release.self]
    )

    struct Scope: ParsableArguments {
        @Argument(help: "The app; left out only with --everything.") var app: String?
        @Argument(help: "The host; without it the whole app.") var host: String?
        @Flag(help: "Every host of every app.") var everything = false
        @Option(
            help: ArgumentHelp(
                "Only these versions of the app: 3.1.0-3.1.2, 3.1.0.. or ..3.1.2 (both ends included), or 3.1.1.",
                valueName: "range"))
        var versions: String?
        @Option(help: ArgumentHelp("A version within the range that is left out.", valueName: "version"))
        var except: [String] = []
        @Option(help: ArgumentHelp("The lowest build number that is meant.", valueName: "build"))
        var minBuild: Int64?

        /// The versions that are meant; nil for all.
        func range() throws -> VersionGate? {
            guard self.versions != nil || !self.except.isEmpty || self.minBuild != nil else { return nil }
            guard self.app != nil, self.host == nil, !self.everything else {
                throw CommandFailure("a range of versions is of an app, not of a host or everything", status: .usage)
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
        static let configuration = CommandConfiguration(abstract: "Lists engaged kill switches.")
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

    /// A range of versions as `--versions` takes it, with what else bounds it.
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
            abstract: "Turns pinning off.",
            discussion: """
                pinledger kill engage com.example.app --reason "CA incident 4711" --for 4h
                pinledger kill engage com.example.app --versions 3.1.0-3.1.2 --reason "built with the wrong pins"
                """
        )
        @OptionGroup var scope: Scope
        @Option(name: .customLong("for"), help: "How long, such as 30m, 4h or 2d; 7 days at most.") var duration = "4h"
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let expiry = Node.clock().adding(seconds: try Self.seconds(self.duration))
            var members: [String: JSON] = ["expires_at": .string(Timestamp(seconds: expiry.seconds).rfc3339)]
            members["versions"] = try self.scope.range()?.json
            try await self.remote.change("PUT", try self.scope.path(), members, self.change)
        }

        static func seconds(_ text: String) throws -> Int64 {
            let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
            guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
                (1...1_000_000).contains(count)
            else {
                throw CommandFailure("\(text) is not a time such as 30m, 4h or 2d", status: .usage)
            }
            return count * unit
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Turns pinning on again.")
        @OptionGroup var scope: Scope
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var path = try self.scope.path()
            if let range = try self.scope.range() { path += "?\(Self.query(range))" }
            try await self.remote.change("DELETE", path, self.change)
        }

        /// The range as the API has it in queries.
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
}

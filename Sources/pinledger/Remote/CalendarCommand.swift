import ArgumentParser
import Foundation
import PinWire

struct CalendarCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calendar", abstract: "What of an app expires, ends or falls due, and when.",
        discussion: """
            pinledger calendar com.example.app
            pinledger calendar feed add com.example.app

            Calendar programs subscribe to the secret address that `feed add` prints. Those that ask for a password can \
            also take SERVER/v1/apps/APP/calendar.ics, with an API token as the password and any user name.
            """,
        subcommands: [CalendarCommand.self, Feed.self], defaultSubcommand: CalendarCommand.self
    )

    struct Feed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Secret addresses at which an app's calendar can be read, and nothing else.",
            subcommands: [List.self, Add.self, Revoke.self]
        )

        static func path(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/calendar-feeds" }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Lists an app's feeds; their addresses are never shown again.")
            @Argument var app: String
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.withClient { client in
                    ListReport.print(
                        try await client.get(Feed.path(self.app)), "feeds", self.remote.output,
                        ["ID", "NAME", "CREATED", "EXPIRES", "REVOKED"]
                    ) {
                        [
                            $0.text("feed_id"), $0.text("name"), $0.text("created_at"), $0.text("expires_at"),
                            $0.text("revoked_at"),
                        ]
                    }
                }
            }
        }

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Makes an address and shows it, this once.",
                discussion: "Whoever has the address can read the app's calendar until it is revoked or expires."
            )
            @Argument var app: String
            @Option(help: "Who or what will read it.") var name: String?
            @Option(
                name: .customLong("for"),
                help:
                    "How long it is valid, such as 90d, or until when (2027-06-30); 366 days at most, 365 if left out."
            )
            var duration: String?
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                var members: [String: JSON] = [:]
                members["name"] = self.name.map { .string($0) }
                if let duration = self.duration {
                    let expiry = Node.clock().adding(seconds: try TimeInput.seconds(duration))
                    members["expires_at"] = .string(Timestamp(seconds: expiry.seconds).rfc3339)
                }
                try await self.remote.withClient { client in
                    let json = try await client.change("POST", Feed.path(self.app), members, self.change)
                    guard let path = json["path"]?.stringValue, self.remote.output == .table else {
                        ChangeReport.print(json, self.remote.output)
                        guard json["path"] != nil || json["dry_run"] == true else {
                            throw CommandFailure(
                                "it is recorded, and its address was in an answer that was lost",
                                advice:
                                    "Revoke it (`pinledger calendar feed list \(self.app)` has the id; `pinledger calendar feed revoke \(self.app) ID`) and make another one."
                            )
                        }
                        return
                    }
                    Console.error("The address of \(json.text("feed_id")), shown this once:")
                    Console.print(client.base + path)
                }
            }
        }

        struct Revoke: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Makes an address show nothing from now on.")
            @Argument var app: String
            @Argument(help: "cal_…") var id: String
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.change(
                    "DELETE", "\(Feed.path(self.app))/\(APIClient.escaped(self.id))", self.change)
            }
        }
    }
}

struct CalendarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows what of an app expires, ends or falls due, and when.")

    @Argument var app: String
    @Flag(help: "Print it as iCalendar.") var ics = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let path = "/v1/apps/\(APIClient.escaped(self.app))/calendar"
        try await self.remote.withClient { client in
            if self.ics {
                let answer = try await client.send("GET", "\(path).ics")
                try answer.check()
                return Console.write(answer.body)
            }
            let json = try await client.get(path)
            guard self.remote.output == .table else { return Console.print(json.canonicalText) }
            let entries = json["entries"]?.arrayValue ?? []
            guard !entries.isEmpty else { return Console.error("Nothing is known to expire.") }
            var table = Table(["DATE", "KIND", "HOST", "WHAT"])
            for entry in entries {
                table.add([entry.text("date"), entry.text("kind"), entry.text("host"), entry.text("summary")])
            }
            Console.print(table.text)
            if json["truncated"] == true { Console.error("Later dates are left out.") }
        }
    }
}

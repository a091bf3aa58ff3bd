import ArgumentParser
import Foundation
import PinWire

struct CalendarCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calendar", abstract: "List an app's upcoming expiries and deadlines.",
        discussion: """
            pinledger calendar com.example.app
            pinledger calendar feed create com.example.app

            Calendar programs subscribe to the secret address that `feed create` prints. Programs that ask for a \
            password can also use SERVER/v1/apps/APP/calendar.ics, with an API token as the password and any user \
            name.
            """,
        subcommands: [CalendarCommand.self, Feed.self], defaultSubcommand: CalendarCommand.self
    )

    struct Feed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "feed", abstract: "Manage secret addresses that show an app's calendar and nothing else.",
            subcommands: [List.self, Create.self, Revoke.self]
        )

        static func path(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/calendar-feeds" }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List an app's feeds, without their addresses.",
                discussion: "pinledger calendar feed list com.example.app")
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.withClient { client in
                    ListReport.print(
                        try await client.get(Feed.path(self.app)), "feeds", self.remote.output,
                        ["ID", "NAME", "CREATED", "EXPIRES", "REVOKED"]
                    ) {
                        [
                            $0.text("feed_id"), $0.text("name"), $0.time("created_at"), $0.time("expires_at"),
                            $0.time("revoked_at"),
                        ]
                    }
                }
            }
        }

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "create", abstract: "Create an address and show it. It is shown only once.",
                discussion: """
                    pinledger calendar feed create com.example.app --name "on call" --for 90d

                    Anyone with the address can read the app's calendar until it is revoked or expires.
                    """
            )
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @Option(help: "Who or what will read it.") var name: String?
            @Option(
                name: .customLong("for"),
                help:
                    "How long the address is valid, such as 90d, or until when (2027-06-30). Default: 365 days; at most 366."
            )
            var duration: String?
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
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
                    guard let path = json["path"]?.stringValue, self.remote.output.isTable else {
                        ChangeReport.print(json, self.remote.output)
                        guard json["path"] != nil || json["dry_run"] == true else {
                            throw CommandFailure(
                                "the feed was created, but the response with its address was lost",
                                advice:
                                    "Revoke it (`pinledger calendar feed list \(self.app)` has the id; `pinledger calendar feed revoke \(self.app) ID`) and create another."
                            )
                        }
                        return
                    }
                    Console.error("The address of \(json.text("feed_id")), shown only once:")
                    Console.print(client.base + path)
                }
            }
        }

        struct Revoke: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "revoke", abstract: "Revoke an address at once.",
                discussion: "pinledger calendar feed revoke com.example.app cal_01J8Z3KQ5T")
            @Argument(help: "The app's id.", completion: .apps) var app: String
            @Argument(help: "The feed's id (cal_…).") var id: String
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
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
        commandName: "show", abstract: "List an app's upcoming expiries and deadlines.",
        discussion: "pinledger calendar show com.example.app --ics")

    @Argument(help: "The app's id.", completion: .apps) var app: String
    @Flag(help: "Print iCalendar.") var ics = false
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
            guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
            let entries = json["entries"]?.arrayValue ?? []
            guard !entries.isEmpty else { return Console.error("No expiry or deadline is known.") }
            var table = Table(["DATE", "KIND", "HOST", "WHAT"])
            for entry in entries {
                table.add([entry.text("date"), entry.text("kind"), entry.text("host"), entry.text("summary")])
            }
            Console.print(table)
            if json["truncated"] == true { Console.error("The list is cut off: later dates are not shown.") }
        }
    }
}

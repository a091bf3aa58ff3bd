import ArgumentParser
import Foundation
import PinWire

struct CalendarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calendar", abstract: "Shows what of an app expires, ends or falls due, and when.",
        discussion: """
            Calendar programs subscribe to SERVER/v1/apps/APP/calendar.ics; the password they ask for is an API token, \
            and any user name will do.
            """
    )

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

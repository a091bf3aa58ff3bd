import ArgumentParser
import PinWire
import Webhooks

extension WebhookCommands {
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test", abstract: "Send a signed test message and show the result.",
            discussion: "pinledger webhook test whk_01J8Z3KQ5T")
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let answer = try await client.send(
                    "POST", "\(WebhookCommands.path(self.id))/test", body: Array("{}".utf8))
                try answer.check()
                let json = try answer.json
                guard json["delivered"] == true else {
                    if !self.remote.output.isTable { Console.print(json, self.remote.output) }
                    throw CommandFailure("the test was not delivered: \(json.text("error"))")
                }
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Console.print(
                    "Delivered \(json.text("id")): \(json.text("status")) in \(json.text("milliseconds")) ms.")
            }
        }
    }

    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deliveries", abstract: "List a webhook's deliveries, newest event first.",
            discussion: """
                pinledger webhook deliveries whk_01J8Z3KQ5T --state failed

                Finished deliveries are kept for 30 days.
                """
        )
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @Option(help: "Show only deliveries in this state.") var state: DeliveryState?
        @Option(help: ArgumentHelp("Show at most this many.", valueName: "count")) var limit = 50
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard self.limit > 0 else { throw CommandFailure("--limit must be at least 1", status: .usage) }
            let filter = self.state.map { ["state=\($0.rawValue)"] } ?? []
            try await self.watching.with(self.remote) { client in
                var deliveries: [JSON] = []
                var cursor: String?
                repeat {
                    let query =
                        filter + ["limit=\(min(1000, self.limit - deliveries.count))"]
                        + (cursor.map { ["cursor=\($0)"] } ?? [])
                    let path = "\(WebhookCommands.path(self.id))/deliveries?\(query.joined(separator: "&"))"
                    let json = try await client.get(path)
                    deliveries += json["deliveries"]?.arrayValue ?? []
                    cursor = json["next_cursor"]?.stringValue
                } while cursor != nil && deliveries.count < self.limit
                ListReport.print(
                    ["deliveries": .array(deliveries)], "deliveries", self.remote.output,
                    ["POSITION", "STREAM", "TYPE", "STATE", "ATTEMPTS", "STATUS", "NEXT", "ERROR"]
                ) {
                    [
                        $0.text("position"), $0.text("stream"), $0.text("type"), $0.text("state"), $0.text("attempts"),
                        $0.text("last_status"), $0.time("next_attempt_at"), $0.text("last_error"),
                    ]
                }
            }
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay", abstract: "Send events again, with the same ids.",
            discussion: """
                pinledger webhook replay whk_01J8Z3KQ5T 4711
                pinledger webhook replay whk_01J8Z3KQ5T --from 4000 --until 4711

                With --from and --until, all events of that range that pass the filters are sent again; at most 10000.
                """
        )
        @Argument(help: "The webhook's id (whk_…).", completion: .webhooks) var id: String
        @Argument(help: "Position of the event to send again.") var position: Int64?
        @Option(help: ArgumentHelp("First position of a range.", valueName: "position")) var from: Int64?
        @Option(help: ArgumentHelp("Position after the last one of the range.", valueName: "position")) var until:
            Int64?
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path: String
            let body: JSON
            switch (self.position, self.from, self.until) {
            case (let position?, nil, nil):
                (path, body) = ("\(WebhookCommands.path(self.id))/deliveries/\(position)/replay", [:])
            case (nil, let from?, let until?):
                path = "\(WebhookCommands.path(self.id))/replay"
                body = ["from_position": .integer(from), "until_position": .integer(until)]
            default: throw CommandFailure("give a position, or --from and --until", status: .usage)
            }
            try await self.remote.withClient { client in
                let answer = try await client.send("POST", path, body: body.canonicalBytes)
                try answer.check()
                let json = try answer.json
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Console.print("Events to send again: \(json.text("replayed")).")
            }
        }
    }
}

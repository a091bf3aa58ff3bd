import ArgumentParser
import PinWire

extension WebhookCommands {
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends a signed message of no event, and says what came of it.")
        @Argument(help: "whk_…") var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let answer = try await client.send(
                    "POST", "\(WebhookCommands.path(self.id))/test", body: Array("{}".utf8))
                try answer.check()
                let json = try answer.json
                guard json["delivered"] == true else {
                    if self.remote.output == .json { Console.print(json.canonicalText) }
                    throw CommandFailure("the test was not delivered: \(json.text("error"))")
                }
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                Console.print(
                    "Delivered \(json.text("id")): \(json.text("status")) in \(json.text("milliseconds")) ms.")
            }
        }
    }

    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists what was sent and what waits, the newest event first; settled ones for 30 days.")
        @Argument(help: "whk_…") var id: String
        @Option(help: "Only those that are pending, failed, delivered or dead.") var state: String?
        @Option(help: "How many at the most.") var limit = 50
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard self.limit > 0 else { throw CommandFailure("--limit must be at least 1", status: .usage) }
            let filter = self.state.map { ["state=\(APIClient.escaped($0))"] } ?? []
            try await self.remote.withClient { client in
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
                        $0.text("last_status"), $0.text("next_attempt_at"), $0.text("last_error"),
                    ]
                }
            }
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends events again, with the same ids.",
            discussion: """
                pinledger webhook replay whk_… 4711 sends one delivery again; with --from and --until, all events of that \
                range that pass the filters, at most 10000.
                """
        )
        @Argument(help: "whk_…") var id: String
        @Argument(help: "The position of one delivery.") var position: Int64?
        @Option(help: ArgumentHelp("The first position of a range.", valueName: "position")) var from: Int64?
        @Option(help: ArgumentHelp("The position behind the range.", valueName: "position")) var until: Int64?
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
            default: throw CommandFailure("name a position, or give --from and --until", status: .usage)
            }
            try await self.remote.withClient { client in
                let answer = try await client.send("POST", path, body: body.canonicalBytes)
                try answer.check()
                let json = try answer.json
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                Console.print("To be sent again: \(json.text("replayed")).")
            }
        }
    }
}

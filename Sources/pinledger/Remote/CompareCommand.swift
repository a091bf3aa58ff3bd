import ArgumentParser
import PinWire

extension AppCommands {
    struct Compare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compare", abstract: "Show what differs in an app and its document between two moments.",
            discussion: """
                pinledger app compare com.example.app --from 7d
                pinledger app compare com.example.app --from 42 --to 60
                pinledger app compare com.example.app --from 2026-11-01 --to 2026-11-22T18:30:00Z --text

                A number is a position, as `history` shows it: the moment before the event with this position. Everything \
                else is a time: with --from a date is its beginning, with --to its end (UTC), so that one date with both is a \
                whole day. Without --to it is compared with the present.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "First moment: a position, or a time \(TimeInput.moments) or 7d (ago).") var from: String
        @Option(help: "Second moment, written like --from. Default: now.") var to: String?
        @Flag(help: "Show the two documents' lines instead, as `diff -u` does.") var text = false
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let first = try MomentInput(self.from)
            let second = try self.to.map { try MomentInput(end: $0) }
            if let to, let second { try first.check(before: second, self.from, to) }
            try await self.remote.withClient { client in
                let app = "/v1/apps/\(APIClient.escaped(self.app))"
                let query = [first.query(prefix: "from_"), second?.query(prefix: "to_")].compactMap(\.self)
                let json = try await client.get("\(app)/differences?\(query.joined(separator: "&"))")
                if self.text { return try await self.printLines(json, app, client) }
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                Console.print("\(Self.text(json["from"])) -> \(Self.text(json["to"]))")
                self.printItems("Settings:", json["settings"])
                self.printItems("Document:", json["document"])
            }
        }

        private static func text(_ moment: JSON?) -> String {
            guard let moment else { return "-" }
            return "position \(moment.text("position")), version \(moment.text("version"))"
        }

        private func printItems(_ title: String, _ items: JSON?) {
            let lines = DifferenceLine.lines(items?.arrayValue ?? [])
            Console.print(title)
            for line in lines.isEmpty ? ["nothing differs"] : lines { Console.print("  " + line) }
        }

        /// The documents as text at exactly the two positions that were compared, with what differs marked.
        private func printLines(_ json: JSON, _ app: String, _ client: APIClient) async throws {
            var texts: [[String]] = []
            for name in ["from", "to"] {
                let position = json[name]?.text("position") ?? "-"
                texts.append(
                    IndentedJSON.lines(of: try await client.get("\(app)/document/content?position=\(position)")))
            }
            let names = ["from", "to"].map { "\(self.app) at \(Self.text(json[$0]))" }
            for line in LineDifference(texts[0], texts[1]).unified(names[0], names[1]) { Console.print(line) }
        }
    }
}

/// A moment of the ledger as people write it: a position or a time.
private struct MomentInput {
    private enum Place {
        case position(Int64)
        case time(Timestamp)
        case present
    }

    private let place: Place

    /// The moment; a date is its beginning.
    init(_ text: String) throws(CommandFailure) {
        if let position = try Self.position(text) {
            self.place = .position(position)
        } else {
            self.place = .time(try TimeInput.moment(text, .back))
        }
    }

    /// The moment at the end of what is compared: a date is its end.
    init(end text: String) throws(CommandFailure) {
        if let position = try Self.position(text) {
            self.place = .position(position)
        } else if let time = try TimeInput.pastMoment(text) {
            self.place = .time(time)
        } else {
            self.place = .present
        }
    }

    private static func position(_ text: String) throws(CommandFailure) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        guard let position = Int64(text), position <= JSON.largestInteger else {
            throw CommandFailure("\(text) is not a position", status: .usage)
        }
        return position
    }

    /// Refuses a first moment that is later than the second, where both are of one kind.
    func check(before other: MomentInput, _ text: String, _ otherText: String) throws(CommandFailure) {
        switch (self.place, other.place) {
        case (.position(let first), .position(let second)) where first > second:
            throw CommandFailure(
                "--from \(text) is later than --to \(otherText): the two are swapped",
                advice: "Give the earlier moment with --from.", status: .usage)
        case (.time(let first), .time(let second)):
            try TimeInput.checkOrder(("--from", text, first), ("--to", otherText, second))
        default: break
        }
    }

    /// The parameter of a query; nil for the present.
    func query(prefix: String) -> String? {
        switch self.place {
        case .position(let position): "\(prefix)position=\(position)"
        case .time(let time): "\(prefix)at=\(APIClient.escaped(time.rfc3339))"
        case .present: nil
        }
    }
}

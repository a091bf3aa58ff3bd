import ArgumentParser
import PinWire

extension AppCommands {
    struct Compare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what differs in an app and its document between two moments.",
            discussion: """
                pinledger app compare com.example.app --from 7d
                pinledger app compare com.example.app --from 42 --to 60
                pinledger app compare com.example.app --from 2026-11-01 --to 2026-11-22T18:30:00Z --text

                A number is a position, as `history` shows it: the moment before the event with this position. Everything \
                else is a time. Without --to it is compared with the present.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "First moment: a position, or a time \(TimeInput.moments) or 7d (ago).") var from: String
        @Option(help: "Second moment, written like --from. Default: now.") var to: String?
        @Flag(help: "Show the two documents' lines instead, as `diff -u` does.") var text = false
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let first = try MomentInput(self.from)
            let second = try self.to.map { try MomentInput($0) }
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
            let lines = (items?.arrayValue ?? []).compactMap(DifferenceLine.text)
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
    private let parameter: String

    init(_ text: String) throws(CommandFailure) {
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            guard let position = Int64(text), position <= JSON.largestInteger else {
                throw CommandFailure("\(text) is not a position", status: .usage)
            }
            self.parameter = "position=\(position)"
        } else {
            self.parameter = "at=\(APIClient.escaped(try TimeInput.rfc3339(text, .back)))"
        }
    }

    func query(prefix: String) -> String { prefix + self.parameter }
}

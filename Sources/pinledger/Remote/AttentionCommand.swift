import ArgumentParser
import Foundation
import PinWire
import Pinning

struct AttentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attention", abstract: "Show what needs attention, most severe first.",
        discussion: """
            pinledger attention com.example.app
            pinledger attention --severity urgent --exit-code

            urgent: clients are locked out or unprotected, or will be within days. soon: there is something to do, and \
            time to do it. info: good to know. `pinledger explain CODE` explains an item that has a code.
            """
    )

    @Argument(help: "One app. Default: all.", completion: .apps) var app: String?
    @Option(help: ArgumentHelp("Show only this severity.", valueName: "severity")) var severity: AttentionItem.Severity?
    @Flag(help: "Exit with 1 if anything is urgent.") var exitCode = false
    @OptionGroup var watching: WatchOption
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        try await self.watching.repeating {
            let query = [("app", self.app), ("severity", self.severity?.rawValue)].compactMap { name, value in
                value.map { "\(name)=\(APIClient.escaped($0))" }
            }
            let path = "/v1/attention" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
            let json = try await self.remote.withClient { try await $0.get(path) }
            if self.remote.output.isTable { AttentionText.print(json) } else { Console.print(json, self.remote.output) }
            if self.exitCode, json["counts"]?["urgent"]?.integerValue ?? 0 > 0 {
                throw ExitCode(ExitStatus.failure.rawValue)
            }
        }
    }
}

/// What needs attention, for people.
enum AttentionText {
    static func print(_ json: JSON) {
        let items = json["items"]?.arrayValue ?? []
        guard !items.isEmpty else { return Console.error("Nothing needs attention.") }
        var table = Table(["SEVERITY", "CODE", "APP", "HOST", "WHAT"])
        for item in items {
            table.add([
                item.text("severity"), item.text("code"), item.text("app"), item.text("host"), item.said("detail"),
            ])
            table.add(["", "", "", "", "-> \(item.said("remedy"))"])
        }
        Console.print(table)
        guard json["truncated"] == true else { return }
        Console.error("The list is cut off. Name an app or a --severity to see the rest.")
    }
}

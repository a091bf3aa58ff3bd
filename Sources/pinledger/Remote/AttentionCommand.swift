import ArgumentParser
import Foundation
import PinWire

struct AttentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attention", abstract: "Shows what needs attention, the gravest first.",
        discussion: """
            urgent: clients are locked out or unprotected, or will be within days. soon: something is to be done, and \
            there is time for it. info: good to know. `pinledger explain CODE` has more on what has a code.
            """
    )

    @Argument(help: "One app; without it all.") var app: String?
    @Option(help: ArgumentHelp("Only urgent, soon or info.", valueName: "severity")) var severity: String?
    @Flag(help: "End with 1 if anything is urgent.") var exitCode = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let query = [("app", self.app), ("severity", self.severity)].compactMap { name, value in
            value.map { "\(name)=\(APIClient.escaped($0))" }
        }
        let path = "/v1/attention" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        let json = try await self.remote.withClient { try await $0.get(path) }
        if self.remote.output == .table { AttentionText.print(json) } else { Console.print(json.canonicalText) }
        if self.exitCode, json["counts"]?["urgent"]?.integerValue ?? 0 > 0 {
            throw ExitCode(ExitStatus.failure.rawValue)
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
                item.text("severity"), item.text("code"), item.text("app"), item.text("host"), item.text("detail"),
            ])
            table.add(["", "", "", "", "-> \(item.text("remedy"))"])
        }
        Console.print(table.text)
        guard json["truncated"] == true else { return }
        Console.error("There is more than is shown: name an app, or a --severity.")
    }
}

import ArgumentParser
import PinWire
import Pinning

struct CompatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compat",
        abstract: "Show how deployed clients see an app's hosts, and what they cannot express.",
        discussion: """
            pinledger compat com.example.shop
            pinledger compat com.example.shop --client trustkit_ios
            pinledger compat com.example.shop --change chg_4kQ9sXb2Lw8ZtR7c

            A kind of client sees a host as stated (as_stated), differently in part (differs), or its format cannot \
            express the current state (not_expressible). A finding "differs" means the client enforces less, more or \
            something else; "breaks" means it refuses connections that should work, or crashes.
            """
    )

    @Argument(help: "The app's id.", completion: .apps) var app: String
    @Option(help: ArgumentHelp("Show only this kind, declared or not.", valueName: "kind")) var client: ClientKind?
    @Option(help: ArgumentHelp("Show it as it would be after this proposed change (chg_…).", valueName: "id"))
    var change: String?
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        var query: [String] = []
        if let client = self.client { query.append("client=\(client.rawValue)") }
        if let change = self.change { query.append("change_id=\(APIClient.escaped(change))") }
        let path =
            "/v1/apps/\(APIClient.escaped(self.app))/compat" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        let json = try await self.remote.withClient { try await $0.get(path) }
        guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
        Self.print(json)
    }

    private static func print(_ json: JSON) {
        let clients = json["clients"]?.arrayValue ?? []
        guard !clients.isEmpty else {
            return Console.error(
                "No kind of client is declared. Declare one (`pinledger client set APP KIND`), or name one with --client."
            )
        }
        var table = Table(["HOST", "CLIENT", "SEES", "WORST", "LIMITS"])
        for host in json["hosts"]?.arrayValue ?? [] {
            for cell in host["clients"]?.arrayValue ?? [] {
                let limits = (cell["limits"]?.arrayValue ?? []).compactMap(\.stringValue)
                table.add([
                    host.text("host"), cell.text("client"), cell.text("sees"), cell.text("severity"),
                    limits.isEmpty ? "-" : limits.joined(separator: ", "),
                ])
            }
        }
        Console.print(table)
        for client in clients {
            let findings = client["findings"]?.arrayValue ?? []
            Console.print("")
            Console.print(
                "\(client.text("title")) (\(client.text("client"))):\(findings.isEmpty ? " no findings." : "")")
            for finding in findings {
                let place = finding["host"]?.stringValue.map { " \($0)" } ?? ""
                Console.print(
                    "  \(finding.text("severity"))\(place): \(finding.said("detail"))  [\(finding.text("limit"))]")
                Console.print("    -> \(finding.said("remedy"))")
            }
            let further = (client["findings_total"]?.integerValue ?? 0) - Int64(findings.count)
            if further > 0 { Console.error("\(further) more findings are not shown.") }
        }
    }
}

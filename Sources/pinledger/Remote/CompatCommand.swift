import ArgumentParser
import PinWire

struct CompatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compat",
        abstract: "Shows what an app's deployed clients make of its state, and cannot do with it.",
        discussion: """
            pinledger compat com.example.shop
            pinledger compat com.example.shop --client trustkit_ios

            Of each host a kind of client sees what is stated (as_stated), something else in part (differs), or cannot \
            be told what holds now (not_expressible). Of findings, differs: it enforces less, more or something else; \
            breaks: it refuses connections that should work, or ends.
            """
    )

    @Argument var app: String
    @Option(help: ArgumentHelp("Only this kind, declared or not.", valueName: "kind")) var client: String?
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        var path = "/v1/apps/\(APIClient.escaped(self.app))/compat"
        if let client = self.client { path += "?client=\(APIClient.escaped(client))" }
        let json = try await self.remote.withClient { try await $0.get(path) }
        guard self.remote.output == .table else { return Console.print(json.canonicalText) }
        Self.print(json)
    }

    private static func print(_ json: JSON) {
        let clients = json["clients"]?.arrayValue ?? []
        guard !clients.isEmpty else {
            return Console.error(
                "No kind of client is declared: `pinledger client set APP KIND`, or name one with --client.")
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
        Console.print(table.text)
        for client in clients {
            let findings = client["findings"]?.arrayValue ?? []
            Console.print("")
            Console.print(
                "\(client.text("title")) (\(client.text("client"))):\(findings.isEmpty ? " nothing to say." : "")")
            for finding in findings {
                let place = finding["host"]?.stringValue.map { " \($0)" } ?? ""
                Console.print(
                    "  \(finding.text("severity"))\(place): \(finding.text("detail"))  [\(finding.text("limit"))]")
                Console.print("    -> \(finding.text("remedy"))")
            }
            let further = (client["findings_total"]?.integerValue ?? 0) - Int64(findings.count)
            if further > 0 { Console.error("\(further) further findings are left out.") }
        }
    }
}

import ArgumentParser
import PinledgerServer
import Pinning

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Explains a guard rail: what it asks, why, and what to do.",
        discussion: "pinledger explain G07"
    )

    @Argument(help: "The guard rail's code; without it the list of all.") var code: String?

    func run() throws {
        guard let code else {
            var table = Table(["CODE", "SEVERITY", "RULE"])
            for rail in GuardRail.allCases {
                table.add([rail.code, rail.entry.severity.rawValue, rail.entry.title])
            }
            return Console.print(table.text)
        }
        guard let rail = GuardRail(rawValue: code.uppercased()) else {
            throw CommandFailure(
                "there is no guard rail \(code)", advice: "`pinledger explain` lists all.", status: .notFound)
        }
        Console.print(GuardRailPages.text(of: rail))
    }
}

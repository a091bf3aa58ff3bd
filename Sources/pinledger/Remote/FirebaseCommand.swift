import ArgumentParser
import PinWire

struct FirebaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "firebase", abstract: "Show whether an app's Firebase project is up to date.",
        discussion: """
            pinledger firebase com.example.shop

            The answer is what one node knows. Each node with an account of the project pushes by itself, and forgets \
            what it did when it stops.
            """
    )

    @Argument(help: "The app's id.", completion: .apps) var app: String
    @Flag(help: "Exit with 1 if the project is not up to date.") var exitCode = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let path = "/v1/apps/\(APIClient.escaped(self.app))/firebase"
        let json = try await self.remote.withClient { try await $0.get(path) }
        if self.remote.output.isTable { Self.print(json) } else { Console.print(json, self.remote.output) }
        if self.exitCode, json["in_step"] != true { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private static func print(_ json: JSON) {
        var table = Table(["WHAT", "VALUE"])
        let names = ["project", "firebase_app", "last_success_at", "position", "template_version"]
        table.add(["in_step", json["in_step"] == true ? "yes" : "no"])
        table.add(["pushed_by_this_node", json["pushed_by_this_node"] == true ? "yes" : "no"])
        for name in names {
            if let value = json[name] { table.add([name, value.stringValue ?? value.canonicalText]) }
        }
        if let withheld = json["rollouts_withheld"]?.stringValue { table.add(["rollouts_withheld", withheld]) }
        for condition in json["foreign_conditions"]?.arrayValue ?? [] {
            table.add([
                "foreign_condition",
                (condition.stringValue ?? "") + (json["foreign_conditions_apply"] == false ? " (never holds)" : ""),
            ])
        }
        if let trouble = json["trouble"] {
            table.add(["trouble", trouble.said("detail")])
            if trouble["advice"] != nil { table.add(["", "-> \(trouble.said("advice"))"]) }
        }
        Console.print(table)
        if json["project"] == nil {
            Console.error("The app names no project. Set `firebase_project` in the settings of remote_config.")
        }
    }
}

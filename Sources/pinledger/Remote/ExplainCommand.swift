import ArgumentParser
import PinWire
import PinledgerServer
import Pinning

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain what a device gets and why, now or in the past. Or explain a guard rail.",
        discussion: """
            pinledger explain com.example.shop api.example.com --install-id 3q2-7w --app-version 3.1.0
            pinledger explain com.example.shop --install-id 3q2-7w --at 2026-03-03T12:00:00Z
            pinledger explain G07

            Without a host, the command explains every host of the app. Device data is neither stored nor logged.
            """
    )

    @Argument(help: "An app or a guard rail's code. Default: list all guard rails.") var subject: String?
    @Argument(help: "Host names that the device connects to.") var hosts: [String] = []
    @OptionGroup var device: DeviceOptions
    @OptionGroup var moment: MomentOptions
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        guard let subject else {
            var table = Table(["CODE", "SEVERITY", "RULE"])
            for rail in GuardRail.allCases {
                table.add([rail.code, rail.entry.severity.rawValue, rail.entry.title])
            }
            return Console.print(table.text)
        }
        if let rail = GuardRail(rawValue: subject.uppercased()) { return Console.print(GuardRailPages.text(of: rail)) }
        if Self.isCode(subject) {
            throw CommandFailure(
                "there is no guard rail \(subject)", advice: "`pinledger explain` lists all.", status: .notFound)
        }
        let question = JSON.members([
            "device": self.device.json,
            "hosts": self.hosts.isEmpty ? nil : .array(self.hosts.map { .string($0) }),
            "at": try self.moment.time.map { .string($0) },
            "position": try self.moment.place.map { .integer($0) },
        ])
        try await self.remote.withClient { client in
            let path = "/v1/apps/\(APIClient.escaped(subject))/explain"
            let answer = try await client.send("POST", path, body: question.canonicalBytes)
            try answer.check()
            let json = try answer.json
            if !self.remote.output.isTable { Console.print(json, self.remote.output) } else { Self.print(json) }
        }
    }

    /// Whether a text looks like a guard rail's code.
    private static func isCode(_ text: String) -> Bool {
        text.utf8.count == 3 && text.uppercased().hasPrefix("G") && Int(text.dropFirst()) != nil
    }

    private static func print(_ json: JSON) {
        Console.print(
            "\(json.text("app")), version \(json.text("version")) (after \(json.text("position")) events), at \(json.text("evaluated_at"))"
        )
        for host in json["hosts"]?.arrayValue ?? [] {
            Console.print("")
            Console.print("\(host.text("name")): \(host.text("outcome"))\(Self.arm(host))")
            for pin in host["pins"]?.arrayValue ?? [] {
                Console.print("  \(pin.text("pin"))  \(pin.text("role"))")
            }
            for step in host["trace"]?.arrayValue ?? [] {
                Console.print("  \(step.text("rule")): \(step.text("detail"))  [\(step.text("reason"))]")
            }
        }
    }

    private static func arm(_ host: JSON) -> String {
        host["arm"]?.stringValue.map { " (\($0))" } ?? ""
    }
}

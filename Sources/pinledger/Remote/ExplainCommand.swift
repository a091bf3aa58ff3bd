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
            pinledger explain com.example.shop api.example.com --day 2026-03-03
            pinledger explain G07

            Without a host, the command explains every host of the app. With --day it explains each state that held at some \
            time of the day, one after the other; that takes history.read. Device data is neither stored nor logged.
            """
    )

    @Argument(help: "An app or a guard rail's code. Default: list all guard rails.") var subject: String?
    @Argument(help: "Host names that the device connects to.") var hosts: [String] = []
    @OptionGroup var device: DeviceOptions
    @OptionGroup var moment: MomentOptions
    @Option(help: ArgumentHelp("At any time of this day (UTC): 2026-11-22.", valueName: "date")) var day: String?
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        guard let subject else {
            var table = Table(["CODE", "SEVERITY", "RULE"])
            for rail in GuardRail.allCases {
                table.add([rail.code, rail.entry.severity.rawValue, rail.entry.title])
            }
            return Console.print(table)
        }
        if let rail = GuardRail(rawValue: subject.uppercased()) { return Console.print(GuardRailPages.text(of: rail)) }
        if Self.isCode(subject) {
            throw CommandFailure(
                "there is no guard rail \(subject)", advice: "`pinledger explain` lists all.", status: .notFound)
        }
        if let day { return try await self.explain(subject, on: day) }
        let question = try self.question(at: self.moment.time, self.moment.place)
        try await self.remote.withClient { client in
            let json = try await Self.answer(question, subject, client)
            if !self.remote.output.isTable { Console.print(json, self.remote.output) } else { Self.print(json) }
        }
    }

    private func explain(_ app: String, on day: String) async throws {
        guard self.moment.at == nil, self.moment.position == nil, self.moment.event == nil else {
            throw CommandFailure("give --day or one moment, not both", status: .usage)
        }
        let times = try TimeInput.wholeDay(day)
        try await self.remote.withClient { client in
            let periods = try await DayPeriods(of: app, in: times, client) { time, position in
                try await Self.answer(try self.question(at: time, position), app, client)
            }
            guard !periods.list.isEmpty else {
                throw CommandFailure("\(app) had no document on \(day): it did not exist yet", status: .notFound)
            }
            guard self.remote.output.isTable else {
                return Console.print(["periods": .array(periods.list.map(\.json))], self.remote.output)
            }
            for (number, period) in periods.list.enumerated() {
                if number > 0 { Console.print("") }
                let isOpen = period.until == periods.end && periods.end < times.upperBound
                let until = isOpen ? "now" : LocalTime.text(period.until)
                Console.print("From \(LocalTime.text(period.since)) until \(until):")
                Self.print(period.answer)
            }
        }
    }

    private func question(at time: String?, _ position: Int64?) throws -> JSON {
        JSON.members([
            "device": self.device.json,
            "hosts": self.hosts.isEmpty ? nil : .array(self.hosts.map { .string($0) }),
            "at": time.map { .string($0) },
            "position": position.map { .integer($0) },
        ])
    }

    private static func answer(_ question: JSON, _ app: String, _ client: APIClient) async throws -> JSON {
        let path = "/v1/apps/\(APIClient.escaped(app))/explain"
        let answer = try await client.send("POST", path, body: question.canonicalBytes)
        try answer.check()
        return try answer.json
    }

    /// Whether a text looks like a guard rail's code.
    private static func isCode(_ text: String) -> Bool {
        text.utf8.count == 3 && text.uppercased().hasPrefix("G") && Int(text.dropFirst()) != nil
    }

    private static func print(_ json: JSON) {
        Console.print(
            "\(json.text("app")), version \(json.text("version")) (after \(json.text("position")) events), at \(json.time("evaluated_at"))"
        )
        for host in json["hosts"]?.arrayValue ?? [] {
            Console.print("")
            Console.print("\(host.text("name")): \(host.text("outcome"))\(Self.arm(host))")
            for pin in host["pins"]?.arrayValue ?? [] {
                Console.print("  \(pin.text("pin"))  \(pin.text("role"))")
            }
            for step in host["trace"]?.arrayValue ?? [] {
                Console.print("  \(step.text("rule")): \(step.said("detail"))  [\(step.text("reason"))]")
            }
        }
    }

    private static func arm(_ host: JSON) -> String {
        host["arm"]?.stringValue.map { " (\($0))" } ?? ""
    }
}

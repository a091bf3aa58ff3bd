import ArgumentParser
import PinWire

/// Shows whether pinned clients survive renewals.
struct ForecastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forecast",
        abstract: "Show whether clients survive the renewals of certificates, now and as certificates get shorter.",
        discussion: """
            pinledger forecast com.example.app
            pinledger forecast com.example.app --adoption-days 14 --exit-code

            The pin of the next key has to reach clients before a renewal brings the key. What is left then is the slack, in \
            days. How long clients take is measured (`pinledger app adoption APP`), or given with --adoption-days. With --exit-code \
            the command ends with 1 unless every host survives: what is unknown is not taken for fine.
            """)

    @Argument(help: "The app's id.", completion: .apps) var app: String

    @Option(
        help: ArgumentHelp(
            "How long clients take to get a new document, instead of what was measured.", valueName: "days"))
    var adoptionDays: Double?

    @Flag(help: "Exit with 1 if a renewal would lock clients out, or if that is unknown.") var exitCode = false
    @OptionGroup var remote: RemoteOptions

    func validate() throws {
        guard (0...365).contains(self.adoptionDays ?? 0) else {
            throw ValidationError("--adoption-days takes a number from 0 to 365")
        }
    }

    func run() async throws {
        let query = self.adoptionDays.map { "?adoption_hours=\(Int(($0 * 24).rounded(.up)))" } ?? ""
        let forecast = try await self.remote.withClient { client in
            try await client.get("/v1/apps/\(APIClient.escaped(self.app))/forecast\(query)")
        }
        if self.remote.output.isTable { self.show(forecast) } else { Console.print(forecast, self.remote.output) }
        let fails = (forecast["hosts"]?.arrayValue ?? []).contains {
            ["fails", "unknown"].contains($0.text("verdict"))
        }
        if self.exitCode, fails { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private func show(_ forecast: JSON) {
        let hosts = forecast["hosts"]?.arrayValue ?? []
        guard !hosts.isEmpty else { return Console.print("The app has no hosts.") }
        var table = Table(["HOST", "FROM", "LIFE", "RENEWED", "SLACK", "VERDICT"])
        for host in hosts {
            let name = host.text("host")
            guard let next = host["next"], let certificate = host["certificate"] else {
                table.add([name, "-", "-", "-", "-", host.text("verdict")])
                continue
            }
            let spare = next["spare"] == nil ? ", no spare pin" : ""
            table.add([
                name, "now", "to \(certificate.time("not_after"))", next.time("at"),
                Self.slack(next), next.text("verdict") + spare,
            ])
            for (index, era) in (host["eras"]?.arrayValue ?? []).enumerated() {
                table.add([
                    name, index == 0 ? "then on" : String(era.text("from").prefix(10)),
                    Self.days(era["lifetime_seconds"]),
                    "every \(Self.days(era["renewal_seconds"]))", Self.slack(era), era.text("verdict"),
                ])
            }
        }
        Console.print(table)
        Console.print("")
        Console.print(self.sentence(forecast))
        for host in hosts {
            guard let remark = host["remark"]?.stringValue else { continue }
            Console.line("\(host.text("host")): \(remark).")
        }
    }

    private func sentence(_ forecast: JSON) -> String {
        let delivery = Self.days(forecast["delivery_seconds"])
        guard let adoption = forecast["adoption"] else {
            return
                "Clients may use an older document for \(delivery). How long 99 % of them take to get a new one is not known: let them send reports, or give --adoption-days."
        }
        let least = Self.days(adoption["at_least_seconds"])
        guard self.adoptionDays == nil else {
            return "Clients may use an older document for \(delivery), and take \(least) to get a new one, as you say."
        }
        let most = adoption["at_most_seconds"].map { " and at most \(Self.days($0))" } ?? ""
        return
            "Clients may use an older document for \(delivery), and 99 % of them take at least \(least)\(most) to get a new one."
    }

    /// Both bounds, in days.
    private static func slack(_ place: JSON) -> String {
        let slack = place["slack_seconds"]
        let most = self.days(slack?["at_most"])
        guard let least = slack?["at_least"] else { return "at most \(most)" }
        return self.days(least) == most ? most : "\(self.days(least)) to \(most)"
    }

    /// To the nearest day; less than two days to the nearest tenth.
    private static func days(_ seconds: JSON?) -> String {
        guard let seconds = seconds?.integerValue else { return "-" }
        let tenths = (Double(seconds) / 8640).rounded()
        guard abs(tenths) < 20, tenths.remainder(dividingBy: 10) != 0 else {
            return "\(Int((tenths / 10).rounded())) d"
        }
        return "\(tenths / 10) d"
    }
}

import ArgumentParser
import PinWire

extension AppCommands {
    struct Adoption: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "adoption", abstract: "Show which versions of an app's document its clients hold.",
            discussion: """
                pinledger app adoption com.example.app
                pinledger app adoption com.example.app --version 12 --hours 72

                The figures come from the requests that clients make. Below the table stands what those do not tell.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Option(help: "Show the share that holds this version or a newer one. Default: the current version.")
        var version: Int64?
        @Option(help: "Hours to look back; at most 840.") var hours = 24
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                var path = "/v1/apps/\(APIClient.escaped(self.app))/adoption?hours=\(self.hours)"
                if let version = self.version { path += "&version=\(version)" }
                let json = try await client.get(path)
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                AdoptionText.print(json)
            }
        }
    }
}

/// Adoption for people.
enum AdoptionText {
    static func print(_ json: JSON) {
        var table = Table([
            "HOLDS", "LAST HOUR", "LAST DAY", "LAST 7 DAYS", "REPORTS", "INSTALLS", "PLATFORMS", "APP VERSIONS",
        ])
        for version in json["versions"]?.arrayValue ?? [] {
            let requests = version["requests"]
            table.add([
                Self.holding(version), requests?.text("last_hour") ?? "-", requests?.text("last_day") ?? "-",
                requests?.text("last_week") ?? "-", version.text("reports"), version.text("installs"),
                Self.parts(version["platforms"], "platform"), Self.parts(version["app_versions"], "app_version"),
            ])
        }
        Console.print(table)
        Console.print("")
        Console.print(Self.sentence(json))
        Console.print(Self.signedSentence(json))
        for gap in json["not_known"]?.arrayValue ?? [] { Console.print("Not known: \(gap.said("detail"))") }
    }

    private static func holding(_ version: JSON) -> String {
        switch version["holds"]?.stringValue {
        case "document": "version \(version.text("version"))"
        case "nothing": "nothing yet"
        case "ahead":
            version["version"].map { _ in "version \(version.text("version")), which is not made" }
                ?? "a version that is not made"
        default: "unknown"
        }
    }

    /// The four most frequent.
    private static func parts(_ parts: JSON?, _ name: String) -> String {
        let named = (parts?.arrayValue ?? []).filter { $0[name] != nil }
        let texts = named.prefix(4).map { "\($0.text(name)) \($0.text("sightings"))" }
        return texts.isEmpty ? "-" : texts.joined(separator: ", ") + (named.count > 4 ? ", …" : "")
    }

    private static func sentence(_ json: JSON) -> String {
        let share = json["share"]
        let version = "version \(share?.text("at_least") ?? "-") or a newer one"
        let since = json["window"]?.time("since") ?? "-"
        guard let points = share?["basis_points"]?.integerValue else {
            return "Which share of the clients holds \(version) is not known."
        }
        let sample = share?.text("sample") ?? "-"
        let basis =
            share?["basis"] == "installs" ? "about \(sample) installs" : "\(sample) requests and reports"
        return "\(Self.percent(points)) of the clients seen since \(since) (\(basis)) hold \(version); "
            + "with 95 % confidence from \(Self.percent(share?["lower_basis_points"]?.integerValue)) "
            + "to \(Self.percent(share?["upper_basis_points"]?.integerValue))."
    }

    /// The part that guard rails use.
    private static func signedSentence(_ json: JSON) -> String {
        let share = json["signed"]
        guard let points = share?["basis_points"]?.integerValue else {
            return
                "Rotations count signed reports only, and there are none: they wait until older documents are stale."
        }
        return "Rotations count installs that signed their reports, about \(share?.text("sample") ?? "-"): "
            + "\(Self.percent(points)) of them hold it; with 95 % confidence from "
            + "\(Self.percent(share?["lower_basis_points"]?.integerValue)) "
            + "to \(Self.percent(share?["upper_basis_points"]?.integerValue))."
    }

    private static func percent(_ points: Int64?) -> String {
        guard let points else { return "-" }
        let rest = points % 100
        return "\(points / 100)\(rest == 0 ? "" : ".\(rest < 10 ? "0" : "")\(rest)") %"
    }
}

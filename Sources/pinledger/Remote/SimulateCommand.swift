import ArgumentParser
import Foundation
import PinWire

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Show which devices a change would affect, and how. Records nothing.",
        discussion: """
            pinledger simulate com.example.shop api.example.com --percent 25
            pinledger simulate com.example.shop --min-version 3.1.0
            pinledger simulate com.example.shop --change change.json --population population.json
            pinledger simulate com.example.shop --change chg_4kQ9sXb2Lw8ZtR7c

            The file of --change holds the member `change` of POST /v1/apps/{app}/simulate, the file of --population \
            the member `population`. Instead of the file, --change takes the id of a proposed change. Without a population, the command uses the versions and platforms that clients \
            report.
            """
    )

    @Argument(help: "The app's id.", completion: .apps) var app: String
    @Argument(help: "The host that changes. Default: the whole app.") var host: String?
    @Option(help: "Set the rollout to this percentage.") var percent: Double?
    @Option(help: "Give candidates to app versions from this one on.") var minVersion: String?
    @Flag(help: "Promote the host's candidate.") var promote = false
    @Flag(help: "Drop the host's candidate.") var drop = false
    @Option(help: ArgumentHelp("The change as JSON, or the id of a proposed change (chg_…).", valueName: "file"))
    var change: String?
    @Option(help: ArgumentHelp("The population as JSON.", valueName: "file")) var population: String?
    @Option(help: "Number of devices to simulate; at most 100000.") var devices: Int64 = 10_000
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let proposed = self.change.flatMap { $0.hasPrefix("chg_") ? $0 : nil }
        if proposed != nil { try self.checkAlone() }
        let given = proposed == nil ? try self.given : nil
        let population = try self.population.map(Self.json)
        try await self.remote.withClient { client in
            let change =
                if proposed == nil, given == nil { try self.built(with: try await self.rollout(client)) } else { given }
            let question = JSON.members([
                "change": change,
                "change_id": proposed.map { .string($0) },
                "population": population,
                "devices": .integer(self.devices),
                "hosts": self.host.flatMap { $0.hasPrefix("*.") ? nil : [.string($0)] },
            ])
            let path = "/v1/apps/\(APIClient.escaped(self.app))/simulate"
            let answer = try await client.send("POST", path, body: question.canonicalBytes)
            try answer.check()
            let json = try answer.json
            if !self.remote.output.isTable { Console.print(json, self.remote.output) } else { Self.print(json) }
        }
    }

    private var given: JSON? {
        get throws {
            guard let change = self.change else { return nil }
            try self.checkAlone()
            return try Self.json(change)
        }
    }

    /// Refuses options that describe a change beside one that is given.
    private func checkAlone() throws {
        guard self.percent == nil, self.minVersion == nil, !self.promote, !self.drop, self.host == nil else {
            throw CommandFailure(
                "--change describes the whole change: leave out the host and the other options", status: .usage)
        }
    }

    /// The rollout that is there, with the percentage: as `rollout set` makes it.
    private func rollout(_ client: APIClient) async throws -> JSON? {
        guard let percent = self.percent else { return nil }
        let points = try RolloutCommands.basisPoints(percent)
        let path = self.host.map { HostCommands.path(self.app, $0) } ?? "/v1/apps/\(APIClient.escaped(self.app))"
        var members = try await client.get(path)["rollout"]?.objectValue ?? [:]
        members["basis_points"] = points
        return .object(members)
    }

    private func built(with rollout: JSON?) throws -> JSON {
        let gate: JSON? = self.minVersion.map { ["minimum": .string($0)] }
        guard let host = self.host else {
            guard !self.promote, !self.drop else {
                throw CommandFailure("--promote and --drop need a host: name it", status: .usage)
            }
            guard rollout != nil || gate != nil else {
                throw CommandFailure("no change is given", advice: "Give one, such as --percent 25.", status: .usage)
            }
            return .members(["rollout": rollout, "version_gate": gate])
        }
        guard rollout != nil || self.promote || self.drop else {
            throw CommandFailure(
                "no change of \(host) is given", advice: "Give one, such as --percent 25.", status: .usage)
        }
        let member = JSON.members([
            "host": .string(host), "rollout": rollout,
            "promote_candidate": self.promote ? true : nil, "drop_candidate": self.drop ? true : nil,
        ])
        return .members(["version_gate": gate, "hosts": [member]])
    }

    private static func json(_ path: String) throws -> JSON {
        let data = try GivenFile.data(path, takesInput: true)
        do { return try JSON(parsing: data) } catch {
            throw CommandFailure("\(path) does not hold JSON: \(error)", status: .usage)
        }
    }

    private static func print(_ json: JSON) {
        let population = json["population"]?.text("source") ?? "-"
        Console.print(
            "\(json.text("moved")) of \(json.text("devices")) devices would get something else (population: \(population))."
        )
        for line in JudgementText.lines(json) { Console.print(line.prefix(1).uppercased() + line.dropFirst()) }
        let unknown = (json["population"]?["blind_to"]?.arrayValue ?? []).compactMap(\.stringValue)
        if !unknown.isEmpty {
            Console.print(
                "Not known of any of them: \(unknown.joined(separator: ", ")). Rules that use it treat them as devices that do not report it."
            )
        }
        for host in json["hosts"]?.arrayValue ?? [] {
            Console.print("")
            Console.print("\(host.text("host")): \(host.text("moved")) moved")
            var table = Table(["DEVICES", "FROM", "TO"])
            for move in host["moves"]?.arrayValue ?? [] {
                table.add([move.text("devices"), Self.lot(move["from"]), Self.lot(move["to"])])
            }
            Console.print(table)
        }
        for (title, list, name) in [
            ("APP VERSION", "app_versions", "app_version"), ("PLATFORM", "platforms", "platform"),
        ] {
            let parts = json[list]?.arrayValue ?? []
            guard parts.contains(where: { $0[name] != nil }) else { continue }
            var table = Table([title, "DEVICES", "MOVED"])
            for part in parts { table.add([part.text(name), part.text("devices"), part.text("moved")]) }
            Console.print("")
            Console.print(table)
        }
        FindingReport.print(json["guard_rail_findings"]?.arrayValue ?? [])
        if json["is_refused"] == true { Console.print("The guard rails would refuse this change.") }
    }

    private static func lot(_ lot: JSON?) -> String {
        guard let lot else { return "-" }
        let pins = lot["pins"]?.arrayValue?.count ?? 0
        let arm = lot["arm"]?.stringValue.map { " \($0)" } ?? ""
        return lot.text("outcome") + arm + (pins > 0 ? ", \(pins) pins" : "")
    }
}

import ArgumentParser
import Foundation
import PinWire

/// A dump of a mobile utility server has private keys in it.
struct ImportCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import pins from another system's file.",
        discussion: """
            pinledger import android_nsc network_security_config.xml --app com.example.shop --dry-run
            pinledger import remote-config config.json --app com.example.shop

            remote-config is an ssl_pinning_config; android_nsc may have TrustKit's additions; wultra is the responses \
            or the tables of a mobile utility server. The command shows the plan, then records it as one change. If \
            anything is wrong, it records nothing.
            """
    )

    @Argument(help: "The file's format.") var format: ImportName
    @Argument(help: "The file to import.") var file: String
    @Option(help: "The app to import into. Default, for remote-config only: the file's name without its extension.")
    var app: String?
    @Option(help: ArgumentHelp("For hpkp only: host for headers not preceded by a `Host:` line.", valueName: "name"))
    var host: String?
    @Option(
        help: ArgumentHelp(
            "For firebase_template only: import this condition's value instead of the default.", valueName: "name"))
    var condition: String?
    @Option(help: ArgumentHelp("Fail unless the plan has this hash, as a dry run showed it.", valueName: "hash"))
    var planHash: String?
    @OptionGroup var change: ChangeOptions
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let app = try self.namedApp
        let data = try GivenFile.data(self.file)
        var query = ["app=\(APIClient.escaped(app))"]
        if self.change.dryRun { query.append("dry_run=true") }
        if self.change.force { query.append("force=true") }
        for (name, value) in [
            ("reason", self.change.reason), ("plan_hash", self.planHash), ("host", self.host),
            ("condition", self.condition),
        ] {
            if let value { query.append("\(name)=\(APIClient.escaped(value))") }
        }
        query += try self.change.proposal.query
        let type = self.format.isJSON ? "application/json" : "application/octet-stream"
        var headers = [("Content-Type", type)]
        if let version = self.change.ifVersion { headers.append(("If-Match", "\"\(version)\"")) }
        try await self.remote.withClient { client in
            let answer = try await client.sendOnce(
                "POST", "/v1/import/\(APIClient.escaped(self.format.name))?\(query.joined(separator: "&"))",
                body: Array(data), key: self.change.idempotencyKey, headers: headers
            )
            let json = try? answer.json
            if self.remote.output.isTable { self.show(json) }
            try answer.check()
            if let json {
                if self.remote.output.isTable, json["change"] != nil {
                    ChangeReport.print(json, self.remote.output)
                } else if self.remote.output.isTable {
                    let words =
                        self.change.dryRun
                        ? "Nothing was recorded (--dry-run)."
                        : "Recorded as \((json["events"]?.arrayValue ?? []).count) events."
                    Console.print(words)
                } else {
                    Console.print(json, self.remote.output)
                }
            }
        }
    }

    private var namedApp: String {
        get throws {
            if let app { return app }
            guard self.format.name == ImportName.remoteConfig else {
                throw CommandFailure("--app is missing: name the app to import into", status: .usage)
            }
            return URL(fileURLWithPath: self.file).deletingPathExtension().lastPathComponent
        }
    }

    private func show(_ json: JSON?) {
        for finding in json?["findings"]?.arrayValue ?? [] where finding["severity"] != "fatal" {
            let place =
                finding["line"] == nil
                ? finding.text("pointer") : "line \(finding.text("line")), column \(finding.text("column")):"
            let words = [place, "\(finding.said("detail")). \(finding.said("advice"))"].filter { !$0.isEmpty }
            Console.error("\(finding.text("severity")): \(words.joined(separator: " "))")
        }
        guard let plan = json?["plan"]?.arrayValue else { return }
        Console.print("Plan:")
        for step in plan { Console.print("  \(step.stringValue ?? "")") }
        if let hash = json?["plan_hash"]?.stringValue { Console.print("Plan hash: \(hash)") }
    }
}

import ArgumentParser
import Foundation
import PinWire

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Takes over what another system has.",
        discussion: """
            pinledger import android_nsc network_security_config.xml --app com.example.shop --dry-run
            pinledger import remote-config config.json --app com.example.shop

            Formats: remote-config (an ssl_pinning_config), firebase_template, android_nsc (with TrustKit's additions \
            too), trustkit_ios, apple_ats, hpkp, wultra (the answers of a mobile utility server, or its tables). Shows the \
            plan, then records it as one change. Nothing is recorded when anything is wrong.
            """
    )

    @Argument var format: String
    @Argument var file: String
    @Option(help: "The app to import into; of remote-config, without it, the file's name without its ending.")
    var app: String?
    @Option(help: ArgumentHelp("Of hpkp: who sent headers before which no line Host: stands.", valueName: "name"))
    var host: String?
    @Option(
        help: ArgumentHelp("Of firebase_template: take this condition's value, not the default.", valueName: "name"))
    var condition: String?
    @Option(help: ArgumentHelp("Refuse unless this is what a dry run showed.", valueName: "hash"))
    var planHash: String?
    @OptionGroup var change: ChangeOptions
    @OptionGroup var remote: RemoteOptions

    private static let remoteConfig = "remote-config"
    private static let jsonFormats = [Self.remoteConfig, "firebase_template", "wultra"]

    func run() async throws {
        let app = try self.namedApp
        guard let data = FileManager.default.contents(atPath: self.file) else {
            throw CommandFailure("\(self.file) cannot be read")
        }
        var query = ["app=\(APIClient.escaped(app))"]
        if self.change.dryRun { query.append("dry_run=true") }
        if self.change.force { query.append("force=true") }
        for (name, value) in [
            ("reason", self.change.reason), ("plan_hash", self.planHash), ("host", self.host),
            ("condition", self.condition),
        ] {
            if let value { query.append("\(name)=\(APIClient.escaped(value))") }
        }
        let type = Self.jsonFormats.contains(self.format) ? "application/json" : "application/octet-stream"
        var headers = [("Content-Type", type)]
        if let version = self.change.ifVersion { headers.append(("If-Match", "\"\(version)\"")) }
        try await self.remote.withClient { client in
            let answer = try await client.sendOnce(
                "POST", "/v1/import/\(APIClient.escaped(self.format))?\(query.joined(separator: "&"))",
                body: Array(data), key: self.change.idempotencyKey, headers: headers
            )
            let json = try? answer.json
            if self.remote.output == .table { self.show(json) }
            try answer.check()
            if let json {
                if self.remote.output == .table {
                    let words =
                        self.change.dryRun
                        ? "Nothing was recorded (--dry-run)."
                        : "Recorded as \((json["events"]?.arrayValue ?? []).count) events."
                    Console.print(words)
                } else {
                    Console.print(json.canonicalText)
                }
            }
        }
    }

    private var namedApp: String {
        get throws {
            if let app { return app }
            guard self.format == Self.remoteConfig else {
                throw CommandFailure("--app is required: the app to import into", status: .usage)
            }
            return URL(fileURLWithPath: self.file).deletingPathExtension().lastPathComponent
        }
    }

    private func show(_ json: JSON?) {
        for finding in json?["findings"]?.arrayValue ?? [] where finding["severity"] != "fatal" {
            let place =
                finding["line"] == nil
                ? finding.text("pointer") : "line \(finding.text("line")), column \(finding.text("column")):"
            let words = [place, "\(finding.text("detail")). \(finding.text("advice"))"].filter { !$0.isEmpty }
            Console.error("\(finding.text("severity")): \(words.joined(separator: " "))")
        }
        guard let plan = json?["plan"]?.arrayValue else { return }
        Console.print("Plan:")
        for step in plan { Console.print("  \(step.stringValue ?? "")") }
        if let hash = json?["plan_hash"]?.stringValue { Console.print("Plan hash: \(hash)") }
    }
}

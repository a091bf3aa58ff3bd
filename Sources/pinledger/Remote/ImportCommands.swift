import ArgumentParser
import Foundation
import PinWire

struct ImportCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Takes over what another system has.", subcommands: [RemoteConfig.self]
    )

    struct RemoteConfig: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remote-config",
            abstract: "Imports an ssl_pinning_config of Firebase-style remote configuration.",
            discussion: "Shows the plan, then records it as one change. Nothing is recorded when anything is wrong."
        )
        @Argument var file: String
        @Option(help: "The app to import into; without it, the file's name without its ending.") var app: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard let data = FileManager.default.contents(atPath: self.file) else {
                throw CommandFailure("\(self.file) cannot be read")
            }
            let app = self.app ?? URL(fileURLWithPath: self.file).deletingPathExtension().lastPathComponent
            var query = ["app=\(APIClient.escaped(app))"]
            if self.change.dryRun { query.append("dry_run=true") }
            if self.change.force { query.append("force=true") }
            if let reason = self.change.reason { query.append("reason=\(APIClient.escaped(reason))") }
            var headers: [(String, String)] = []
            if let version = self.change.ifVersion { headers.append(("If-Match", "\"\(version)\"")) }
            try await self.remote.withClient { client in
                let answer = try await client.sendOnce(
                    "POST", "/v1/import/remote-config?\(query.joined(separator: "&"))", body: Array(data),
                    key: self.change.idempotencyKey, headers: headers
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

        private func show(_ json: JSON?) {
            for finding in json?["findings"]?.arrayValue ?? [] where finding["severity"] != "fatal" {
                Console.error(
                    "\(finding.text("severity")): \(finding.text("pointer")) \(finding.text("detail")). \(finding.text("advice"))"
                )
            }
            guard let plan = json?["plan"]?.arrayValue else { return }
            Console.print("Plan:")
            for step in plan { Console.print("  \(step.stringValue ?? "")") }
        }
    }
}

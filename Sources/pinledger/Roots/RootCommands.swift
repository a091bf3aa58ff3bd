import ArgumentParser
import PinWire

struct RootCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "root",
        abstract: "Manage the root of trust: the signed list of the keys whose documents clients trust.",
        discussion: """
            Apps ship a root of trust and replace it by the next one that its keys have signed. So a key can be revoked, and another \
            one trusted, without an app release. The keys of a root stay offline: draft, sign and check need no server.

            pinledger root draft 1.root.json --root-key ada.pub --root-key bob.pub --threshold 2 --document-keys keys.json --expires 2031-01-01
            pinledger root sign 1.root.json --key-file ada
            pinledger root sign 1.root.json --key-file bob
            pinledger root check 1.root.json
            pinledger root publish 1.root.json --reason "first root of trust"
            """,
        subcommands: [
            List.self, RootDraftCommand.self, RootSignCommand.self, RootPayloadCommand.self, RootCheckCommand.self,
            Publish.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the published roots of trust.", discussion: "pinledger root list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/roots"), "roots", self.remote.output,
                    ["VERSION", "PUBLISHED", "EXPIRES", "ROOT KEYS", "DOCUMENT KEYS"]
                ) {
                    [
                        $0.text("version"), $0.time("published_at"), $0.time("expires_at"),
                        "\($0.text("threshold")) of \($0["root_keys"]?.arrayValue?.count ?? 0)",
                        ($0["document_keys"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", "),
                    ]
                }
            }
        }
    }

    struct Publish: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "publish", abstract: "Publish a signed root of trust: clients replace theirs by it.",
            discussion: """
                pinledger root publish 2.root.json --reason "the key of 2026 is out of use"

                A published root cannot be withdrawn: the next one replaces it.
                """)
        @Argument(help: "File with the root.", completion: .file()) var file: String
        @Flag(
            help:
                "Begin a new row of roots, with a root that its own keys alone have signed: those of the present root are lost. Only apps that ship it follow it. Needs --force."
        )
        var restart = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let root = try RootFile.read(self.file)
            var members: [String: JSON] = ["root": root.json]
            if self.restart { members["restart"] = true }
            try await self.remote.change("POST", "/v1/roots", members, self.change)
        }
    }
}

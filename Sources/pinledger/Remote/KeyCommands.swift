import ArgumentParser
import PinWire

struct KeyCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Manage the keys that sign documents.",
        discussion: """
            To rotate: `key create` adds a new key to the JWKS. Publish a root of trust with it (`pinledger root`); or, for apps that ship a \
            JWKS, release the app with that JWKS, and wait until installs \
            run the release: they refuse documents of keys that they do not have. Then `key activate` makes the key sign \
            everything, a day after its creation at the earliest; a week later, `key retire` removes the old one.

            `key rewrap` changes a different key: the key-encryption key that seals secrets in the database.
            """,
        subcommands: [List.self, Create.self, Activate.self, Retire.self, KeyRewrapCommand.self, BatchKeyCommand.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List all keys, including retired ones.",
            discussion: "pinledger key list")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/keys"), "keys", self.remote.output,
                    ["KID", "STATE", "CREATED", "ACTIVATED", "RETIRED"]
                ) {
                    [
                        $0.text("kid"), $0.text("state"), $0.time("created_at"), $0.time("activated_at"),
                        $0.time("retired_at"),
                    ]
                }
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Create a key and announce it in the JWKS. The first key signs at once.",
            discussion: "pinledger key create --reason \"yearly rotation\"")
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/keys", self.change)
        }
    }

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "activate", abstract: "Activate an announced key: it signs from now on.",
            discussion: "pinledger key activate 8Jx1V0mYwq3tQ5sE")
        @Argument(help: "The key's id (kid).") var kid: KeyIDArgument
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "/v1/keys/\(APIClient.escaped(self.kid.text))/activate"
            try await self.remote.change("POST", path, self.change)
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "retire", abstract: "Retire a key: remove it from the JWKS and erase its private half.",
            discussion: "pinledger key retire 8Jx1V0mYwq3tQ5sE")
        @Argument(help: "The key's id (kid).") var kid: KeyIDArgument
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "/v1/keys/\(APIClient.escaped(self.kid.text))/retire"
            try await self.remote.change("POST", path, self.change)
        }
    }
}

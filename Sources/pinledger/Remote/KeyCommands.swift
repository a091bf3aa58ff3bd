import ArgumentParser
import PinWire

struct KeyCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Keys that sign documents.",
        discussion: """
            To rotate: `key create` announces a new key in the JWKS; after a day, `key activate` has it sign everything; \
            after a week, `key retire` takes the old one out of the JWKS.

            What private halves are sealed with in the database is another key, which `key rewrap` changes.
            """,
        subcommands: [List.self, Create.self, Activate.self, Retire.self, KeyRewrapCommand.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists all keys, retired ones included.")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                ListReport.print(
                    try await client.get("/v1/keys"), "keys", self.remote.output,
                    ["KID", "STATE", "CREATED", "ACTIVATED", "RETIRED"]
                ) {
                    [
                        $0.text("kid"), $0.text("state"), $0.text("created_at"), $0.text("activated_at"),
                        $0.text("retired_at"),
                    ]
                }
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key and announces it; the first one signs at once.")
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/keys", self.change)
        }
    }

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Has an announced key sign from now on.")
        @Argument var kid: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "/v1/keys/\(APIClient.escaped(self.kid))/activate"
            try await self.remote.change("POST", path, self.change)
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes a key out of the JWKS and erases its private half.")
        @Argument var kid: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "/v1/keys/\(APIClient.escaped(self.kid))/retire"
            try await self.remote.change("POST", path, self.change)
        }
    }
}

import ArgumentParser
import Foundation
import Keys
import PinWire

struct ApprovalKeyCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approval-key", abstract: "Manage the keys with which people sign approvals.",
        discussion: "pinledger access show lists those of a person.",
        subcommands: [Add.self, Remove.self])

    private static func path(_ principal: String) -> String {
        "/v1/access/principals/\(APIClient.escaped(principal))/approval-keys"
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add an approval key of a person, whose approvals then count only with its signature.",
            discussion: """
                pinledger access approval-key add prn_4kQ9sXb2Lw8ZtR7c --key-file ada.pub

                The file is an OpenSSH public key of the type ssh-ed25519 (ssh-keygen -t ed25519). The person keeps the private key.
                """)
        @Argument(help: "The person's id (prn_…).", completion: .principals) var id: String
        @Option(help: ArgumentHelp("File with the public key.", valueName: "file")) var keyFile: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let data = try GivenFile.data(self.keyFile)
            guard let key = SSHPublicKey.key(ofLine: String(decoding: data.prefix(8192), as: UTF8.self)) else {
                guard data.range(of: Data("PRIVATE KEY-----".utf8)) == nil else {
                    throw CommandFailure(
                        "\(self.keyFile) is or holds a private key: nothing was sent",
                        advice: "Give the public key, the file that ends in .pub, and keep this one where it is.",
                        status: .usage)
                }
                throw CommandFailure(
                    "\(self.keyFile) is not an OpenSSH public key of the type \(SSHPublicKey.type)",
                    advice: "Make a key with `ssh-keygen -t ed25519`, and give the file that ends in .pub.",
                    status: .usage)
            }
            try await self.remote.change(
                "POST", ApprovalKeyCommands.path(self.id), ["public_key": .string(SSHPublicKey.line(key))],
                self.change)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove an approval key. What it signed counts for no open change any more.",
            discussion:
                "pinledger access approval-key remove prn_4kQ9sXb2Lw8ZtR7c 2ybXELQeodz937aPp7e0QYFAsc8mm4_twQhDKLlP5NI")
        @Argument(help: "The person's id (prn_…).", completion: .principals) var id: String
        @Argument(help: "The key's id.") var kid: KeyIDArgument
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "\(ApprovalKeyCommands.path(self.id))/\(APIClient.escaped(self.kid.text))"
            try await self.remote.change("DELETE", path, self.change)
        }
    }
}

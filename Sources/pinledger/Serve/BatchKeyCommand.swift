import ArgumentParser
import Keys
import PinWire
import Secrets

/// Prints the public key that verifies the signatures of batches.
struct BatchKeyCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "batch-public-key",
        abstract: "Print the public key with which batches of events are verified.",
        discussion: """
            pinledger key batch-public-key --kek-file kek

            Nodes with the key-encryption key sign each batch of events that they record, with a key derived from it. Give the \
            public key to nodes without it, `--batch-public-key`, and to auditors, for `pinledger fsck`: the database's \
            password is not enough to sign. It changes with the key-encryption key: add the new one to those nodes before you \
            change that; take the old one away once changes are recorded with the new key.
            """
    )

    @Option(
        help: ArgumentHelp("File with the key-encryption key. [env: PINLEDGER_KEK_FILE]", valueName: "file"))
    var kekFile: String?
    @OptionGroup var file: SettingsFileOption

    func run() async throws {
        let key = try NodeConfiguration.readKey(self.file.kekFile(self.kekFile)).batchSigningKey()
        Console.print(Base64.encode(key.publicKey.bytes))
    }
}

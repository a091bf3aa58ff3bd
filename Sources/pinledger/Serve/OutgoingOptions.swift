import Addresses
import ArgumentParser
import Foundation
import Probing

/// The addresses that a node may call for its users, and how.
struct OutgoingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Private addresses that webhooks, witnesses, identity providers and probes may have, such as 10.0.0.0/8. May be repeated. [env: PINLEDGER_ALLOW_PRIVATE_RANGE, separated by commas]",
            valueName: "range"))
    var allowPrivateRange: [String] = []

    @Flag(
        help:
            "Allow webhooks, witnesses and identity providers over http, for development. [env: PINLEDGER_ALLOW_HTTP_WEBHOOKS=1]"
    )
    var allowHTTPWebhooks = false

    @Option(
        help: ArgumentHelp(
            "How long a webhook's receiver, a witness or an identity provider may take to answer. Default: 10. [env: PINLEDGER_WEBHOOK_TIMEOUT]",
            valueName: "seconds"))
    var webhookTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "Certificate authorities (PEM) to trust for webhooks' receivers, witnesses and identity providers besides the system's. [env: PINLEDGER_WEBHOOK_CA_FILE]",
            valueName: "file"))
    var webhookCAFile: String?

    func read(_ settings: Settings) throws -> OutgoingConfiguration {
        let allowed = try settings.networks(.allowPrivateRange, self.allowPrivateRange)
        let file = settings.text(.webhookCAFile, self.webhookCAFile)
        if let file, !FileManager.default.isReadableFile(atPath: file) {
            throw GivenFile.unreadable(file, "the authorities")
        }
        return OutgoingConfiguration(
            policy: AddressPolicy(allowed: allowed, allowsLiterals: true),
            allowsPlainWebhooks: try settings.isOn(.allowHTTPWebhooks, self.allowHTTPWebhooks),
            webhookTimeout: try settings.number(.webhookTimeout, self.webhookTimeout, or: 10, in: 1...60),
            trustFile: file
        )
    }
}

/// The addresses that a node may call for its users, and how.
struct OutgoingConfiguration: Sendable {
    var policy: AddressPolicy
    var allowsPlainWebhooks: Bool
    /// Seconds.
    var webhookTimeout: Int
    var trustFile: String?
}

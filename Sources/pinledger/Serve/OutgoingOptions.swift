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

    /// Flags first, then environment variables, then defaults.
    func read() throws -> OutgoingConfiguration {
        var ranges = self.allowPrivateRange
        if ranges.isEmpty, let text = Environment["PINLEDGER_ALLOW_PRIVATE_RANGE"] {
            ranges = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        var allowed: [IPNetwork] = []
        for range in ranges {
            do { allowed.append(try IPNetwork(range)) } catch {
                throw CommandFailure("\(range) is not a range of addresses: it \(error.description)", status: .usage)
            }
        }
        let file = self.webhookCAFile ?? Environment["PINLEDGER_WEBHOOK_CA_FILE"]
        if let file, !FileManager.default.isReadableFile(atPath: file) {
            throw CommandFailure("the authorities in \(file) cannot be read")
        }
        return OutgoingConfiguration(
            policy: AddressPolicy(allowed: allowed, allowsLiterals: true),
            allowsPlainWebhooks: self.allowHTTPWebhooks || Environment.isSet("PINLEDGER_ALLOW_HTTP_WEBHOOKS"),
            webhookTimeout: try NodeConfiguration.number(
                self.webhookTimeout, "PINLEDGER_WEBHOOK_TIMEOUT", default: 10, in: 1...60),
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

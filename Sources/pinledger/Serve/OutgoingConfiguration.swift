import Addresses
import Foundation
import Probing

/// The addresses that a node may call for its users, and how.
struct OutgoingConfiguration: Sendable {
    var policy: AddressPolicy
    var allowsPlainWebhooks: Bool
    /// Seconds.
    var webhookTimeout: Int
    var trustFile: String?

    init(_ settings: Settings) throws {
        self.policy = AddressPolicy(allowed: try settings.networks(.allowPrivateRange), allowsLiterals: true)
        self.allowsPlainWebhooks = try settings.isOn(.allowHTTPWebhooks)
        self.webhookTimeout = try settings.integer(.webhookTimeout)
        self.trustFile = settings.text(.webhookCAFile)
        if let file = self.trustFile, !FileManager.default.isReadableFile(atPath: file) {
            throw GivenFile.unreadable(file, "the authorities")
        }
    }
}

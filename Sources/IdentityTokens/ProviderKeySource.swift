import Concurrency
package import PinWire
package import Pinning
import Synchronization
package import Webhooks

/// The keys of identity providers, fetched when a token is to be verified, and kept.
///
/// A key that its provider withdraws is accepted for ``freshSeconds`` at the most while the provider can be reached, and what is known is
/// used for ``staleSeconds`` while it cannot. Tokens with unknown keys, which anyone can make, cause one request in ``retrySeconds`` to a
/// provider.
package final class ProviderKeySource: Sendable {
    /// How long keys are used without asking again, how long where the provider cannot be reached, and the shortest time between two
    /// requests, all in seconds.
    static let (freshSeconds, staleSeconds, retrySeconds): (Int64, Int64, Int64) = (600, 86_400, 60)
    /// Bytes of metadata, and of a key set.
    private static let bodyLimit = 256 * 1_024

    /// What is known of a provider.
    private struct Known: Sendable {
        var keys: ProviderKeys?
        /// When the keys were had.
        var fetchedAt: Timestamp?
        /// When it was asked last, with or without success.
        var askedAt: Timestamp
        var failure: String?
    }

    private let client: OutgoingClient
    private let clock: @Sendable () -> Timestamp
    private let known = SingleFlightCache<Issuer, Known>(entries: 4 * IdentityProvider.limit)

    package init(client: OutgoingClient, clock: @escaping @Sendable () -> Timestamp) {
        self.client = client
        self.clock = clock
    }

    /// What this node knows of a provider's keys; null where it never asked.
    package func status(of provider: IdentityProvider) -> JSON {
        guard let known = self.known[provider.issuer] else { return .null }
        return .members([
            "asked_at": .string(known.askedAt.rfc3339),
            "fetched_at": known.fetchedAt.map { .string($0.rfc3339) },
            "failure": known.failure.map { .string($0) },
        ])
    }

    /// The keys of a provider, where one of them has an id, or else as they are.
    func keys(of provider: IdentityProvider, with id: String) async throws(IdentityTokenFailure) -> ProviderKeys {
        let now = self.clock()
        let before = self.known[provider.issuer]
        let known = await self.known.value(for: provider.issuer) { value, isKept in
            if !isKept { return true }
            // It was asked a moment ago.
            if now < value.askedAt.adding(seconds: Self.retrySeconds) { return true }
            guard let keys = value.keys, let time = value.fetchedAt else { return false }
            return keys.has(id) && now < time.adding(seconds: Self.freshSeconds)
        } make: {
            (await self.ask(provider, before), 1)
        }
        guard let keys = known.keys, let time = known.fetchedAt, now < time.adding(seconds: Self.staleSeconds) else {
            throw .providerUnavailable(provider.name, known.failure ?? "it was not asked yet")
        }
        return keys
    }

    private func ask(_ provider: IdentityProvider, _ before: Known?) async -> Known {
        let now = self.clock()
        do throws(Failure) {
            let keys = try await self.fetch(provider)
            return Known(keys: keys, fetchedAt: now, askedAt: now, failure: nil)
        } catch {
            return Known(keys: before?.keys, fetchedAt: before?.fetchedAt, askedAt: now, failure: error.text)
        }
    }

    private struct Failure: Error {
        let text: String
    }

    /// The keys at the address that the provider's metadata names (OpenID Connect Discovery 1.0, section 4).
    private func fetch(_ provider: IdentityProvider) async throws(Failure) -> ProviderKeys {
        guard let url = provider.issuer.metadataURL else { throw Failure(text: "its issuer is no address") }
        let metadata = try await self.get(url, "metadata")
        guard let json = try? JSON(parsing: metadata, limits: .stored(depth: 16, nodes: 10_000)) else {
            throw Failure(text: "its metadata is not JSON")
        }
        // Section 4.3: otherwise one provider could speak for another.
        guard json["issuer"]?.stringValue == provider.issuer.text else {
            throw Failure(text: "its metadata names another issuer")
        }
        guard let address = json["jwks_uri"]?.stringValue, let keysURL = try? OutgoingURL(address) else {
            throw Failure(text: "its metadata names no address of keys")
        }
        guard let keys = ProviderKeys(try await self.get(keysURL, "key set")) else {
            throw Failure(text: "its key set is not one")
        }
        return keys
    }

    private func get(_ url: OutgoingURL, _ what: String) async throws(Failure) -> [UInt8] {
        let answer: ReceiverAnswer
        do throws(SendFailure) { answer = try await self.client.get(url, reading: Self.bodyLimit + 1) } catch {
            throw Failure(text: "\(error)")
        }
        guard answer.status == 200 else { throw Failure(text: "its \(what) is answered with status \(answer.status)") }
        guard answer.body.count <= Self.bodyLimit else { throw Failure(text: "its \(what) is too large") }
        return answer.body
    }
}

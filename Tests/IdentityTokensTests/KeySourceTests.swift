import PinWire
import Synchronization
import Testing
import Webhooks

@testable import IdentityTokens
@testable import Pinning

/// How long a provider's keys are used, with a clock of its own.
@Suite struct KeySourceTests {
    private final class Clock: Sendable {
        private let time = Mutex(Timestamp(seconds: 1_800_000_000))
        var now: Timestamp { self.time.withLock { $0 } }
        func pass(_ seconds: Int64) { self.time.withLock { $0 = $0.adding(seconds: seconds) } }
    }

    private struct World {
        let provider: Provider
        let clock: Clock
        let verifier: IdentityTokenVerifier
        let known: IdentityProvider

        func verify(_ sign: (Timestamp) throws -> String) async throws -> IdentityTokenFailure? {
            let text = try sign(self.clock.now)
            do throws(IdentityTokenFailure) {
                _ = try await self.verifier.verify(text, of: [self.known], nonce: nil)
                return nil
            } catch { return error }
        }
    }

    private func withWorld(_ body: (World) async throws -> Void) async throws {
        try await Provider.run { provider in
            let clock = Clock()
            let client = OutgoingClient(refusal: { _ in nil }, allowsPlain: true)
            let source = ProviderKeySource(client: client) { clock.now }
            let known = IdentityProvider(
                name: try RoleName("company"), issuer: try Issuer(provider.issuer), audiences: ["pinledger"],
                algorithms: [.es256])
            provider.add("k1")
            try await body(
                World(
                    provider: provider, clock: clock,
                    verifier: IdentityTokenVerifier(keys: source) { clock.now }, known: known))
            await client.close()
        }
    }

    @Test func `keys are asked for once, and again after ten minutes`() async throws {
        try await self.withWorld { world in
            let first = try world.provider.signer("k1")
            for _ in 0..<5 { #expect(try await world.verify(first) == nil) }
            #expect(world.provider.fetches == 1)
            world.clock.pass(599)
            #expect(try await world.verify(first) == nil)
            #expect(world.provider.fetches == 1)
            world.clock.pass(1)
            #expect(try await world.verify(first) == nil)
            #expect(world.provider.fetches == 2)
        }
    }

    @Test func `a withdrawn key is refused after ten minutes`() async throws {
        try await self.withWorld { world in
            let first = try world.provider.signer("k1")
            #expect(try await world.verify(first) == nil)
            world.provider.add("k2")
            world.provider.remove("k1")
            world.clock.pass(600)
            #expect(try await world.verify(first) == .keyUnknown)
        }
    }

    @Test func `a new key is found at once, a minute after the last request`() async throws {
        try await self.withWorld { world in
            #expect(try await world.verify(try world.provider.signer("k1")) == nil)
            world.provider.add("k2")
            let second = try world.provider.signer("k2")
            world.clock.pass(59)
            #expect(try await world.verify(second) == .keyUnknown)
            #expect(world.provider.fetches == 1)
            world.clock.pass(1)
            #expect(try await world.verify(second) == nil)
            #expect(world.provider.fetches == 2)
        }
    }

    @Test func `known keys are used for a day while the provider is down`() async throws {
        try await self.withWorld { world in
            let first = try world.provider.signer("k1")
            #expect(try await world.verify(first) == nil)
            world.provider.setDown(true)
            world.clock.pass(86_399)
            #expect(try await world.verify(first) == nil)
            world.clock.pass(1)
            guard case .providerUnavailable = try await world.verify(first) else {
                Issue.record("keys of a day ago are used")
                return
            }
            world.provider.setDown(false)
            // It is asked once a minute.
            #expect(try await world.verify(first) != nil)
            world.clock.pass(60)
            #expect(try await world.verify(first) == nil)
        }
    }

    @Test func `a hundred who sign in at once cause one request`() async throws {
        try await self.withWorld { world in
            let first = try world.provider.signer("k1")
            let text = try first(world.clock.now)
            let verified = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        (try? await world.verifier.verify(text, of: [world.known], nonce: nil)) != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(verified == 100)
            #expect(world.provider.fetches == 1)
        }
    }
}

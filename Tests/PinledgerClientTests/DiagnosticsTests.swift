import PinWire
import Synchronization
import Testing

@testable import PinledgerClient

@Suite("The diagnostics of a client")
struct DiagnosticsTests {
    private let signer = Signer()
    private let service = "https://one.example.com"

    private func configuration(expecting hosts: [String] = []) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer),
            services: try Fixed.services(self.service), withoutDocument: .block, afterExpiry: .block)
        configuration.expectedHosts = try hosts.map { try HostPattern($0) }
        configuration.device = Device(ids: [.installID: "secret-install"], appVersion: "2.4.1", build: 241)
        return configuration
    }

    @Test("Each document that says nothing of an expected host is told, whether it is stored or fetched")
    func uncoveredHosts() async throws {
        let failures = Mutex<[ClientFailure]>([])
        let services = Services([self.service: .document(try self.signer.sign(try Fixed.document(8)))])
        let client = PinledgerClient(
            try self.configuration(expecting: ["api.example.com", "apl.example.com", "*.example.net"]),
            store: MemoryStore(try self.signer.sign(try Fixed.document(7))), transport: services,
            onFailure: { failure in failures.withLock { $0.append(failure) } }, clock: { Fixed.now })
        for _ in 1...2 {
            _ = await client.load()
            try await client.refresh()
        }
        // Signed again it is no other document.
        services.set(self.service, .document(try self.signer.sign(try Fixed.document(8), issued: Fixed.issued + 60)))
        #expect(try await client.refresh() == .replaced(version: 8))
        let missing = [try HostPattern("apl.example.com"), try HostPattern("*.example.net")]
        #expect(
            failures.withLock { $0 } == [
                .uncoveredHosts(missing, version: 7), .uncoveredHosts(missing, version: 8),
            ])
        #expect(
            "\(ClientFailure.uncoveredHosts(missing, version: 8))"
                == "document 8 says nothing of apl.example.com, *.example.net: connections to them are unpinned")
    }

    @Test("A name, or a wildcard, that another pattern covers is not missing")
    func coveredHosts() async throws {
        var document = try Fixed.document(7)
        document.hosts[0].includesSubdomains = true
        let client = PinledgerClient(
            try self.configuration(expecting: ["*.api.example.com", "v1.api.example.com", "*.example.com"]),
            store: MemoryStore(try self.signer.sign(document)), transport: Services([:]), clock: { Fixed.now })
        _ = await client.load()
        #expect(await client.toldUncovered == .uncoveredHosts([try HostPattern("*.example.com")], version: 7))
    }

    @Test("Diagnostics tell all that support has to know, and no id")
    func diagnostics() async throws {
        let client = PinledgerClient(
            try self.configuration(), store: MemoryStore(try self.signer.sign(try Fixed.document(7))),
            transport: Services([self.service: .silence]), clock: { Fixed.now })
        #expect(await client.diagnostics(for: "api.example.com")["document"] == nil)
        _ = await client.load()
        _ = try? await client.refresh()
        let told = await client.diagnostics(for: "api.example.com")
        #expect(told["time"] == .string(Fixed.now.rfc3339) && told["app"] == "com.example.shop")
        #expect(told["document"]?["version"] == 7 && told["stored_version"] == 7)
        #expect(told["document"]?["key_id"] == .string(self.signer.keyID))
        #expect(told["device"] == ["app_version": "2.4.1", "build": 241])
        #expect(told["decision"] == client.policy.explain("api.example.com", at: Fixed.now)?.json)
        #expect(told["refresh_failure"] != nil && told["store_failure"] == nil && told["root_version"] == nil)
        #expect(!told.canonicalText.contains("secret-install"))
    }
}

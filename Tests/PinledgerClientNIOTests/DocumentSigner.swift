import Crypto
import PinWire
import PinledgerClient
import Synchronization
import Testing

/// A server's part in these tests: a key that signs documents with one host, and clients that trust it.
struct DocumentSigner {
    private let key = Curve25519.Signing.PrivateKey()

    /// A document that is valid now.
    func sign(
        _ pins: [Pin], mode: PinMode = .enforce, host: String = "api.example.com", switches: [Document.KillSwitch] = [],
        version: Int64 = 1, candidate: [Pin]? = nil, pinsValidUntil: Timestamp? = nil
    ) throws -> [UInt8] {
        let document = Document(
            issuer: "pins.example.com", app: try AppID("com.example.shop"), version: version,
            pinsValidUntil: pinsValidUntil,
            killSwitches: switches, rollout: nil, versionGate: nil,
            hosts: [
                .init(
                    pattern: try HostPattern(host), includesSubdomains: false,
                    baseline: .init(mode: mode, pins: pins.sorted().map { .init(pin: $0, role: .primary) }),
                    candidate: candidate.map {
                        .init(mode: mode, pins: $0.sorted().map { .init(pin: $0, role: .primary) })
                    },
                    // Devices of users get the candidate.
                    rollout: candidate.map { _ in Rollout(basisPoints: 10_000, seed: [.userID], salt: "s") })
            ], fallback: Fallback(), monitoring: Monitoring())
        let now = SystemClock.now()
        let header: JSON = ["alg": "EdDSA", "kid": .string(self.keyID), "typ": "pinset+jws"]
        let payload = document.payload(issuedAt: now, expiresAt: now.adding(seconds: 3600))
        let input = "\(Base64URL.encode(header.canonicalBytes)).\(Base64URL.encode(payload))"
        let signature = try self.key.signature(for: Array(input.utf8))
        return Array("\(input).\(Base64URL.encode(Array(signature)))".utf8)
    }

    private var x: String { Base64URL.encode(Array(self.key.publicKey.rawRepresentation)) }
    private var keyID: String {
        Base64URL.encode(sha256(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(self.x)"}"#.utf8)))
    }

    func configuration() throws -> ClientConfiguration {
        let keys: JSON = ["keys": [["kty": "OKP", "crv": "Ed25519", "x": .string(self.x), "kid": .string(self.keyID)]]]
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pins.example.com",
            anchors: try TrustAnchors(jwks: keys.canonicalBytes),
            services: [try ServiceAddress("https://pins.example.com")],
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        // A machine that is busy with other tests is no reason to go on without a document.
        configuration.connectionWait = .seconds(60)
        return configuration
    }

    /// A client that holds a document which ships with the app.
    func client(
        holding document: [UInt8], transport: any DocumentTransport = NextDocument(),
        change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> PinledgerClient {
        var configuration = try self.configuration()
        configuration.builtinDocument = document
        change(&configuration)
        let client = PinledgerClient(configuration, store: MemoryStore(), transport: transport) { _ in }
        _ = await client.load()
        try #require(client.policy.document != nil)
        return client
    }
}

/// A service that has one document, or none.
final class NextDocument: DocumentTransport {
    struct None: Error {}
    private let document = Mutex<[UInt8]?>(nil)

    func set(_ bytes: [UInt8]) { self.document.withLock { $0 = bytes } }

    func get(_ request: TransportRequest) throws -> DocumentResponse {
        guard let bytes = self.document.withLock({ $0 }) else { throw None() }
        return DocumentResponse(status: 200, body: bytes)
    }
}

extension Pin {
    /// Another pin.
    var flipped: Pin {
        guard let pin = Pin(bytes: sha256(self.bytes)) else { preconditionFailure("32 bytes make a pin") }
        return pin
    }
}

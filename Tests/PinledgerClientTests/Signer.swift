import Crypto
import PinWire

@testable import PinledgerClient

/// A server's part: a key that signs documents.
struct Signer {
    let key = Curve25519.Signing.PrivateKey()

    var x: String { Base64URL.encode(Array(self.key.publicKey.rawRepresentation)) }

    var keyID: String { Base64URL.encode(sha256(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(self.x)"}"#.utf8))) }

    var jwk: JSON { ["kty": "OKP", "crv": "Ed25519", "x": .string(self.x), "kid": .string(self.keyID)] }

    static func anchors(_ signers: Signer...) throws -> TrustAnchors {
        try TrustAnchors(jwks: JSON.object(["keys": .array(signers.map(\.jwk))]).canonicalBytes)
    }

    func sign(_ payload: [UInt8], header: JSON? = nil) throws -> [UInt8] {
        let header = header ?? ["alg": "EdDSA", "kid": .string(self.keyID), "typ": "pinset+jws"]
        let input = Base64URL.encode(header.canonicalBytes) + "." + Base64URL.encode(payload)
        let signature = try self.key.signature(for: Array(input.utf8))
        return Array("\(input).\(Base64URL.encode(Array(signature)))".utf8)
    }

    func sign(
        _ document: Document, issued: Int64 = Fixed.issued, lifetime: Int64 = 86_400
    ) throws -> [UInt8] {
        try self.sign(
            document.payload(
                issuedAt: Timestamp(seconds: issued), expiresAt: Timestamp(seconds: issued + lifetime)))
    }
}

/// Values that many tests share.
enum Fixed {
    static let issued: Int64 = 1_790_000_000
    static let now = Timestamp(seconds: Self.issued + 60)
    static let issuer = "pins.example.com"

    static func services(_ texts: String...) throws -> [ServiceAddress] { try texts.map { try ServiceAddress($0) } }

    static func app(_ text: String = "com.example.shop") throws -> AppID { try AppID(text) }

    static func pin(_ number: UInt8) -> Pin {
        guard let pin = Pin(bytes: sha256([number])) else { preconditionFailure("32 bytes make a pin") }
        return pin
    }

    static func document(
        _ version: Int64 = 7, app: String = "com.example.shop", issuer: String = Self.issuer,
        mode: PinMode = .enforce, pins: [UInt8] = [1, 2], switches: [Document.KillSwitch] = [],
        pinsValidUntil: Timestamp? = nil
    ) throws -> Document {
        let host = Document.Host(
            pattern: try HostPattern("api.example.com"), includesSubdomains: false,
            baseline: Document.Policy(
                mode: mode,
                pins: pins.enumerated().map { Document.RolePin(pin: Fixed.pin($1), role: $0 == 0 ? .primary : .backup) }
            ),
            candidate: nil, rollout: nil)
        return Document(
            issuer: issuer, app: try Fixed.app(app), version: version, pinsValidUntil: pinsValidUntil,
            killSwitches: switches, rollout: nil, versionGate: nil, hosts: [host],
            fallback: Fallback(usesBuiltinPins: true, hosts: [try HostPattern("old.example.com")]),
            monitoring: Monitoring())
    }
}

extension TransportRequest {
    /// The header fields by their names.
    var fields: [String: String] { Dictionary(self.headers.map { ($0.name, $0.value) }) { $1 } }
}

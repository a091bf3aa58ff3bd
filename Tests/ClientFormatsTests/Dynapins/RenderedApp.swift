import PinWire
import Pinning

/// An app as formats render it: hosts with their pins, and what is known of their keys.
struct RenderedApp {
    /// 2025-10-17T10:40:00Z, the instant of every rendering.
    static let now = Timestamp(seconds: 1_760_697_600)

    private var hosts: [Document.Host] = []
    private var keys: [Pin: KeyKnowledge] = [:]
    private var served: [HostPattern: Set<Pin>] = [:]
    var killSwitches: [Document.KillSwitch] = []
    var pinsValidUntil: Timestamp?

    /// Adds a host; with mode nil one that is left to the pins built into the app.
    mutating func add(
        _ pattern: String, mode: PinMode? = .enforce, includesSubdomains: Bool = false,
        _ pins: [(pin: Pin, role: PinRole)] = []
    ) throws {
        self.hosts.append(
            Document.Host(
                pattern: try HostPattern(pattern), includesSubdomains: includesSubdomains,
                baseline: mode.map {
                    Document.Policy(mode: $0, pins: pins.map { Document.RolePin(pin: $0.pin, role: $0.role) })
                },
                candidate: nil, rollout: nil))
    }

    /// Says that a probe saw the server of a host use a key.
    mutating func see(_ pin: Pin, at pattern: String) throws {
        self.served[try HostPattern(pattern), default: []].insert(pin)
    }

    /// Engages a kill switch for everything.
    mutating func switchOff() {
        self.killSwitches = [
            Document.KillSwitch(
                scope: "everything", host: nil, engagedAt: Self.now.adding(seconds: -60),
                expiresAt: Self.now.adding(seconds: 3600))
        ]
    }

    mutating func know(_ key: KeyFacts) { self.keys[key.pin] = KeyKnowledge(.publicKey(key)) }

    /// Adds a certificate behind those known of its key.
    mutating func know(_ certificate: CertificateFacts) {
        var knowledge = self.keys[certificate.key.pin] ?? KeyKnowledge(.publicKey(certificate.key))
        knowledge.certificates.append(certificate)
        self.keys[certificate.key.pin] = knowledge
    }

    func view() throws -> ClientView {
        let id = try AppID("com.example.app")
        var app = App(id: id, displayName: "Example", createdAt: Self.now)
        for (pin, knowledge) in self.keys { app.keys[pin] = knowledge }
        let document = Document(
            issuer: "pins.example.com", app: id, version: 42, pinsValidUntil: self.pinsValidUntil,
            killSwitches: self.killSwitches, rollout: nil, versionGate: nil, hosts: self.hosts, fallback: Fallback(),
            monitoring: Monitoring())
        return ClientView(document, of: app, served: self.served, at: Self.now)
    }
}

extension Pin {
    /// The pin of an imagined key.
    static func imagined(_ name: String) throws -> Pin { try Pin(text: Base64.encode(sha256(Array(name.utf8)))) }

    /// The pin of a digest in hexadecimal.
    static func hex(_ text: String) throws -> Pin { try Pin(text: Base64.encode(Hex.decode(text) ?? [])) }
}

extension CertificateFacts {
    /// An imagined certificate of an imagined key.
    static func imagined(
        _ name: String, key: String, notAfter: Timestamp = RenderedApp.now.adding(seconds: 86_400), isCA: Bool = false
    ) throws -> CertificateFacts {
        CertificateFacts(
            key: KeyFacts(
                pin: try .imagined(key), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: [], rawKeySHA256: []),
            sha256: PinWire.sha256(Array(name.utf8)),
            sha1: Array(PinWire.sha256(Array("sha1 \(name)".utf8)).prefix(20)),
            subject: "CN=\(name)", issuer: "CN=Example CA,O=Example\\, Inc.,C=DE", commonName: name,
            dnsNames: isCA ? [] : ["api.example.com"], serial: "1", notBefore: RenderedApp.now, notAfter: notAfter,
            isCA: isCA)
    }
}

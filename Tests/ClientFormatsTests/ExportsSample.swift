import ClientFormats
import PinWire
import Pinning
import Testing

/// Hosts of every kind, and what tests write and compare them with.
enum ExportsSample {
    /// 2026-01-31T12:00:00Z.
    static let now = Timestamp(seconds: 1_769_860_800)
    /// 2027-01-31T12:00:00Z.
    static let until = Timestamp(seconds: 1_801_396_800)

    /// In the notation of ``host(_:)``.
    static let hosts = [
        "api.example.com 1 2", "*.cdn.example.com 3 4", "example.org+ 1 3", "off.example.org off 7 8",
        "old.example.net builtin", "shop.example+ 2 4", "test.example.org report_only 5 6",
    ]

    /// The pin of 32 times one byte.
    static func pin(_ byte: UInt8) throws -> Pin {
        try #require(Pin(bytes: Array(repeating: byte, count: 32)))
    }

    /// A host written as its pattern, `+` where it includes subdomains, its mode unless that is `enforce`, and the
    /// bytes of its pins by role.
    static func host(_ text: String) throws -> Document.Host {
        var words = text.split(separator: " ").map(String.init)
        let isDeep = words[0].hasSuffix("+")
        let pattern = try HostPattern(isDeep ? String(words[0].dropLast()) : words[0])
        words.removeFirst()
        let isBuiltin = words.first == "builtin"
        let mode = words.first.flatMap { PinMode(rawValue: $0) } ?? .enforce
        let pins = try zip(PinRole.allCases, words.compactMap { UInt8($0) }).map {
            Document.RolePin(pin: try Self.pin($1), role: $0)
        }
        return Document.Host(
            pattern: pattern, includesSubdomains: isDeep,
            baseline: isBuiltin ? nil : Document.Policy(mode: mode, pins: pins), candidate: nil, rollout: nil)
    }

    static func view(
        _ hosts: [Document.Host], displayName: String = "The shop", validUntil: Timestamp? = nil,
        killSwitches: [Document.KillSwitch] = [], served: [HostPattern: Set<Pin>] = [:], at now: Timestamp = Self.now
    ) throws -> ClientView {
        let id = try AppID("com.example.shop")
        var app = App(id: id, displayName: displayName, createdAt: Timestamp(seconds: 0))
        app.keys[try Self.pin(1)] = try Self.knowledge(1, certificates: [0xA1])
        app.keys[try Self.pin(3)] = try Self.knowledge(3, certificates: [0xA3], isCA: true)
        app.keys[try Self.pin(4)] = try Self.knowledge(4, certificates: [0xB4, 0xA4])
        let document = Document(
            issuer: "pinledger", app: id, version: 7, pinsValidUntil: validUntil, killSwitches: killSwitches,
            rollout: nil, versionGate: nil, hosts: hosts, fallback: Fallback(), monitoring: Monitoring())
        return ClientView(document, of: app, served: served, at: now)
    }

    static func view(
        _ hosts: [String] = Self.hosts, displayName: String = "The shop", validUntil: Timestamp? = nil
    ) throws -> ClientView {
        try Self.view(try hosts.map(Self.host), displayName: displayName, validUntil: validUntil)
    }

    /// What is known of a key with certificates of these digests.
    static func knowledge(_ key: UInt8, certificates: [UInt8], isCA: Bool = false) throws -> KeyKnowledge {
        let facts = KeyFacts(
            pin: try Self.pin(key), algorithm: "ec", bits: 256, curve: "P-256",
            spkiSHA512: Array(repeating: key, count: 64), rawKeySHA256: Array(repeating: key, count: 32))
        var knowledge = KeyKnowledge(.publicKey(facts))
        knowledge.certificates = certificates.map {
            CertificateFacts(
                key: facts, sha256: Array(repeating: $0, count: 32), sha1: Array(repeating: $0, count: 20),
                subject: "CN=a", issuer: "CN=b", dnsNames: isCA ? [] : ["example.com"], serial: "1",
                notBefore: Timestamp(seconds: 0), notAfter: Timestamp(seconds: 1), isCA: isCA)
        }
        return knowledge
    }

    /// Imported hosts in the notation of ``host(_:)``, with the day until which they hold at the end.
    static func words(_ imported: ImportedPins) -> [String] {
        imported.hosts.map { host in
            var words = [host.pattern.text + (host.includesSubdomains ? "+" : "")]
            if host.mode != .enforce { words.append(host.mode.rawValue) }
            words += host.pins.map { String($0.bytes[0]) }
            if let end = host.validUntil { words.append("until \(end)") }
            return words.joined(separator: " ")
        }
    }
}

extension Export {
    var text: String { String(decoding: self.bytes, as: UTF8.self) }
}

import ClientFormats
import PinWire
import Pinning

/// Views to render. Test data is known to be well-formed; where it is not, the test cannot go on.
enum RemoteConfigExamples {
    static let noon = Timestamp(seconds: 1_769_860_800)
    static let api = host("api.example.com")
    static let pay = host("pay.example.com")
    static let web = host("web.example.com")

    static func host(_ text: String) -> HostPattern {
        do { return try HostPattern(text) } catch { fatalError("\(text) \(error)") }
    }

    static func version(_ text: String) -> AppVersion {
        do { return try AppVersion(text) } catch { fatalError("\(text) \(error)") }
    }

    /// The pin of an imagined key.
    static func pin(_ number: Int) -> Pin {
        guard let pin = Pin(bytes: sha256(Array("key \(number)".utf8))) else { fatalError("a digest has 32 bytes") }
        return pin
    }

    static func text(_ number: Int) -> String { self.pin(number).description }

    /// The pins of these keys, a primary first and backups after it.
    static func policy(_ mode: PinMode = .enforce, _ numbers: Int...) -> Document.Policy {
        Document.Policy(
            mode: mode,
            pins: numbers.enumerated().map { .init(pin: self.pin($1), role: $0 == 0 ? .primary : .backup) })
    }

    static func entry(
        _ pattern: HostPattern, _ baseline: Document.Policy?, candidate: Document.Policy? = nil,
        _ rollout: Rollout? = nil, includesSubdomains: Bool = false
    ) -> Document.Host {
        Document.Host(
            pattern: pattern, includesSubdomains: includesSubdomains, baseline: baseline, candidate: candidate,
            rollout: rollout)
    }

    /// In force from an hour ago until in an hour.
    static func kill(
        _ scope: String, _ host: HostPattern? = nil, versions: VersionGate? = nil, from: Int64 = -3600,
        until: Int64 = 3600
    ) -> Document.KillSwitch {
        Document.KillSwitch(
            scope: scope, host: host, versions: versions, engagedAt: self.noon.adding(seconds: from),
            expiresAt: self.noon.adding(seconds: until))
    }

    static func view(
        _ hosts: [Document.Host], kills: [Document.KillSwitch] = [], rollout: Rollout? = nil, gate: VersionGate? = nil,
        fallback: Fallback = Fallback(), monitoring: Monitoring = Monitoring(), validUntil: Timestamp? = nil,
        knowledge: [KeyFacts] = [], served: [HostPattern: Set<Pin>] = [:], device: Device = Device()
    ) -> ClientView {
        let id: AppID
        do { id = try AppID("com.example.shop") } catch { fatalError("\(error)") }
        var app = App(id: id, displayName: "Shop", createdAt: self.noon)
        for key in knowledge { app.keys[key.pin] = KeyKnowledge(.publicKey(key)) }
        let document = Document(
            issuer: "pinledger", app: id, version: 42, pinsValidUntil: validUntil, killSwitches: kills,
            rollout: rollout, versionGate: gate, hosts: hosts, fallback: fallback, monitoring: monitoring)
        return ClientView(document, of: app, served: served, device: device, at: self.noon)
    }
}

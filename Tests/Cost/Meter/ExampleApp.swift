import Keys
import PinWire
import Pinning

/// An app as it is in the field, in a ledger of its own: each host has three pins, of which the first one's certificate is known. The
/// first host has a candidate for a quarter of the devices, and the key of the second is being rotated.
struct ExampleApp {
    /// The instant of everything that is done with it.
    static let now = Timestamp(seconds: 1_800_000_000)
    /// Everything before was recorded long ago.
    private static let past = Timestamp(seconds: 1_790_000_000)

    static let rotation = "renewal"

    let id: AppID
    let hosts: [HostPattern]
    private(set) var state = LedgerState()
    /// The events so far, in order.
    private(set) var events: [(stream: StreamID, event: Event)] = []

    init(hosts count: Int) throws {
        self.id = try AppID("com.example.shop")
        self.hosts = try (0..<count).map { try HostPattern("h\($0).shop.example.com") }
        try self.record(.appCreated(displayName: "Shop"))
        for (number, host) in self.hosts.enumerated() {
            try self.record(.hostAdded(host, includesSubdomains: false, mode: .enforce))
            for (place, role) in [PinRole.primary, .backup, .emergency].enumerated() {
                let pin = try Self.pin(10 * number + place)
                try self.record(.pinStaged(host, .baseline, pin, role, note: nil))
                try self.record(.pinActivated(host, .baseline, pin))
            }
            try self.record(.keyDescribed(.certificate(try Self.certificate(10 * number, for: host))))
        }
        try self.record(.monitoringSet(Monitoring(isEnabled: true)))
        try self.beginRollout(of: self.hosts[0])
        try self.beginRotation(of: self.hosts[1])
        try self.letCommand()
    }

    private mutating func beginRollout(of host: HostPattern) throws {
        try self.record(.candidateStarted(host, mode: .enforce))
        for (number, role) in [(0, PinRole.primary), (3, .backup)] {
            let pin = try Self.pin(number)
            try self.record(.pinStaged(host, .candidate, pin, role, note: nil))
            try self.record(.pinActivated(host, .candidate, pin))
        }
        try self.record(.hostRolloutSet(host, Rollout(basisPoints: 2500)))
    }

    private mutating func beginRotation(of host: HostPattern) throws {
        let next = try Self.pin(19)
        try self.record(
            .rotationStarted(
                Rotation(
                    id: Self.rotation, kind: .planned, hosts: [host], next: next, isNextNew: true,
                    old: [try Self.pin(10)], goals: Rotation.Goals(), startedAt: Self.past)))
        try self.record(.pinStaged(host, .baseline, next, .backup, note: nil))
        try self.record(.pinActivated(host, .baseline, next))
    }

    // MARK: Recording

    mutating func record(_ event: AppEvent) throws { try self.record(.app(event), in: .app(self.id)) }

    private mutating func record(_ event: Event, in stream: StreamID) throws {
        guard self.state.apply(event, of: stream, at: Self.past) else { throw Works.Unfit("\(event) is not taken") }
        self.events.append((stream, event))
    }

    // MARK: Commanding

    /// The token of a person with several grants, one of which allows everything.
    static let commander = Actor(kind: .token, id: "tok_1", name: "Ada")

    private mutating func letCommand() throws {
        let grants = try (0..<5).map { number in
            Grant(role: RoleName(.editor), apps: [.one(try AppID("org.example.a\(number)"))])
        }
        try self.record(.access(.principalAdded(id: "prn_1", .person, name: "Ada")), in: .access)
        for (number, grant) in (grants + [Grant(role: RoleName(.admin), apps: [.prefix("com.example.")])]).enumerated()
        {
            try self.record(.access(.roleGranted(id: "grt_\(number)", principal: "prn_1", grant)), in: .access)
        }
        let terms = AccessToken.Terms(kind: .general, grants: nil, principal: "prn_1")
        let token = NewToken(
            id: "tok_1", name: "laptop", digest: sha256([1]), expiresAt: Self.now.adding(seconds: 86_400), terms: terms)
        try self.record(.access(.tokenIssued(token)), in: .access)
    }

    /// The state in which the commander's commands are decided.
    static func context(isForced: Bool) throws -> DecisionContext {
        var context = DecisionEnvironment { ["com", "co.uk", "github.io"].contains($0) }.context(at: Self.now)
        context.reason = try Reason("renewal of the certificates")
        context.isForced = isForced
        context.commander = Self.commander
        return context
    }

    // MARK: Keys

    /// The pin of an imagined key.
    static func pin(_ number: Int) throws -> Pin {
        guard let pin = Pin(bytes: sha256(Array("key \(number)".utf8))) else {
            throw Works.Unfit("a digest has 32 bytes")
        }
        return pin
    }

    static func key(_ number: Int) throws -> KeyFacts {
        let pin = try Self.pin(number)
        return KeyFacts(
            pin: pin, algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: pin.bytes + sha256(pin.bytes),
            rawKeySHA256: sha256(pin.bytes))
    }

    private static func certificate(_ number: Int, for host: HostPattern) throws -> CertificateFacts {
        let key = try Self.key(number)
        return CertificateFacts(
            key: key, sha256: sha256(Array("certificate \(number)".utf8)),
            sha1: Array(sha256(Array("certificate \(number)".utf8)).prefix(20)),
            subject: "CN=\(host.name),O=Example\\, Inc.,C=DE", issuer: "CN=Example CA", commonName: host.name,
            dnsNames: [host.name], serial: Hex.encode(key.pin.bytes.prefix(8)),
            notBefore: Self.past.adding(seconds: -86_400), notAfter: Self.now.adding(seconds: 100 * 86_400))
    }

    /// The key that signs documents.
    static func signingKey() throws -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: sha256(Array("signing key".utf8)))
    }

    /// The app's present document, signed.
    func signedDocument() throws -> [UInt8] {
        guard let document = self.state.document(of: self.id) else { throw Works.Unfit("the app has no document") }
        let key = try Self.signingKey()
        let payload = document.payload(issuedAt: Self.now, expiresAt: Self.now.adding(seconds: 86_400))
        let text = try CompactJWS.sign(payload, type: "pinset+jws", keyID: key.publicKey.keyID, key: key)
        return Array(text.utf8)
    }
}

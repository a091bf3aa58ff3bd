/// The document for one app's clients: everything that holds at one position of the ledger, before it is signed.
///
/// The payload is canonical JSON of integers and printable ASCII. Its instants are whole seconds, rounded down, here as
/// on the wire: a decision by this value is the decision of clients. `content_sha256` covers all but the freshness
/// fields (`iat`, `exp`) and itself, so that signing again for freshness keeps it.
public struct Document: Hashable, Sendable {
    /// The issuer: the `iss` claim.
    public var issuer: String
    /// The app: the `aud` claim.
    public var app: AppID
    /// Grows with every event that can change the document, and never falls.
    public var version: Int64
    /// After this instant clients stop enforcing the document's pins; nil for never.
    public var pinsValidUntil: Timestamp? { didSet { self.pinsValidUntil = self.pinsValidUntil?.wholeSeconds } }
    public var killSwitches: [KillSwitch]
    public var rollout: Rollout?
    public var versionGate: VersionGate?
    public var hosts: [Host]
    public var fallback: Fallback
    public var monitoring: Monitoring
    /// When the app was archived; nil for an app in use. An archived app's document has no hosts.
    public var archivedAt: Timestamp? { didSet { self.archivedAt = self.archivedAt?.wholeSeconds } }
    /// The ``contentDigest``, 32 bytes, of the document from which this one was made for a device; nil for a document
    /// that holds for all devices.
    public var evaluatedFrom: [UInt8]?

    public init(
        issuer: String, app: AppID, version: Int64, pinsValidUntil: Timestamp?, killSwitches: [KillSwitch],
        rollout: Rollout?, versionGate: VersionGate?, hosts: [Host], fallback: Fallback, monitoring: Monitoring,
        archivedAt: Timestamp? = nil, evaluatedFrom: [UInt8]? = nil
    ) {
        self.issuer = issuer
        self.app = app
        self.version = version
        self.pinsValidUntil = pinsValidUntil?.wholeSeconds
        self.killSwitches = killSwitches
        self.rollout = rollout
        self.versionGate = versionGate
        self.hosts = hosts
        self.fallback = fallback
        self.monitoring = monitoring
        self.archivedAt = archivedAt?.wholeSeconds
        self.evaluatedFrom = evaluatedFrom
    }

    /// An operator's statement that pinning is off for a scope, until it is released or expires.
    public struct KillSwitch: Hashable, Sendable {
        /// `everything`, `app`, `host` or `app_versions`.
        public var scope: String
        public var host: HostPattern?
        /// The app versions of the scope `app_versions`; nil for the other scopes.
        public var versions: VersionGate?
        public var engagedAt: Timestamp { didSet { self.engagedAt = self.engagedAt.wholeSeconds } }
        public var expiresAt: Timestamp { didSet { self.expiresAt = self.expiresAt.wholeSeconds } }

        public init(
            scope: String, host: HostPattern?, versions: VersionGate? = nil, engagedAt: Timestamp, expiresAt: Timestamp
        ) {
            self.scope = scope
            self.host = host
            self.versions = versions
            self.engagedAt = engagedAt.wholeSeconds
            self.expiresAt = expiresAt.wholeSeconds
        }

        var json: JSON {
            .members([
                "scope": .string(self.scope),
                "host": self.host.map { .string($0.text) },
                "versions": self.versions?.json,
                "engaged_at": .integer(self.engagedAt.seconds),
                "expires_at": .integer(self.expiresAt.seconds),
            ])
        }
    }

    /// The policies and rollout of one host pattern.
    public struct Host: Hashable, Sendable {
        public var pattern: HostPattern
        /// Whether the pattern also covers names any number of labels below its own.
        public var includesSubdomains: Bool
        /// What devices outside the rollout get; nil for the pins built into the app.
        public var baseline: Policy?
        /// What devices inside the rollout get; nil for the baseline.
        public var candidate: Policy?
        public var rollout: Rollout?
        /// In an evaluated document, which of the two policies ``baseline`` is; nil in all others.
        public var arm: PolicyArm?

        public init(
            pattern: HostPattern, includesSubdomains: Bool, baseline: Policy?, candidate: Policy?, rollout: Rollout?,
            arm: PolicyArm? = nil
        ) {
            self.pattern = pattern
            self.includesSubdomains = includesSubdomains
            self.baseline = baseline
            self.candidate = candidate
            self.rollout = rollout
            self.arm = arm
        }

        var json: JSON {
            .members([
                "host": .string(self.pattern.text),
                "include_subdomains": .bool(self.includesSubdomains),
                "baseline": self.baseline?.json ?? ["source": "builtin"],
                "candidate": self.candidate?.json,
                "rollout": self.rollout?.documentJSON,
                "arm": self.arm.map { .string($0.rawValue) },
            ])
        }
    }

    /// A mode and the pins that go with it.
    public struct Policy: Hashable, Sendable {
        public var mode: PinMode
        /// Published pins: primary first, then backup, then emergency, each in byte order.
        public var pins: [RolePin]

        public init(mode: PinMode, pins: [RolePin]) {
            self.mode = mode
            self.pins = pins
        }

        var json: JSON {
            [
                "source": "document",
                "mode": .string(self.mode.rawValue),
                "pins": .array(
                    self.pins.map { pin in
                        ["alg": "sha256", "role": .string(pin.role.rawValue), "spki": .string(pin.pin.base64)]
                    }
                ),
            ]
        }
    }

    /// A pin and what it is kept for.
    public struct RolePin: Hashable, Sendable {
        public var pin: Pin
        public var role: PinRole

        public init(pin: Pin, role: PinRole) {
            self.pin = pin
            self.role = role
        }
    }

    /// The bucketing algorithm that a document's rollouts are evaluated with.
    public static let bucketing = "pinroll/v1"

    /// All members but `iat`, `exp` and `content_sha256`.
    public var content: JSON {
        .members([
            "iss": .string(self.issuer),
            "aud": .string(self.app.text),
            "version": .integer(self.version),
            "pins_valid_until": self.pinsValidUntil.map { .integer($0.seconds) },
            "bucketing": .string(Self.bucketing),
            "kill_switches": .array(self.killSwitches.map(\.json)),
            "rollout": self.rollout?.documentJSON,
            "version_gate": self.versionGate?.json,
            "hosts": .array(self.hosts.map(\.json)),
            "fallback": self.fallback.json,
            "monitoring": self.monitoring.json,
            "archived_at": self.archivedAt.map { .integer($0.seconds) },
            "evaluated_from": self.evaluatedFrom.map { .string(Hex.encode($0)) },
        ])
    }

    /// SHA-256 of the canonical ``content``: 32 bytes.
    public var contentDigest: [UInt8] { self.encoded.digest }

    /// The canonical ``content``, member by member: what is signed is written once, although the digest is of most of it.
    struct Encoded {
        /// Names with the canonical bytes of their values, in canonical order.
        private let members: [(name: String, value: [UInt8])]
        /// SHA-256 of the canonical content.
        let digest: [UInt8]

        /// - Parameter hosts: The canonical bytes of the hosts, where they are known, in place of those in the content.
        init(_ content: JSON, hosts: ArraySlice<UInt8>? = nil) {
            let members = (content.objectValue ?? [:]).map { name, value in
                (
                    name: name,
                    value: name == "hosts" ? hosts.map(Array.init) ?? value.canonicalBytes : value.canonicalBytes
                )
            }
            .sorted { JSON.precedes($0.name, $1.name) }
            self.members = members
            self.digest = sha256(Self.object(members))
        }

        /// ``Document/payload(issuedAt:expiresAt:)``.
        func payload(issuedAt: Timestamp, expiresAt: Timestamp) -> [UInt8] {
            let more: [(name: String, value: [UInt8])] = [
                ("content_sha256", JSON.string(Hex.encode(self.digest)).canonicalBytes),
                ("iat", JSON.integer(issuedAt.seconds).canonicalBytes),
                ("exp", JSON.integer(expiresAt.seconds).canonicalBytes),
            ]
            return Self.object((self.members + more).sorted { JSON.precedes($0.name, $1.name) })
        }

        private static func object(_ members: [(name: String, value: [UInt8])]) -> [UInt8] {
            var out: [UInt8] = []
            out.reserveCapacity(members.reduce(2) { $0 + $1.name.utf8.count + $1.value.count + 4 })
            out.append(UInt8(ascii: "{"))
            for (place, member) in members.enumerated() {
                if place > 0 { out.append(UInt8(ascii: ",")) }
                JSON.appendQuoted(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                out += member.value
            }
            out.append(UInt8(ascii: "}"))
            return out
        }
    }

    var encoded: Encoded { Encoded(self.content) }

    /// The bytes to sign: ``content`` with its digest and the freshness fields.
    ///
    /// - Parameters:
    ///   - issuedAt: `iat`, written in whole seconds.
    ///   - expiresAt: `exp`; after it a client fetches the document again before it connects to a pinned host. Where it
    ///     cannot, it uses the pins it has, until `pins_valid_until`, and reports that they are stale.
    public func payload(issuedAt: Timestamp, expiresAt: Timestamp) -> [UInt8] {
        self.encoded.payload(issuedAt: issuedAt, expiresAt: expiresAt)
    }
}

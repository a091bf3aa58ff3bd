package import PinWire

/// The facts from outside the ledger at the time of a decision: the chains that servers present, the documents that
/// clients hold, and this deployment's promises to its clients. A value of one instant; reading it never waits.
package struct ExternalFacts: Sendable {
    /// Probes' results for an endpoint; nil where none ever answered for it.
    package var endpoint: @Sendable (Endpoint) -> EndpointFacts?
    /// The share of an app's clients that hold a document of at least a version, by signed reports; nil where nothing
    /// is known.
    package var adoption: @Sendable (AppID, _ version: Int64) -> AdoptionShare?
    /// The statements of an app's clients, which anyone can invent; nil where nothing is known.
    package var claims: @Sendable (AppID) -> AdoptionClaims?
    /// A surge of statements about an app's clients, from whatever source; nil where there is none.
    package var surge: @Sendable (AppID) -> AdoptionSurge?
    /// The reports of an app's clients about their connections; nil where nothing is known.
    package var telemetry: @Sendable (AppID) -> TelemetryFacts?
    /// When a certificate's authority suggests to renew it, by the certificate's SHA-256; nil where that is not known.
    package var renewal: @Sendable ([UInt8]) -> RenewalWindow?
    /// The DER of a key or a certificate, by its SHA-256, as far as it is at hand; nil where it is not.
    package var material: @Sendable (_ digest: [UInt8]) -> [UInt8]?
    /// How long a signed document is fresh, in seconds.
    package var documentLifetime: Int64
    /// How long caches keep a document, in seconds.
    package var documentMaxAge: Int64
    /// Names under which this service itself is reached; empty where none are set.
    package var ownHosts: Set<String>
    /// How long in advance dates are announced.
    package var horizons: Horizons

    package init(
        documentLifetime: Int64 = 86_400, documentMaxAge: Int64 = 60, ownHosts: Set<String> = [],
        horizons: Horizons = .standard,
        endpoint: @escaping @Sendable (Endpoint) -> EndpointFacts? = { _ in nil },
        adoption: @escaping @Sendable (AppID, _ version: Int64) -> AdoptionShare? = { _, _ in nil },
        claims: @escaping @Sendable (AppID) -> AdoptionClaims? = { _ in nil },
        surge: @escaping @Sendable (AppID) -> AdoptionSurge? = { _ in nil },
        telemetry: @escaping @Sendable (AppID) -> TelemetryFacts? = { _ in nil },
        renewal: @escaping @Sendable ([UInt8]) -> RenewalWindow? = { _ in nil },
        material: @escaping @Sendable (_ digest: [UInt8]) -> [UInt8]? = { _ in nil }
    ) {
        self.documentLifetime = documentLifetime
        self.documentMaxAge = documentMaxAge
        self.ownHosts = ownHosts
        self.horizons = horizons
        self.material = material
        self.endpoint = endpoint
        self.adoption = adoption
        self.claims = claims
        self.surge = surge
        self.telemetry = telemetry
        self.renewal = renewal
    }

    /// After this time no client considers an older document fresh: seconds.
    package var deliverySeconds: Int64 { self.documentLifetime + self.documentMaxAge }
}

/// A chain of certificates that an endpoint presented.
package struct ObservedChain: Hashable, Sendable {
    /// The pins of its certificates' keys, the server's own first.
    package var pins: [Pin]
    /// Its certificates in the same order; empty where they are not stored.
    package var certificates: [CertificateFacts]
    /// The address that presented it, and the node from whose place in the network it was seen.
    package var address: String
    package var vantage: String
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// Whether the newest probe of its address from its vantage point saw it.
    package var isCurrent: Bool

    package init(
        pins: [Pin], certificates: [CertificateFacts] = [], address: String, vantage: String, firstSeen: Timestamp,
        lastSeen: Timestamp, isCurrent: Bool
    ) {
        self.pins = pins
        self.certificates = certificates
        self.address = address
        self.vantage = vantage
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.isCurrent = isCurrent
    }
}

/// The results of probes of one endpoint.
package struct EndpointFacts: Hashable, Sendable {
    package var chains: [ObservedChain]
    /// When a probe last got a chain, and when one last tried.
    package var lastSuccess: Timestamp?
    package var lastAttempt: Timestamp?

    /// How old the newest answer may be to count as the present one: a day.
    package static let freshSeconds: Int64 = 86_400
    /// How long a key that was seen may come back without notice: a week.
    package static let recentSeconds: Int64 = 7 * 86_400

    package init(chains: [ObservedChain] = [], lastSuccess: Timestamp? = nil, lastAttempt: Timestamp? = nil) {
        self.chains = chains
        self.lastSuccess = lastSuccess
        self.lastAttempt = lastAttempt
    }

    /// The chains served now: those of each address's newest probe, if it is not older than a day.
    package func live(at now: Timestamp) -> [ObservedChain] {
        self.chains.filter { $0.isCurrent && now < $0.lastSeen.adding(seconds: Self.freshSeconds) }
    }

    /// The chains seen within the last week, by any address and from any vantage point.
    package func recent(at now: Timestamp) -> [ObservedChain] {
        self.chains.filter { now < $0.lastSeen.adding(seconds: Self.recentSeconds) }
    }
}

/// Whether a key is known to be served.
package enum Sighting: String, Sendable, Hashable {
    case servedNow = "served_now"
    case servedBefore = "served_before"
    case neverSeen = "never_seen"
    /// No probe of the host has been answered.
    case unknown
}

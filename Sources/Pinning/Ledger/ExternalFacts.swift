package import PinWire

/// What is known from outside the ledger when something is decided: what servers present, what clients hold, and what
/// this deployment promises its clients. A value of one instant; nothing in it is waited for.
package struct ExternalFacts: Sendable {
    /// What probes have seen of an endpoint; nil where none ever answered for it.
    package var endpoint: @Sendable (Endpoint) -> EndpointFacts?
    /// The share of an app's clients that hold a document of at least a version, as reports tell that they signed; nil
    /// where nothing is known.
    package var adoption: @Sendable (AppID, _ version: Int64) -> AdoptionShare?
    /// What an app's clients say of themselves, which anybody can make up; nil where nothing is known.
    package var claims: @Sendable (AppID) -> AdoptionClaims?
    /// That far more is said of an app's clients than before, by whomever; nil where it is not.
    package var surge: @Sendable (AppID) -> AdoptionSurge?
    /// What an app's clients report of their connections; nil where nothing is known.
    package var telemetry: @Sendable (AppID) -> TelemetryFacts?
    /// How long a signed document is fresh, in seconds.
    package var documentLifetime: Int64
    /// How long caches keep a document, in seconds.
    package var documentMaxAge: Int64
    /// Names under which this service itself is reached; empty where it was not told.
    package var ownHosts: Set<String>
    /// How long before its time something is announced.
    package var horizons: Horizons

    package init(
        documentLifetime: Int64 = 86_400, documentMaxAge: Int64 = 60, ownHosts: Set<String> = [],
        horizons: Horizons = .standard,
        endpoint: @escaping @Sendable (Endpoint) -> EndpointFacts? = { _ in nil },
        adoption: @escaping @Sendable (AppID, _ version: Int64) -> AdoptionShare? = { _, _ in nil },
        claims: @escaping @Sendable (AppID) -> AdoptionClaims? = { _ in nil },
        surge: @escaping @Sendable (AppID) -> AdoptionSurge? = { _ in nil },
        telemetry: @escaping @Sendable (AppID) -> TelemetryFacts? = { _ in nil }
    ) {
        self.documentLifetime = documentLifetime
        self.documentMaxAge = documentMaxAge
        self.ownHosts = ownHosts
        self.horizons = horizons
        self.endpoint = endpoint
        self.adoption = adoption
        self.claims = claims
        self.surge = surge
        self.telemetry = telemetry
    }

    /// After this time no client holds a document that it still takes for fresh and that is older: seconds.
    package var deliverySeconds: Int64 { self.documentLifetime + self.documentMaxAge }
}

/// A chain of certificates that an endpoint presented.
package struct ObservedChain: Hashable, Sendable {
    /// The pins of its certificates' keys, the server's own first.
    package var pins: [Pin]
    /// Its certificates in the same order; empty where they are not kept.
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

/// What probes have seen of one endpoint.
package struct EndpointFacts: Hashable, Sendable {
    package var chains: [ObservedChain]
    /// When a probe last got a chain, and when one last tried.
    package var lastSuccess: Timestamp?
    package var lastAttempt: Timestamp?

    /// How old the newest answer may be to count as what is served now: a day.
    package static let freshSeconds: Int64 = 86_400
    /// For how long a key that was seen may come back without notice: a week.
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

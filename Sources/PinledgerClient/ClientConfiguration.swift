public import PinWire

/// What an app tells ``PinledgerClient``: who it is, whom it trusts, where documents come from, and what holds without one.
public struct ClientConfiguration: Sendable {
    /// The app's id: `aud` of its documents.
    public var app: AppID
    /// The issuer that documents name: `iss`.
    public var issuer: String
    /// The root of trust or the keys that ship with the app.
    public var anchors: TrustAnchors
    /// Services that have documents, in the order in which they are asked.
    public var services: [ServiceAddress]
    /// What becomes of connections while there is neither a document nor a pin built in: at the first start without network, say.
    public var withoutDocument: EndPolicy
    /// What is known of this device: from it follows who is in a rollout. It is not sent anywhere.
    public var device = Device()
    /// A signed document that ships with the app: a floor for versions, and what holds from the first connection on until another one was
    /// fetched. With one, the first start is pinned and needs no service, until its pins end (`pins_valid_until`): ship the present one with each
    /// release.
    public var builtinDocument: [UInt8]?
    /// Pins that ship with the app.
    public var builtinPins: [BuiltinPins] = []
    /// What becomes of a host whose document's pins have ended (`pins_valid_until`), as they do when no service was reached for long enough.
    public var afterExpiry: EndPolicy
    /// Hosts to which ``afterExpiry`` does not apply: a name's own entry before the one of a wildcard, and that before the one of the
    /// document's pattern that covers the name.
    public var afterExpiryByHost: [HostPattern: EndPolicy] = [:]
    /// Hosts that the app expects to be pinned: where a document holds that says nothing of one of them, the app is told
    /// ``ClientFailure/uncoveredHosts(_:version:)``. Connections to a host that no document covers are unpinned and not reported, also where
    /// ``withoutDocument`` and ``afterExpiry`` block.
    public var expectedHosts: [HostPattern] = []
    /// How often ``PinledgerClient/run()`` fetches: this long after the last time, and up to a tenth earlier or later, so that installs
    /// do not all ask at once.
    public var refreshInterval = Duration.seconds(3600)
    /// How long one service may take to answer, its whole document included.
    public var fetchTimeout = Duration.seconds(15)
    /// How long a connection waits for the store, and how long for a fetch that is due before it, where ``PinledgerClient/prepare(for:atMost:)`` is
    /// not told otherwise. After that it goes on by what holds.
    public var connectionWait = Duration.seconds(3)

    public init(
        app: AppID, issuer: String, anchors: TrustAnchors, services: [ServiceAddress], withoutDocument: EndPolicy,
        afterExpiry: EndPolicy
    ) {
        self.app = app
        self.issuer = issuer
        self.anchors = anchors
        self.services = services
        self.withoutDocument = withoutDocument
        self.afterExpiry = afterExpiry
    }
}

extension ClientConfiguration {
    var ends: EndPolicies {
        EndPolicies(
            afterExpiry: self.afterExpiry, exceptions: self.afterExpiryByHost, withoutDocument: self.withoutDocument)
    }
}

public import PinWire

/// What an app tells ``PinledgerClient``: who it is, whom it trusts, where documents come from, and what holds without one.
public struct ClientConfiguration: Sendable {
    /// The app's id: `aud` of its documents.
    public var app: AppID
    /// The issuer that documents name: `iss`.
    public var issuer: String
    /// The root of trust or the keys that ship with the app.
    public var anchors: TrustAnchors
    /// The addresses of services that have documents, such as `https://pins.example.com`, in the order in which they are asked.
    /// A slash at the end makes no difference.
    public var services: [String]
    /// What is known of this device: from it follows who is in a rollout. It is not sent anywhere.
    public var device = Device()
    /// A signed document that ships with the app: a floor for versions, and what holds until another one was fetched.
    public var builtinDocument: [UInt8]?
    /// Pins that ship with the app.
    public var builtinPins: [BuiltinPins] = []
    /// What becomes of a host whose document's pins have ended (`pins_valid_until`).
    public var afterExpiry = EndPolicy.platformTrust
    /// Hosts to which ``afterExpiry`` does not apply.
    public var afterExpiryByHost: [HostPattern: EndPolicy] = [:]
    /// What becomes of connections while there is neither a document nor a pin built in.
    public var withoutDocument = EndPolicy.platformTrust
    /// How often ``PinledgerClient/run()`` fetches: this long after the last time, and up to a tenth earlier or later, so that installs
    /// do not all ask at once.
    public var refreshInterval = Duration.seconds(3600)
    /// How long one service may take to answer, its whole document included.
    public var fetchTimeout = Duration.seconds(15)

    public init(app: AppID, issuer: String, anchors: TrustAnchors, services: [String]) {
        self.app = app
        self.issuer = issuer
        self.anchors = anchors
        self.services = services
    }
}

package import PinWire

/// What a kind of client can do, as its makers published it, with an app's settings for it.
///
/// Each kind declares its profile once, in `Kinds`. Limits, guard rails, the matrix and exports read it and know no kinds.
package struct ClientProfile: Sendable {
    /// As people know the kind.
    package var title: String
    /// Whether installs fetch their pins from this server while they run; the others have them built into the app.
    package var isServed = false
    /// The exported file that apps have built in; nil where there is none.
    package var file: ClientFile?
    /// What answers are signed with; nil where they are not signed.
    package var signature: ClientKeyAlgorithm?
    /// The name by which the kind's SDK knows a key; nil where it has none.
    package var keyName: (@Sendable (ClientKey) -> String)?
    /// What it compares with what a server presents.
    var comparison: ClientComparison
    /// The systems on which ``comparison`` holds, to begin a sentence with; nil for all.
    var comparedOn: String?
    /// Whether pins are compared with hashes of raw keys, which are known only of uploaded keys.
    var hashesRawKeys = false
    /// Which names its entries stand for, and what holds where they overlap.
    package var names: NameMatching
    /// What a name needs to have above it.
    var suffix = RequiredSuffix.none
    /// What it makes of a host with one pin.
    package var singlePin = SinglePin.accepted
    /// What it does with a host that it has no pins of.
    var unpinned = UnpinnedHost.ignored
    /// What it makes of a host whose mode is `report_only`.
    package var reportOnly = ReportOnly.ignored(.differs)
    /// Whether its format says that pinning is off: the mode `off`, a kill switch, the end of the pins.
    var canTurnOff = false
    /// Whether a kill switch for some versions of the app reaches it.
    var versionKillSwitch = VersionSwitchSupport.unsupported
    /// What lets installs connect that cannot be turned off; nil for new pins, or a new release where pins are built in.
    var wayOut: String?
    /// How exactly its format says until when pins hold.
    package var validity = PinValidity.none
    /// Whether its format has rollouts. What these cannot say is among ``findings``.
    var hasRollouts = false
    /// How its settings are written and read.
    var settings = ClientSettingsForm()
    /// What only this kind does.
    var findings: @Sendable (ClientCheck) -> [ClientFinding] = { _ in [] }

    /// What names a kind with the systems that a sentence is about.
    func title(on systems: String?) -> String { systems.map { "\($0) \(self.title)" } ?? self.title }
}

/// A file that is exported for a kind of client.
package struct ClientFile: Hashable, Sendable {
    /// What it is called where nobody wants another name.
    package var name: String
    /// For a response's `Content-Type`. Every file is UTF-8.
    package var mediaType: String

    package init(_ name: String, _ mediaType: String = "text/plain; charset=utf-8") {
        self.name = name
        self.mediaType = mediaType
    }
}

/// What a kind of client compares with what a server presents.
enum ClientComparison: Hashable {
    /// The server's own key with the first pin.
    case firstPin
    /// The server's own key with each pin.
    case ownKey
    /// The keys of all certificates of the chain with each pin.
    case anyKey
    /// The server's own key with each pin that is a server's, or the chain's with authorities' (``PinnedIdentities``).
    case ownKeyOrAuthorities
    /// The server's own certificate, whole.
    ///
    /// - Parameters:
    ///   - ofAnyHost: Whether the certificates of all hosts count, and not only those of the host.
    ///   - orAuthority: Whether authorities' certificates are compared with those above the server's own.
    case certificate(ofAnyHost: Bool = false, orAuthority: Bool = false)
    /// What is built into the app, and not known here.
    case builtin

    var isOfCertificates: Bool {
        switch self {
        case .certificate: true
        case .firstPin, .ownKey, .anyKey, .ownKeyOrAuthorities, .builtin: false
        }
    }
}

/// What a kind of client makes of a host with one pin.
package enum SinglePin: Sendable {
    case accepted
    /// It takes the pin, and its makers recommend a second one.
    case discouraged
    /// This server does not serve it, because the app would crash.
    case notServed
    /// The app goes without pins.
    case ignored
    /// Where the mode is `enforce`, the app crashes when it starts.
    case crashes
}

/// What a kind of client does with a host that it has no pins of.
enum UnpinnedHost {
    /// It connects without looking at pins.
    case ignored
    /// It uses the pins that are built into the app.
    case builtin
    /// It refuses every connection.
    case refused
}

/// What a kind of client makes of a host whose mode is `report_only`.
package enum ReportOnly: Hashable, Sendable {
    /// It lets connections through and reports those that match no pin.
    ///
    /// - Parameter systemEnforces: Whether the system enforces the pins of connections that the client does not check.
    case reports(systemEnforces: Bool = false)
    /// It lets connections through, and says so in its own log.
    case warns
    case enforces
    /// It lets connections through and does not look at pins; how bad that is.
    case ignored(ClientFinding.Severity)

    /// Whether files can have such a host.
    package var isReported: Bool {
        switch self {
        case .reports: true
        case .warns, .enforces, .ignored: false
        }
    }

    /// Whether connections are refused all the same.
    package var isEnforced: Bool { self == .enforces || self == .reports(systemEnforces: true) }

    var isIgnored: Bool {
        switch self {
        case .ignored: true
        case .reports, .warns, .enforces: false
        }
    }
}

/// Whether a kill switch for some versions of the app reaches a kind of client.
enum VersionSwitchSupport {
    case unsupported
    /// Its requests say no version, and so it gets what holds for all.
    case versionNotSent
    /// Only through conditions of a template, or with a request that says the version.
    case inConditions
    /// With a request that says the version.
    case withVersion
}

/// How exactly a format says until when pins hold.
package enum PinValidity: Sendable {
    case none
    /// At the beginning of a day in UTC.
    case date
    /// At the beginning of a day where the device is.
    case localDate
    case instant
}

/// What a pinned name needs to have above it, or the client throws when it starts.
enum RequiredSuffix {
    case none
    /// A top-level domain: a public suffix such as `co.uk` is a name like any other.
    case topLevelDomain
    /// A public suffix.
    ///
    /// - Parameter isCaught: Whether the app goes on without pins, and does not crash.
    case publicSuffix(isCaught: Bool = false)
}

import PinWire

/// One kind of client together with one app's state: the input of the limits.
struct ClientCheck {
    let kind: ClientKind
    let settings: ClientSettings
    let view: ClientView
    /// The hosts for which the kind's clients hold pins, whether or not something turns them off for now.
    ///
    /// Served kinds whose format cannot express "off" get the pins of hosts in that mode as well.
    let pinned: [ClientView.Host]
    /// For Wultra, whose clients compare the name of a listed certificate and not its host: the digests of all
    /// certificates that they get.
    private let pooled: Set<[UInt8]>
    /// The hosts whose patterns are names, by these.
    let exact: [String: ClientView.Host]

    init(kind: ClientKind, settings: ClientSettings, view: ClientView) {
        self.kind = kind
        self.settings = settings
        self.view = view
        let reporting = ReportOnly(kind, settings)
        let getsPinsOfOff = kind.isServed && !Self.hearsOff(kind, settings)
        self.pinned = view.hosts.filter { host in
            guard !host.pins.isEmpty else { return false }
            return switch host.mode {
            case .enforce: true
            case .reportOnly: reporting != .looksAway
            case .off: getsPinsOfOff
            case nil: false
            }
        }
        var pooled: Set<[UInt8]> = []
        if kind == .wultra {
            for host in view.hosts {
                for pin in host.pins {
                    pooled.formUnion(Self.given(pin, at: host, kind, settings, view.now).map(\.sha256))
                }
            }
        }
        self.pooled = pooled
        let exact = view.hosts.filter { !$0.pattern.isWildcard }.map { ($0.pattern.name, $0) }
        self.exact = Dictionary(exact) { first, _ in first }
    }

    /// A kind's treatment of a host that only reports.
    enum ReportOnly {
        case reports
        /// It lets the connection through, and says so in its own log.
        case warns
        case enforces
        /// It lets the connection through and ignores pins.
        case looksAway

        init(_ kind: ClientKind, _ settings: ClientSettings) {
            switch kind {
            case .trustkitIOS, .trustkitAndroid: self = .reports
            case .netkit: self = .warns
            case .dynapins, .muejam, .sslPinning: self = .enforces
            case .wultra: self = settings.understandsDomains ? .looksAway : .enforces
            case .remoteConfig, .appleATS, .androidNSC, .okhttp, .okhttp3, .reactNative, .flutter, .curl:
                self = .looksAway
            }
        }
    }

    var reportOnly: ReportOnly { ReportOnly(self.kind, self.settings) }

    /// Whether its format expresses that pinning is off.
    var hearsOff: Bool { Self.hearsOff(self.kind, self.settings) }

    private static func hearsOff(_ kind: ClientKind, _ settings: ClientSettings) -> Bool {
        switch kind {
        case .remoteConfig, .netkit: true
        case .wultra: settings.understandsDomains
        default: false
        }
    }

    /// Whether it uses TrustKit for iOS.
    var isTrustKit: Bool {
        switch self.kind {
        case .trustkitIOS, .reactNative: true
        case .dynapins: self.settings.dynapins == .es256
        default: false
        }
    }

    func finding(
        _ limit: ClientLimit, _ severity: ClientFinding.Severity, host: ClientView.Host? = nil, pin: Pin? = nil,
        _ detail: String, remedy: String
    ) -> ClientFinding {
        ClientFinding(self.kind, limit, severity, host: host?.pattern, pin: pin, detail, remedy: remedy)
    }

    /// The certificates of a pin that the kind's clients get for comparison, the newest first; none for kinds that
    /// compare keys.
    func given(_ pin: ClientView.ClientPin, at host: ClientView.Host) -> [CertificateFacts] {
        Self.given(pin, at: host, self.kind, self.settings, self.view.now)
    }

    private static func given(
        _ pin: ClientView.ClientPin, at host: ClientView.Host, _ kind: ClientKind, _ settings: ClientSettings,
        _ now: Timestamp
    ) -> [CertificateFacts] {
        let own = Self.known(pin, at: host, kind, settings)
        return switch kind {
        // A file does not change with the time.
        case .flutter: own
        case .muejam, .wultra: own.filter { now < $0.notAfter }
        default: []
        }
    }

    /// The certificates of a pin that servers of a host can present as their own, without those withheld from the
    /// kind's clients; the newest first, expired ones too.
    func known(_ pin: ClientView.ClientPin, at host: ClientView.Host) -> [CertificateFacts] {
        Self.known(pin, at: host, self.kind, self.settings)
    }

    private static func known(
        _ pin: ClientView.ClientPin, at host: ClientView.Host, _ kind: ClientKind, _ settings: ClientSettings
    ) -> [CertificateFacts] {
        let own = pin.serverCertificates(at: host.pattern)
        return kind == .wultra ? own.filter { !settings.withholds($0, at: host.pattern) } : own
    }

    /// Whether a certificate is among those that clients have for a host.
    func holds(_ certificate: CertificateFacts, for host: ClientView.Host) -> Bool {
        if self.kind == .wultra { return self.pooled.contains(certificate.sha256) }
        return host.pins.contains { pin in
            pin.pin == certificate.key.pin
                && self.given(pin, at: host).contains { $0.sha256 == certificate.sha256 }
        }
    }

    /// Whether some devices get a host's candidate and others do not.
    func isRollingOut(_ host: ClientView.Host) -> Bool {
        guard host.candidate != nil else { return false }
        let rollouts = [host.rollout, self.view.document.rollout].compactMap { $0 }
        guard rollouts.allSatisfy(\.reachesSomebody) else { return false }
        return !rollouts.isEmpty || self.view.document.versionGate?.isOpen == false
    }
}

extension Rollout {
    /// Whether it lets any device in.
    fileprivate var reachesSomebody: Bool {
        !self.whitelist.isEmpty || self.method != .whitelist && self.basisPoints > 0
    }
}

extension ClientView.Host {
    /// The severity for a client that cannot use one of the pins: it refuses the server whose key is the pin's.
    ///
    /// - Parameter isUsable: Whether it can use some pin.
    func severity(without pin: ClientView.ClientPin, _ isUsable: (ClientView.ClientPin) -> Bool)
        -> ClientFinding.Severity
    {
        if self.pins.contains(where: \.isServed) { return pin.isServed ? .breaks : .differs }
        // The served key is unknown: it should be a leading one.
        let needed = self.leadingPins
        return needed.contains(pin) && !needed.contains(where: isUsable) ? .breaks : .differs
    }

    /// Whether the same pins hold in the same mode.
    func isSame(as other: ClientView.Host) -> Bool { self.mode == other.mode && self.hasPins(of: other) }

    func hasPins(of other: ClientView.Host) -> Bool { Set(self.pins.map(\.pin)) == Set(other.pins.map(\.pin)) }
}

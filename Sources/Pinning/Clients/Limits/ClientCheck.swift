import PinWire

/// One kind of client before one app's state: what limits are looked for in.
struct ClientCheck {
    let kind: ClientKind
    let settings: ClientSettings
    let view: ClientView
    /// The hosts for which the kind holds pins, whether or not something turns them off for now.
    let pinned: [ClientView.Host]

    init(kind: ClientKind, settings: ClientSettings, view: ClientView) {
        self.kind = kind
        self.settings = settings
        self.view = view
        let reporting = ReportOnly(kind, settings)
        self.pinned = view.hosts.filter { host in
            guard !host.pins.isEmpty else { return false }
            return switch host.mode {
            case .enforce: true
            case .reportOnly: reporting != .looksAway
            case .off, nil: false
            }
        }
    }

    /// What a kind makes of a host that only reports.
    enum ReportOnly {
        case reports
        /// It lets the connection through, and says so in its own log.
        case warns
        case enforces
        /// It lets the connection through and does not look at pins.
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

    /// Whether its format says that pinning is off.
    var hearsOff: Bool {
        switch self.kind {
        case .remoteConfig, .netkit: true
        case .wultra: self.settings.understandsDomains
        default: false
        }
    }

    /// Whether TrustKit for iOS does the work.
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

    /// Whether some devices get a host's candidate and others do not.
    func isRollingOut(_ host: ClientView.Host) -> Bool {
        guard host.candidate != nil else { return false }
        let rollouts = [host.rollout, self.view.document.rollout].compactMap { $0 }
        guard rollouts.allSatisfy(\.reachesSomebody) else { return false }
        return !rollouts.isEmpty || self.view.document.versionGate?.isOpen == false
    }
}

extension Rollout {
    /// Whether it lets anybody in.
    fileprivate var reachesSomebody: Bool {
        !self.whitelist.isEmpty || self.method != .whitelist && self.basisPoints > 0
    }
}

extension ClientView.Host {
    /// How bad it is that a client cannot go by one of the pins: it refuses the server whose key is the pin's.
    ///
    /// - Parameter isUsable: whether it can go by some pin.
    func severity(without pin: ClientView.ClientPin, _ isUsable: (ClientView.ClientPin) -> Bool)
        -> ClientFinding.Severity
    {
        if self.pins.contains(where: \.isServed) { return pin.isServed ? .breaks : .differs }
        // Nobody saw what is served: it should be a primary.
        let primaries = self.pins.filter { $0.role == .primary }
        let needed = primaries.isEmpty ? self.pins : primaries
        return needed.contains(pin) && !needed.contains(where: isUsable) ? .breaks : .differs
    }

    /// Whether the same pins hold in the same mode.
    func isSame(as other: ClientView.Host) -> Bool {
        self.mode == other.mode && Set(self.pins.map(\.pin)) == Set(other.pins.map(\.pin))
    }
}

extension ClientView.ClientPin {
    /// Whether it is known to be an authority's.
    func isAuthority(at pattern: HostPattern) -> Bool {
        !self.certificates.isEmpty && self.serverCertificates(at: pattern).isEmpty
    }

    /// Its certificates that a server can present as its own, the newest first.
    ///
    /// One that says it may sign and has the host for its common name is a server's, as `openssl req -x509` makes them.
    func serverCertificates(at pattern: HostPattern) -> [CertificateFacts] {
        self.certificates.filter { !$0.isAuthority || $0.covers(pattern) == .commonNameOnly }
    }
}

import PinWire

/// One kind of client together with one app's state: the input of the limits.
struct ClientCheck {
    let kind: ClientKind
    let profile: ClientProfile
    let settings: ClientSettings
    let view: ClientView
    /// The hosts for which the kind's clients hold pins, whether or not something turns them off for now.
    ///
    /// Served kinds whose format cannot express "off" get the pins of hosts in that mode as well.
    let pinned: [ClientView.Host]
    /// The hosts whose patterns are names, by these.
    let exact: [String: ClientView.Host]
    /// The digests of all certificates that the kind's clients are given, where those of any host count.
    private var pooled: Set<[UInt8]> = []

    init(kind: ClientKind, settings: ClientSettings, view: ClientView) {
        let profile = kind.profile(settings)
        self.kind = kind
        self.profile = profile
        self.settings = settings
        self.view = view
        let getsPinsOfOff = profile.isServed && !profile.canTurnOff
        self.pinned = view.hosts.filter { host in
            guard !host.pins.isEmpty else { return false }
            return switch host.mode {
            case .enforce: true
            case .reportOnly: !profile.reportOnly.isIgnored
            case .off: getsPinsOfOff
            case nil: false
            }
        }
        let exact = view.hosts.filter { !$0.pattern.isWildcard }.map { ($0.pattern.name, $0) }
        self.exact = Dictionary(exact) { first, _ in first }
        if case .certificate(ofAnyHost: true, orAuthority: _) = profile.comparison {
            for host in view.hosts {
                for pin in host.pins { self.pooled.formUnion(self.given(pin, at: host).map(\.sha256)) }
            }
        }
    }

    /// As people know the kind.
    var title: String { self.profile.title }

    func finding(
        _ limit: ClientLimit, _ severity: ClientFinding.Severity, host: ClientView.Host? = nil, pin: Pin? = nil,
        _ detail: String, remedy: String
    ) -> ClientFinding {
        ClientFinding(self.kind, limit, severity, host: host?.pattern, pin: pin, detail, remedy: remedy)
    }

    /// A notice on a kind that has pins of some host; none otherwise.
    func notice(_ limit: ClientLimit, _ detail: String, remedy: String) -> [ClientFinding] {
        self.pinned.isEmpty ? [] : [self.finding(limit, .notice, detail, remedy: remedy)]
    }

    /// The certificates of a pin that the kind's clients are given to compare with, the newest first; none for kinds that
    /// compare keys.
    func given(_ pin: ClientView.ClientPin, at host: ClientView.Host) -> [CertificateFacts] {
        guard self.profile.comparison.isOfCertificates else { return [] }
        let known = self.known(pin, at: host)
        // A file does not change with the time.
        return self.profile.isServed ? known.filter { self.view.now < $0.notAfter } : known
    }

    /// The certificates of a pin that servers of a host can present as their own, without those withheld from the
    /// kind's clients; the newest first, expired ones too.
    func known(_ pin: ClientView.ClientPin, at host: ClientView.Host) -> [CertificateFacts] {
        pin.serverCertificates(at: host.pattern).filter { !self.settings.withholds($0, at: host.pattern) }
    }

    /// Whether a certificate is among those that clients have for a host.
    func holds(_ certificate: CertificateFacts, for host: ClientView.Host) -> Bool {
        if case .certificate(ofAnyHost: true, orAuthority: _) = self.profile.comparison {
            return self.pooled.contains(certificate.sha256)
        }
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

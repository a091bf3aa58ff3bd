import PinWire

extension ClientCheck {
    /// What a probe saw a server present: the pins of its certificates' keys, the server's own first, and the
    /// certificates in the same order; the key alone where no more is known.
    typealias Seen = (pins: [Pin], certificates: [CertificateFacts])

    /// What probes saw of a host's servers: whole chains, and keys without further facts.
    func seen(at host: ClientView.Host) -> [Seen] {
        let chains = self.view.chains[host.pattern] ?? []
        let alone = (self.view.served[host.pattern] ?? []).subtracting(chains.compactMap(\.pins.first))
        return chains.map { ($0.pins, $0.certificates) } + alone.sorted().map { ([$0], []) }
    }

    /// The seen chains that clients refuse if they enforce a host's pins. None where no probe saw any, where the
    /// clients have nothing for the host, and where their data are unknown.
    func refused(at host: ClientView.Host) -> [Seen] {
        guard !host.pins.isEmpty else { return [] }
        return self.seen(at: host).filter { !self.accepts($0.pins, $0.certificates, at: host) }
    }

    /// Whether clients that enforce a host's pins refuse a chain that a probe saw one of its servers present.
    func refusesServed(_ host: ClientView.Host) -> Bool { !self.refused(at: host).isEmpty }

    /// Whether such clients refuse a server, seen by a probe, that presents a pin's key, be it its own or that of an
    /// authority above it: devices that compare the whole chain connect.
    func refuses(serversWith pin: ClientView.ClientPin, of host: ClientView.Host) -> Bool {
        self.refused(at: host).contains { $0.pins.contains(pin.pin) }
    }

    /// Whether the kind's installs enforce a host's pins, by what they get now or have built in.
    func enforces(_ host: ClientView.Host) -> Bool {
        switch host.mode {
        case .enforce: host.outcome == .enforce || !self.profile.canTurnOff
        case .reportOnly: self.profile.reportOnly.isEnforced
        // Files leave such a host out, though older ones may have it.
        case .off: self.profile.isServed && !self.profile.canTurnOff
        case nil: false
        }
    }

    /// - Parameters:
    ///   - keys: The pins of a chain, the server's own first; that one alone where the others are unknown.
    ///   - chain: Its certificates in the same order; empty where they are unknown.
    func accepts(_ keys: [Pin], _ chain: [CertificateFacts], at host: ClientView.Host) -> Bool {
        guard let own = keys.first, !self.isLeftOut(host) else { return true }
        switch self.profile.comparison {
        case .builtin: return true
        case .firstPin: return host.pins.first?.pin == own
        case .ownKey: return host.pins.contains { $0.pin == own }
        case .anyKey:
            if host.pins.contains(where: { keys.contains($0.pin) }) { return true }
            // An authority's key may be further up, where no probe looked.
            return keys.count == 1 && chain.isEmpty && host.pins.contains { $0.isAuthority(at: host.pattern) }
        case .ownKeyOrAuthorities:
            let identities = PinnedIdentities(of: host)
            guard identities.areAuthorities else { return identities.kept.contains { $0.pin == own } }
            return keys.count == 1 && chain.isEmpty || identities.kept.contains { keys.contains($0.pin) }
        case .certificate(ofAnyHost: _, let orAuthority):
            guard let leaf = chain.first else {
                return host.pins.contains { $0.pin == own && !self.given($0, at: host).isEmpty }
            }
            return self.holds(leaf, for: host) || orAuthority && self.holdsAuthority(of: chain, for: host)
        }
    }

    /// Whether a chain comes from an authority whose certificate clients are given.
    private func holdsAuthority(of chain: [CertificateFacts], for host: ClientView.Host) -> Bool {
        let above = Set(chain.dropFirst().map(\.sha256))
        return host.pins.contains { pin in
            pin.isAuthority(at: host.pattern)
                && pin.certificates.contains { self.view.now < $0.notAfter && above.contains($0.sha256) }
        }
    }

    /// A finding about a change that does not reach the kind's clients, so that they keep using a host's pins: a
    /// lock-out where they refuse the chains that its servers were seen to present.
    func unheard(
        _ limit: ClientLimit, _ severity: ClientFinding.Severity = .differs, host: ClientView.Host, _ detail: String,
        remedy: String
    ) -> ClientFinding {
        guard self.refusesServed(host) else { return self.finding(limit, severity, host: host, detail, remedy: remedy) }
        return self.finding(
            limit, .breaks, host: host,
            "\(detail) A probe saw a server of \(host.pattern) present a chain that they refuse: these installs cannot connect.",
            remedy: remedy)
    }

    /// ``unheard(_:_:host:_:remedy:)`` about several hosts at once: one finding, and one more for each of the hosts
    /// whose installs are locked out.
    func unheard(
        _ limit: ClientLimit, _ severity: ClientFinding.Severity = .differs, by hosts: [ClientView.Host],
        _ detail: String, remedy: String
    ) -> [ClientFinding] {
        [self.finding(limit, severity, detail, remedy: remedy)]
            + hosts.filter(self.refusesServed).map { self.unheard(limit, host: $0, detail, remedy: remedy) }
    }
}

import PinWire

extension ClientCheck {
    /// Whether the kind's format has a place for a host's present policy, at least for a part of its names or pins.
    func hasPlace(for host: ClientView.Host) -> Bool {
        switch host.outcome {
        // Files leave the host out, and what served kinds cannot be told they do not do.
        case .off: return !self.profile.isServed || self.profile.canTurnOff
        case .reportOnly: return self.profile.reportOnly.isReported || self.profile.reportOnly == .warns
        case .builtin: return self.profile.unpinned != .refused
        case .enforce:
            guard !host.pins.isEmpty else { return true }
            return !self.isLeftOut(host) && host.pins.contains { self.hasPlace(for: $0, of: host) }
        }
    }

    /// Whether the kind's clients get nothing for a host that has pins, and so refuse no server because of these: the
    /// format cannot express its names, or the expressible pins would refuse the servers.
    func isLeftOut(_ host: ClientView.Host) -> Bool {
        if host.pattern.isWildcard, !self.takesWildcard(host) { return true }
        if self.profile.hashesRawKeys {
            return host.pins.contains { $0.knowledge == nil && ($0.isServed || $0.role == .primary) }
                || host.pins.allSatisfy { $0.knowledge == nil }
        }
        guard !self.profile.isServed else { return false }
        return switch self.profile.comparison {
        case .ownKey, .certificate: host.leadingPins.allSatisfy { !self.hasPlace(for: $0, of: host) }
        case .firstPin, .anyKey, .ownKeyOrAuthorities, .builtin: false
        }
    }

    /// The host of a wildcard's own name, where both have the same pins in the same mode.
    func exactPattern(of host: ClientView.Host) -> ClientView.Host? {
        guard host.pattern.isWildcard, let exact = self.exact[host.pattern.name], exact.isSame(as: host) else {
            return nil
        }
        return exact
    }

    /// Whether the format can express the names of a wildcard.
    private func takesWildcard(_ host: ClientView.Host) -> Bool {
        let names = self.profile.names
        if names.isLookedUp || names.hasWildcards { return true }
        // Together with its name, if that has the same pins.
        guard let subtree = names.subtree, let exact = self.exact[host.pattern.name], exact.hasPins(of: host),
            // What is off now was not when files were made that have it.
            exact.mode == host.mode || host.mode == .off
        else { return false }
        return subtree != .all || host.includesSubdomains || exact.includesSubdomains
    }

    /// The hosts of a file that is exported now, with the pins that it has.
    fileprivate var exported: [BuiltInHost] {
        self.view.hosts.compactMap { host in
            guard host.mode == .enforce || host.mode == .reportOnly && self.profile.reportOnly.isReported,
                !self.isLeftOut(host)
            else { return nil }
            let kept =
                self.profile.comparison == .ownKeyOrAuthorities ? PinnedIdentities(of: host).kept : host.orderedPins
            let pins = kept.filter { self.hasPlace(for: $0, of: host) }.map(\.pin)
            return BuiltInHost(
                host.pattern, pins: pins,
                isEnforced: host.mode == .enforce || self.profile.reportOnly.isEnforced)
        }.filter { !$0.pins.isEmpty }
    }

    private func hasPlace(for pin: ClientView.ClientPin, of host: ClientView.Host) -> Bool {
        switch self.profile.comparison {
        case .builtin: false
        case .firstPin, .anyKey, .ownKeyOrAuthorities: true
        case .ownKey: !pin.isAuthority(at: host.pattern)
        case .certificate(ofAnyHost: _, let orAuthority):
            !self.given(pin, at: host).isEmpty || orAuthority && pin.isAuthority(at: host.pattern)
        }
    }
}

extension ClientView {
    /// The hosts of a file that is exported for a kind now, with the pins that it has: what installs get built in.
    package func exported(for kind: ClientKind, _ settings: ClientSettings) -> [BuiltInHost] {
        ClientCheck(kind: kind, settings: settings, view: self).exported
    }
}

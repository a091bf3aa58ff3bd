import PinWire

extension ClientCheck {
    /// Whether the kind's format has a place for a host's present policy, at least for a part of its names or pins.
    func hasPlace(for host: ClientView.Host) -> Bool {
        switch host.outcome {
        // Files leave the host out, and served kinds do nothing that their format cannot express.
        case .off: return !self.kind.isServed || self.hearsOff
        case .reportOnly: return self.reportOnly == .reports || self.reportOnly == .warns
        case .builtin:
            return switch self.kind {
            case .dynapins, .wultra, .muejam, .sslPinning: false
            default: true
            }
        case .enforce:
            guard !host.pins.isEmpty else { return true }
            return !self.isLeftOut(host) && host.pins.contains { self.hasPlace(for: $0, of: host) }
        }
    }

    /// Whether the kind's clients get nothing for a host that has pins, and so refuse no server because of these: the
    /// format cannot express its names, or the expressible pins would refuse the servers.
    func isLeftOut(_ host: ClientView.Host) -> Bool {
        if host.pattern.isWildcard, !self.takesWildcard(host) { return true }
        return switch self.kind {
        case .curl: host.leadingPins.allSatisfy { $0.isAuthority(at: host.pattern) }
        case .flutter: host.leadingPins.allSatisfy { $0.serverCertificates(at: host.pattern).isEmpty }
        case .remoteConfig where self.settings.schema == .advanced && self.settings.hash == .rawKey:
            host.pins.contains { $0.knowledge == nil && ($0.isServed || $0.role == .primary) }
                || host.pins.allSatisfy { $0.knowledge == nil }
        default: false
        }
    }

    /// The host of a wildcard's own name, where both have the same pins in the same mode.
    func twin(of host: ClientView.Host) -> ClientView.Host? {
        guard host.pattern.isWildcard, let exact = self.exact[host.pattern.name], exact.isSame(as: host) else {
            return nil
        }
        return exact
    }

    /// Whether the format can express the names of a wildcard.
    private func takesWildcard(_ host: ClientView.Host) -> Bool {
        switch self.kind {
        case .okhttp, .okhttp3, .sslPinning, .dynapins, .netkit, .wultra, .muejam: return true
        case .flutter, .curl, .remoteConfig: return false
        case .trustkitIOS, .trustkitAndroid, .androidNSC, .reactNative, .appleATS:
            // Together with its name, if that has the same pins.
            guard let exact = self.exact[host.pattern.name], exact.hasPins(of: host),
                // Pinning that is off now was on when older files were made.
                exact.mode == host.mode || host.mode == .off
            else { return false }
            return self.kind == .appleATS || host.includesSubdomains || exact.includesSubdomains
        }
    }

    private func hasPlace(for pin: ClientView.ClientPin, of host: ClientView.Host) -> Bool {
        switch self.comparison {
        case .builtin: false
        case .firstPin, .anyKey, .ownKeyOrAuthorities: true
        case .ownKey: !pin.isAuthority(at: host.pattern)
        case .certificate:
            !self.given(pin, at: host).isEmpty
                || self.kind == .wultra && self.settings.understandsDomains && pin.isAuthority(at: host.pattern)
        }
    }
}

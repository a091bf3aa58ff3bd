import PinWire

extension ClientCheck {
    /// Whether the kind's format has a place for what holds of a host now, be it for a part of its names or pins.
    func hasPlace(for host: ClientView.Host) -> Bool {
        switch host.outcome {
        // Files leave the host out, and what served kinds cannot be told they do not do.
        case .off: return !self.kind.isServed || self.hearsOff
        case .reportOnly: return self.reportOnly == .reports || self.reportOnly == .warns
        case .builtin:
            return switch self.kind {
            case .dynapins, .wultra, .muejam, .sslPinning: false
            default: true
            }
        case .enforce:
            guard !host.pins.isEmpty else { return true }
            guard !host.pattern.isWildcard || self.takesWildcard(host) else { return false }
            return host.pins.contains { self.hasPlace(for: $0, of: host) }
        }
    }

    /// Whether something can be said of the names that a wildcard stands for.
    private func takesWildcard(_ host: ClientView.Host) -> Bool {
        switch self.kind {
        case .okhttp, .okhttp3, .sslPinning, .dynapins, .netkit, .wultra, .muejam: return true
        case .flutter, .curl, .remoteConfig: return false
        case .trustkitIOS, .trustkitAndroid, .androidNSC, .reactNative, .appleATS:
            // Together with its name, if that has the same pins.
            return self.pinned.contains {
                $0.pattern != host.pattern && $0.pattern.name == host.pattern.name && $0.isSame(as: host)
            }
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

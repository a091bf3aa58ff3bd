import PinWire
package import Pinning

/// The value of the parameter `ssl_pinning_config` for a device, for clients of Firebase Remote Config that follow one
/// of two published schemas.
///
/// The inner object alone: Remote Config keeps it as the parameter's text. It always has every member that a strict
/// client requires, since a client that cannot read the value has no pins. In both schemas lists are arrays, never one
/// text with commas. The clients' rules, and how the value is adapted to them:
///
/// - `enabled: false`, a device below `min_app_version` and one outside the outer `rollout_percentage` all mean no
///   pinning at all. Being outside of a gate or rollout means the baseline here; so the three include all devices,
///   unless a kill switch for everything, the app or the device's version is in force, or the document's pins are past
///   their time.
/// - A host's percentage separates devices with the host's pins from devices with the app's own pins (where the host is
///   among `builtin_pin_hosts`) or none. It is written where the rollout has that effect, and is the combined share of
///   the app's and the host's rollout, in whole per cent, rounded down. Elsewhere the host has the device's own pins;
///   and where rollouts let in all devices, the candidate's, as in the template.
/// - A host that is switched off, off, or only reports is disabled, and is not among `builtin_pin_hosts`, because a
///   disabled host falls back to these.
///
/// Deterministic: the same view has the same bytes.
package struct RemoteConfigValue: Hashable, Sendable {
    package let json: OrderedJSON

    /// The parameter's text.
    package var text: String { self.json.text() }

    /// The value for the device of a view.
    package init(_ view: ClientView, settings: ClientSettings) {
        let renderer = RemoteConfigRenderer(view, settings)
        let isOff = Self.isOff(view, renderer.hosts)
        self.json =
            isOff
            ? renderer.killed
            : renderer.value(
                renderer.hosts.map { Self.exposure(of: $0, app: view.document.rollout, settings.schema) })
    }

    /// Whether pinning is off for the device, for all hosts.
    private static func isOff(_ view: ClientView, _ hosts: [RemoteConfigHost]) -> Bool {
        if view.isEverythingOff { return true }
        // A host that is switched off, and not by its own kill switch, is switched off by one for the device's version.
        return hosts.contains { $0.reason == .killSwitchEngaged && !$0.isSwitchedOff }
    }

    private static func exposure(
        of host: RemoteConfigHost, app: Rollout?, _ schema: RemoteConfigSchema
    ) -> RemoteConfigExposure {
        guard host.candidate != nil, !host.isSwitchedOff else { return .baseline }
        switch host.reason {
        case .rolloutNone, .rolloutIn, .rolloutWhitelisted: return .candidate
        case .seedMissing where schema == .advanced:
            // The device passed the gate, and lacks an id to draw by. If the app's rollout needed it, the host's was
            // not evaluated yet.
            let own = host.rollout
            guard app?.isDrawable ?? true, own?.isDrawable ?? true,
                app == nil || own?.method ?? .percentage == .percentage
            else { return .baseline }
            let percent = RemoteConfigShare.wholePercent(
                app: app?.basisPoints ?? 10_000, host: own?.basisPoints ?? 10_000)
            // With all devices in, none has to be chosen, and none is outside.
            if percent == 100 { return .candidate }
            guard host.carriesShares, let percent, percent > 0 else { return .baseline }
            return .share(percent)
        // The device is outside, or that is unknown.
        default: return .baseline
        }
    }
}

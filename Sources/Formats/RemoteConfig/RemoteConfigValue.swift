import PinWire
package import Pinning

/// The value of the parameter `ssl_pinning_config` for a device, as clients of Firebase Remote Config read it that
/// follow one of two published schemas.
///
/// The inner object alone: Remote Config keeps it as the parameter's text. Every member is always there that a strict
/// client asks for, since one that cannot read the value goes without pins. In both schemas lists are arrays, never one
/// text with commas. What the clients understand, and what is done about it:
///
/// - `enabled: false`, a device below `min_app_version` and one outside the outer `rollout_percentage` all mean no
///   pinning at all. Being outside of a gate or rollout means the baseline here; so the three say "everybody", unless a
///   kill switch for everything, the app or the device's version is in force, or the document's pins are past their
///   time.
/// - A host's percentage parts devices with the host's pins from devices with the app's own pins (where the host is
///   among `builtin_pin_hosts`) or none. It is written where that is what the rollout does, and is the share that the
///   app's and the host's rollout come to, in whole per cent. Anywhere else the host has the pins that the device gets.
/// - A host that is switched off, off, or only reports is disabled, and is not among `builtin_pin_hosts`, because a
///   disabled host falls back to these.
///
/// Deterministic: the same view has the same bytes.
package struct RemoteConfigValue: Hashable, Sendable {
    package let json: OrderedJSON
    /// What the value does not say, by host in the view's order.
    package let gaps: [RemoteConfigGap]

    /// The parameter's text.
    package var text: String { self.json.text() }

    /// The value for the device that a view is of.
    package init(_ view: ClientView, schema: RemoteConfigSchema, hash: RemoteConfigHash = .spki) {
        let renderer = RemoteConfigRenderer(view, schema, hash)
        if Self.isOff(view, renderer.hosts) {
            self.json = renderer.killed
            self.gaps = []
            return
        }
        var gaps: [RemoteConfigGap] = []
        for one in view.document.killSwitches where one.scope == "app_versions" && one.isInForce(at: view.now) {
            // The device's version is not among these, or the view does not know it.
            gaps.append(RemoteConfigGap(.versionKillSwitch))
            break
        }
        let exposures = renderer.hosts.map { Self.exposure(of: $0, app: view.document.rollout, schema, &gaps) }
        self.json = renderer.value(exposures, &gaps)
        self.gaps = gaps.removingRepeats
    }

    /// Whether pinning is off for the device, for all hosts.
    private static func isOff(_ view: ClientView, _ hosts: [RemoteConfigHost]) -> Bool {
        if let end = view.document.pinsValidUntil, end <= view.now { return true }
        let isWide = view.document.killSwitches.contains {
            ["everything", "app"].contains($0.scope) && $0.isInForce(at: view.now)
        }
        // A host that is switched off, and not by its own kill switch, is so by one for the device's version.
        return isWide || hosts.contains { $0.reason == .killSwitchEngaged && !$0.isSwitchedOff }
    }

    private static func exposure(
        of host: RemoteConfigHost, app: Rollout?, _ schema: RemoteConfigSchema, _ gaps: inout [RemoteConfigGap]
    ) -> RemoteConfigExposure {
        guard host.candidate != nil, !host.isSwitchedOff else { return .baseline }
        switch host.reason {
        case .rolloutNone, .rolloutIn, .rolloutWhitelisted: return .candidate
        case .rolloutOut, .rolloutExcluded, .versionBelow, .versionAbove, .versionExcluded, .buildBelow,
            .countryOutside:
            // The device is known to be outside.
            return .baseline
        case .seedMissing where schema == .advanced && host.carriesShares:
            // The device passed the gate, and lacks an id to draw a lot from. If the app's rollout asked for it,
            // nothing was asked yet of the host's.
            let own = host.rollout
            guard app?.isDrawable ?? true, own?.isDrawable ?? true,
                app == nil || own?.method ?? .percentage == .percentage
            else { break }
            let points = (app?.basisPoints ?? 10_000, own?.basisPoints ?? 10_000)
            if [app, own].contains(where: { $0?.whitelist.isEmpty == false }) {
                gaps.append(RemoteConfigGap(.whitelistLost, host.pattern))
            }
            guard let percent = RemoteConfigShare.wholePercent(app: points.0, host: points.1) else {
                gaps.append(RemoteConfigGap(.shareTooSmall, host.pattern))
                return .baseline
            }
            if RemoteConfigShare.isRounded(app: points.0, host: points.1) {
                gaps.append(RemoteConfigGap(.shareRounded, host.pattern))
            }
            return percent == 0 ? .baseline : percent == 100 ? .candidate : .share(percent)
        default: break
        }
        if schema == .advanced { gaps.append(RemoteConfigGap(.candidateWithheld, host.pattern)) }
        return .baseline
    }
}

extension [RemoteConfigGap] {
    /// Each gap once, where it was first.
    var removingRepeats: [RemoteConfigGap] {
        var seen: Set<RemoteConfigGap> = []
        return self.filter { seen.insert($0).inserted }
    }
}

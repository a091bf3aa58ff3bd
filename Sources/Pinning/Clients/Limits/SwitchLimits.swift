import PinWire

/// Switches that do not turn pinning off for a kind: kill switches, and the modes `off` and `report_only`.
enum SwitchLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.killSwitches(check) + Self.versions(check) + Self.off(check) + Self.reportOnly(check)
    }

    /// The hosts whose pins installs enforce, and which an operator may want to turn off: those that are off by their
    /// mode are reported separately, of served kinds.
    private static func concerned(_ check: ClientCheck) -> [ClientView.Host] {
        check.view.hosts.filter { host in
            // The mode says what new files have, and not what installs have.
            guard check.profile.isServed else { return Self.isBuiltIn(host, check) }
            return switch host.mode {
            case .enforce: !host.pins.isEmpty
            case .reportOnly: !host.pins.isEmpty && check.profile.reportOnly.isEnforced
            case .off: false
            case nil: true
            }
        }
    }

    /// Whether installs of a kind that is not served have enforced pins of a host built in, as far as it is known.
    private static func isBuiltIn(_ host: ClientView.Host, _ check: ClientCheck) -> Bool {
        let files = check.builtIn(at: host.pattern)
        guard files.isEmpty else { return files.contains(where: \.isEnforced) }
        return host.mode != .off && (host.mode == nil || !host.pins.isEmpty)
    }

    private static func why(_ check: ClientCheck) -> String {
        check.profile.isServed
            ? "\(check.title) cannot express it: installs keep enforcing"
            : "the pins of \(check.title) are built into the app: installs that have some keep enforcing"
    }

    private static func remedy(_ check: ClientCheck) -> String {
        check.profile.wayOut
            ?? (check.profile.isServed
                ? "Make servers present keys that are pinned, or publish the pins of those that they present, once you know that these are yours: nothing else lets these installs connect."
                : "Serve a key that is built into the app, or release the app without the pins.")
    }

    private static func killSwitches(_ check: ClientCheck) -> [ClientFinding] {
        let concerned = Self.concerned(check)
        guard !check.profile.canTurnOff, !concerned.isEmpty else { return [] }
        let engaged = check.view.killSwitchesInForce.filter { $0.scope != "app_versions" }
        let wide = engaged.filter { $0.host == nil }.max { $0.expiresAt < $1.expiresAt }
        if let wide {
            return check.unheard(
                .killSwitch, by: concerned,
                "A kill switch turns pinning off for all hosts until \(wide.expiresAt), but \(Self.why(check)).",
                remedy: Self.remedy(check))
        }
        var ends: [HostPattern: Timestamp] = [:]
        for one in engaged { if let host = one.host { ends[host] = one.expiresAt } }
        return concerned.compactMap { host in
            ends[host.pattern].map { end in
                check.unheard(
                    .killSwitch, host: host,
                    "A kill switch turns pinning off for \(host.pattern) until \(end), but \(Self.why(check)).",
                    remedy: Self.remedy(check))
            }
        }
    }

    private static func versions(_ check: ClientCheck) -> [ClientFinding] {
        let concerned = Self.concerned(check)
        guard !concerned.isEmpty else { return [] }
        return check.view.killSwitchesInForce.filter { $0.scope == "app_versions" }.flatMap { one in
            let range = one.versions.flatMap { VersionRange($0) }
            let whom = range.map { "the versions \($0) of the app" } ?? "some versions of the app"
            let begin = "A kill switch turns pinning off for \(whom) until \(one.expiresAt), but"
            switch check.profile.versionKillSwitch {
            case .withVersion:
                return [
                    check.finding(
                        .versionKillSwitch, .notice,
                        "\(begin) installs that do not send their version do not receive it.",
                        remedy: "Have the app send its version.")
                ]
            case .inConditions:
                return check.unheard(
                    .versionKillSwitch, by: concerned,
                    "\(begin) the value for all versions does not include it: only installs that use the template's conditions, or ask this server with their version, stop enforcing.",
                    remedy: "Publish the template, whose conditions check the app's version.")
            case .versionNotSent:
                return check.unheard(
                    .versionKillSwitch, by: concerned,
                    "\(begin) \(check.title) does not send the app's version: installs keep enforcing.",
                    remedy: Self.remedy(check))
            case .unsupported:
                return check.unheard(
                    .versionKillSwitch, by: concerned, "\(begin) \(Self.why(check)).", remedy: Self.remedy(check))
            }
        }
    }

    private static func off(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.profile.canTurnOff else { return [] }
        // Served clients without pins have a finding of their own; built-in pins are there whatever is stated now.
        return check.view.hosts.filter { $0.mode == .off && !($0.pins.isEmpty && check.profile.isServed) }.map { host in
            check.unheard(
                .modeOff, host: host, "\(host.pattern) is off, but \(Self.why(check)).",
                remedy: Self.remedy(check))
        }
    }

    /// For hosts that only report now: a kill switch's effect on them is another matter.
    private static func reportOnly(_ check: ClientCheck) -> [ClientFinding] {
        let title = check.title
        let hosts = check.view.hosts.filter { $0.outcome == .reportOnly && !$0.pins.isEmpty }
        let watch = "Use the reports of other clients, and set the mode to enforce once they show no failures."
        let ready = "Make sure that the served key is pinned, as if the mode were enforce."
        return hosts.compactMap { host in
            let pattern = host.pattern
            if check.builtIn(at: pattern).contains(where: \.isEnforced) {
                return check.unheard(
                    .reportOnly, host: host, "\(pattern) only reports, but \(Self.why(check)).",
                    remedy: Self.remedy(check))
            }
            switch check.profile.reportOnly {
            case .reports(systemEnforces: true):
                return check.unheard(
                    .reportOnly, .notice, host: host,
                    "\(pattern) only reports, which applies to connections that \(title) checks: since version 7 Android itself enforces the pins on all others.",
                    remedy: ready)
            case .reports(systemEnforces: false): return nil
            case .warns:
                return check.finding(
                    .reportOnly, .notice, host: host,
                    "\(pattern) only reports: \(title) allows connections, and warns only in its own log.",
                    remedy: watch)
            case .ignored(let severity):
                let effect =
                    check.profile.isServed
                    ? "it allows connections, and reports no mismatch"
                    : "new files leave the host out, and installs that have its pins built in keep enforcing"
                return check.finding(
                    .reportOnly, severity, host: host,
                    "\(pattern) only reports, which \(title) does not support: \(effect).", remedy: watch)
            case .enforces:
                return check.unheard(
                    .reportOnly, host: host,
                    "\(pattern) only reports, which \(title) does not support: it refuses connections that match no pin.",
                    remedy: ready)
            }
        }
    }
}

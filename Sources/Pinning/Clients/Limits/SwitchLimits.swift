import PinWire

/// What does not turn pinning off for a kind: kill switches, and the modes `off` and `report_only`.
enum SwitchLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.killSwitches(check) + Self.versions(check) + Self.off(check) + Self.reportOnly(check) + Self.delay(check)
    }

    /// The kill switches in force.
    private static func engaged(_ check: ClientCheck) -> [Document.KillSwitch] {
        check.view.document.killSwitches.filter { $0.engagedAt <= check.view.now && check.view.now < $0.expiresAt }
    }

    /// The hosts whose pinning somebody may want to turn off.
    private static func concerned(_ check: ClientCheck) -> [ClientView.Host] {
        check.view.hosts.filter { $0.mode != .off }
    }

    private static func why(_ check: ClientCheck) -> String {
        check.kind.isServed
            ? "\(check.kind.title) has no word for it: installs go on enforcing"
            : "the pins of \(check.kind.title) are built into the app: installs go on enforcing"
    }

    private static func remedy(_ check: ClientCheck) -> String {
        switch check.kind {
        case .wultra:
            "Show the certificates that servers present now, which is all that lets installs connect; taking others away does nothing."
        case _ where check.kind.isServed:
            "Publish the pins of what servers present now: nothing else lets these installs connect."
        default: "Serve a key that is built into the app, or release the app without the pins."
        }
    }

    private static func killSwitches(_ check: ClientCheck) -> [ClientFinding] {
        let concerned = Self.concerned(check)
        guard !check.hearsOff, !concerned.isEmpty else { return [] }
        let engaged = Self.engaged(check).filter { $0.scope != "app_versions" }
        let wide = engaged.filter { $0.host == nil }.max { $0.expiresAt < $1.expiresAt }
        if let wide {
            return [
                check.finding(
                    .killSwitch, .differs,
                    "A kill switch turns pinning off for all hosts until \(wide.expiresAt), and \(Self.why(check)).",
                    remedy: Self.remedy(check))
            ]
        }
        var ends: [HostPattern: Timestamp] = [:]
        for one in engaged { if let host = one.host { ends[host] = one.expiresAt } }
        return concerned.compactMap { host in
            ends[host.pattern].map { end in
                check.finding(
                    .killSwitch, .differs, host: host,
                    "A kill switch turns pinning off for \(host.pattern) until \(end), and \(Self.why(check)).",
                    remedy: Self.remedy(check))
            }
        }
    }

    private static func versions(_ check: ClientCheck) -> [ClientFinding] {
        // NetKit's clients do not say which version they are.
        let isTold = check.hearsOff && check.kind != .netkit
        guard !Self.concerned(check).isEmpty else { return [] }
        return Self.engaged(check).filter { $0.scope == "app_versions" }.map { one in
            let range = one.versions.flatMap { VersionRange($0) }
            let whom = range.map { "the versions \($0) of the app" } ?? "some versions of the app"
            let begin = "A kill switch turns pinning off for \(whom) until \(one.expiresAt), and"
            return isTold
                ? check.finding(
                    .versionKillSwitch, .notice, "\(begin) installs that do not say their version do not hear of it.",
                    remedy: "Have the app send its version.")
                : check.finding(
                    .versionKillSwitch, .differs,
                    check.hearsOff
                        ? "\(begin) \(check.kind.title) does not say which version asks: installs go on enforcing."
                        : "\(begin) \(Self.why(check)).",
                    remedy: Self.remedy(check))
        }
    }

    private static func off(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.hearsOff else { return [] }
        // Served clients without pins have a finding of their own; built-in pins are there whatever is stated now.
        return check.view.hosts.filter { $0.mode == .off && !($0.pins.isEmpty && check.kind.isServed) }.map { host in
            check.finding(
                .modeOff, .differs, host: host, "\(host.pattern) is off, and \(Self.why(check)).",
                remedy: Self.remedy(check))
        }
    }

    private static func reportOnly(_ check: ClientCheck) -> [ClientFinding] {
        let title = check.kind.title
        let hosts = check.view.hosts.filter { $0.mode == .reportOnly && !$0.pins.isEmpty }
        func findings(_ severity: ClientFinding.Severity, _ detail: (HostPattern) -> String, _ remedy: String)
            -> [ClientFinding]
        {
            hosts.map {
                check.finding(.reportOnly, severity, host: $0, detail($0.pattern), remedy: remedy)
            }
        }
        let watch = "Go by the reports of clients that can, and set the mode to enforce when these are good."
        switch check.reportOnly {
        case .reports: return []
        case .warns:
            return findings(
                .notice, { "\($0) only reports: \(title) lets connections through, and warns in its own log alone." },
                watch)
        case .looksAway:
            return findings(
                check.kind == .wultra ? .notice : .differs,
                {
                    "\($0) only reports, which \(title) cannot: it lets connections through, and nobody hears of those that match no pin."
                },
                watch)
        case .enforces:
            return findings(
                .differs,
                { "\($0) only reports, which \(title) cannot: it refuses connections that match no pin." },
                "Make sure that what is served is pinned, as if the mode were enforce.")
        }
    }

    private static func delay(_ check: ClientCheck) -> [ClientFinding] {
        guard check.kind == .wultra, check.settings.understandsDomains,
            check.view.hosts.contains(where: { $0.outcome == .off && !$0.pins.isEmpty })
        else { return [] }
        return [
            check.finding(
                .weeklyUpdate, .notice,
                "Pinning is off, and \(check.kind.title) asks for changes once a week: installs go on enforcing until then.",
                remedy: "Have the app force an update when a connection fails.")
        ]
    }
}

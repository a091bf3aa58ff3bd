import PinWire

/// How many pins a kind demands: two, or at least one.
enum PinCountLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.single(check) + Self.missing(check)
    }

    private static func single(_ check: ClientCheck) -> [ClientFinding] {
        let title = check.title
        let remedy = "Add a backup pin of another key."
        switch check.profile.singlePin {
        case .accepted: return []
        case .crashes:
            return check.pinned.filter { $0.mode == .enforce && $0.pins.count == 1 }.map { host in
                check.finding(
                    .singlePin, .breaks, host: host,
                    "\(host.pattern) has one pin, but \(title) requires two to enforce: the app crashes when it starts.",
                    remedy: remedy)
            }
        case .ignored:
            return check.pinned.filter { $0.pins.count == 1 }.map { host in
                check.finding(
                    .singlePin, .differs, host: host,
                    "\(host.pattern) has one pin; on iOS \(title) rejects the configuration, and no host of the app is pinned.",
                    remedy: remedy)
            }
        case .notServed:
            // These are served in every mode.
            return check.view.hosts.filter { $0.pins.count == 1 }.map { host in
                check.finding(
                    .singlePin, .breaks, host: host,
                    "\(host.pattern) has one pin. Apps with \(title) 0.2 crash if they get fewer than two, so the request is refused, and the app refuses every connection.",
                    remedy: remedy)
            }
        case .discouraged:
            return check.pinned.filter { $0.pins.count == 1 }.map { host in
                check.finding(
                    .backupRecommended, .notice, host: host,
                    "\(host.pattern) has one pin; \(title) accepts it, but its makers recommend a second one in reserve.",
                    remedy: remedy)
            }
        }
    }

    private static func missing(_ check: ClientCheck) -> [ClientFinding] {
        let title = check.title
        return check.view.hosts.filter { $0.pins.isEmpty }.compactMap { host in
            let isBuiltin = host.mode == nil
            let why =
                isBuiltin ? "\(host.pattern) relies on the pins built into apps" : "\(host.pattern) has no pins"
            switch check.profile.unpinned {
            case .refused where host.mode == .off && check.profile.canTurnOff: return nil
            case .refused where host.mode == .reportOnly && check.profile.reportOnly.isIgnored: return nil
            case .refused:
                return check.finding(
                    .nothingPublished, .breaks, host: host,
                    "\(why), and \(title) has only the pins that it is served: it refuses every connection.",
                    remedy: "Publish the pins of \(host.pattern).")
            case .builtin where host.mode == .enforce:
                return check.finding(
                    .nothingPublished, .differs, host: host,
                    "\(why); it is left out of the configuration, and installs use the pins built into the app, if any.",
                    remedy: "Publish the pins of \(host.pattern).")
            case .ignored where host.mode == .enforce:
                let place = check.profile.isServed ? "what is served" : "the exported file"
                return check.finding(
                    .nothingPublished, .differs, host: host,
                    "\(why); it is left out of \(place), and \(title) does not pin it.",
                    remedy: "Publish the pins of \(host.pattern).")
            case .builtin, .ignored: return nil
            }
        }
    }
}

import PinWire

/// What clients of remote configuration make of an app's state.
///
/// A host's percentage parts installs with its remote pins from installs with the app's own pins, or none. So a rollout
/// can be said where the baseline enforces nothing of the document; anywhere else the baseline is given to all.
enum RemoteConfigLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard check.kind == .remoteConfig else { return [] }
        switch check.settings.schema {
        case .simple: return Self.carried(check) + Self.rollouts(check)
        case .advanced: return Self.places(check) + Self.rollouts(check) + Self.buckets(check)
        }
    }

    /// The simple schema turns the app's own pins on and off.
    private static func carried(_ check: ClientCheck) -> [ClientFinding] {
        let builtin = Set(check.view.document.fallback.hosts)
        return check.pinned.map { host in
            builtin.contains(host.pattern)
                ? check.finding(
                    .pinsNotCarried, .differs, host: host,
                    "The simple schema carries no pins: for \(host.pattern) those built into the app are enforced.",
                    remedy: "Use the advanced schema once the app reads it.")
                : check.finding(
                    .pinsNotCarried, .breaks, host: host,
                    "The simple schema carries no pins, and the app is not known to have any for \(host.pattern), which is left out, and goes without.",
                    remedy: "Name \(host.pattern) among the fallback's hosts if the app has pins for it.")
        }
    }

    private static func places(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.compactMap { host in
            if host.pins.count == 1 {
                return check.finding(
                    .primaryAndBackup, .notice, host: host, pin: host.pins[0].pin,
                    "\(host.pattern) has one pin. Clients cannot read a configuration without a backup, and then go without pins for all hosts: the pin is written in both places.",
                    remedy: "Add a backup pin of another key.")
            }
            guard host.pins.count > 3 else { return nil }
            // What is served goes first.
            let isRefused = host.pins.count(where: \.isServed) > 3
            return check.finding(
                .pinPlaces, isRefused ? .breaks : .differs, host: host,
                "\(host.pattern) has \(host.pins.count) pins, and there are places for a primary, a backup and an emergency pin: the others are left out"
                    + (isRefused ? ", and servers with their keys are refused." : "."),
                remedy: "Retire pins that are not needed, until three are left.")
        }
    }

    private static func rollouts(_ check: ClientCheck) -> [ClientFinding] {
        let app = check.view.document.rollout
        let hosts = zip(check.view.document.hosts, check.view.hosts).filter { check.isRollingOut($1) }
        return hosts.compactMap { stated, host in
            let carriesShares =
                check.settings.schema == .advanced && stated.candidate?.mode == .enforce
                && stated.baseline?.mode != .enforce
            guard carriesShares else {
                return check.finding(
                    .rollout, .differs, host: host,
                    "A candidate of \(host.pattern) is being rolled out, and installs outside of a percentage would have no pins: every install goes by the baseline until it is promoted.",
                    remedy: "Use conditions of the template, which choose devices, or promote the candidate.")
            }
            return Self.share(host, app: app, check)
        }
    }

    /// What a rollout has that a percentage has not; nil where it has nothing.
    private static func share(_ host: ClientView.Host, app: Rollout?, _ check: ClientCheck) -> ClientFinding? {
        let begin = "A candidate of \(host.pattern) is being rolled out"
        let remedy = "Use conditions of the template, which choose devices, or promote the candidate."
        if check.view.document.versionGate?.isOpen == false {
            return check.finding(
                .versionGate, .differs, host: host,
                "\(begin) to some versions, and below `min_app_version` these clients do not pin at all: installs that do not say their version go by the baseline.",
                remedy: remedy)
        }
        let rollouts = [app, host.rollout].compactMap { $0 }
        guard rollouts.allSatisfy({ $0.method == .percentage && $0.exclusions.isEmpty && $0.whitelist.isEmpty }) else {
            return check.finding(
                .rolloutMethod, .differs, host: host,
                "\(begin) to chosen ids or countries, and these clients draw from percentages alone: who is meant is not among them for sure.",
                remedy: remedy)
        }
        let product = rollouts.reduce(1) { $0 * $1.basisPoints }
        // Nought of a per cent would stop the rollout.
        let whole = rollouts.reduce(1) { scale, _ in scale * 10_000 } / 100
        guard product % whole != 0 else { return nil }
        let percent = product / whole
        return check.finding(
            .wholePercentages, .differs, host: host,
            percent == 0
                ? "\(begin) to less than one per cent of devices, and these clients know whole per cent: it reaches none of them."
                : "\(begin) to a share that is no whole per cent: these clients are told \(percent) %.",
            remedy: "Choose shares that come to whole per cent.")
    }

    private static func buckets(_ check: ClientCheck) -> [ClientFinding] {
        let drawn = check.view.hosts.filter { host in
            check.isRollingOut(host)
                && [check.view.document.rollout, host.rollout].contains { $0.map { $0.basisPoints < 10_000 } ?? false }
        }
        guard drawn.count > 1 || drawn.contains(where: { $0.rollout != nil && check.view.document.rollout != nil })
        else { return [] }
        return [
            check.finding(
                .sharedBucket, .notice,
                "These clients draw one lot for a device, which decides about all rollouts: the same devices are first in each, and others than those of this project's clients.",
                remedy: "Do not take what one rollout shows for a second sample of what another does.")
        ]
    }
}

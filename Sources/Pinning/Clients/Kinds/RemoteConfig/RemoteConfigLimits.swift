import PinWire

/// The limits of clients of remote configuration.
///
/// A host's percentage separates installs with its remote pins from installs with the app's own pins, or none. So a
/// rollout can be expressed where the baseline enforces nothing of the document; elsewhere all get the baseline, until
/// all devices are to have the candidate.
enum RemoteConfigLimits {
    @Sendable static func findings(of check: ClientCheck) -> [ClientFinding] {
        switch check.settings.schema {
        case .simple: return Self.carried(check) + Self.rollouts(check)
        case .advanced:
            return Self.places(check) + Self.rawKeys(check) + Self.hashes(check) + Self.rollouts(check)
                + Self.buckets(check)
        }
    }

    /// The simple schema turns the app's own pins on and off.
    private static func carried(_ check: ClientCheck) -> [ClientFinding] {
        let builtin = Set(check.view.document.fallback.hosts)
        return check.pinned.map { host in
            builtin.contains(host.pattern)
                ? check.finding(
                    .pinsNotCarried, .differs, host: host,
                    "The simple schema has no pins: clients enforce the pins built into the app for \(host.pattern).",
                    remedy: "Use the advanced schema once the app reads it.")
                : check.finding(
                    .pinsNotCarried, .differs, host: host,
                    "The simple schema has no pins, and the app is not known to have built-in pins for \(host.pattern): the host is left out and not pinned.",
                    remedy: "Add \(host.pattern) to the fallback's hosts if the app has pins for it.")
        }
    }

    private static func places(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.compactMap { host in
            if host.pins.count == 1 {
                return check.finding(
                    .primaryAndBackup, .notice, host: host, pin: host.pins[0].pin,
                    "\(host.pattern) has one pin. Clients cannot read a configuration without a backup, and would then pin no host at all: the pin is written in both places.",
                    remedy: "Add a backup pin of another key.")
            }
            guard host.pins.count > 3 else { return nil }
            // Served pins go first.
            let isRefused = host.pins.count(where: \.isServed) > 3
            return check.finding(
                .pinPlaces, isRefused ? .breaks : .differs, host: host,
                "\(host.pattern) has \(host.pins.count) pins, but the format has places for only a primary, a backup and an emergency pin: the others are left out"
                    + (isRefused ? ", and servers with their keys are refused." : "."),
                remedy: "Retire unneeded pins until three are left.")
        }
    }

    /// Keys of which only the pin is known, where installs compare hashes of raw keys: a hash that could not match is
    /// never given.
    private static func rawKeys(_ check: ClientCheck) -> [ClientFinding] {
        guard check.profile.hashesRawKeys else { return [] }
        let pinned = Set(check.pinned.map(\.pattern))
        return zip(check.view.document.hosts, check.view.hosts).flatMap { stated, host -> [ClientFinding] in
            let isTried = check.isRollingOut(host) && stated.candidate?.mode == .enforce
            let isReplaced = isTried && Self.reachesAll(host, check)
            let baseline = pinned.contains(host.pattern) && !isReplaced ? host.pins : []
            let candidate = isTried ? host.candidate?.filter { !baseline.contains($0) } ?? [] : []
            return Self.rawKeys(of: baseline + candidate, at: host, check)
        }
    }

    private static func hashes(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.hash == .spki else { return [] }
        return check.notice(
            .hashNeverMatches,
            "Clients based on the published example for iOS hash the key's raw bytes (what SecKeyCopyExternalRepresentation gives), which no pin matches: with pins, they refuse every server.",
            remedy:
                "Set the client's setting `hash` to `raw_key` if the app's build hashes that, or have it hash the SubjectPublicKeyInfo."
        )
    }

    /// A host without a served key or a primary is left out, so that no client refuses what is served now.
    private static func rawKeys(
        of pins: [ClientView.ClientPin], at host: ClientView.Host, _ check: ClientCheck
    ) -> [ClientFinding] {
        pins.filter { $0.knowledge == nil }.map { pin in
            let isNeeded = pin.isServed || pin.role == .primary
            return check.finding(
                .hashNeverMatches, .differs, host: host, pin: pin.pin,
                "Installs compare hashes of raw keys, but only the pin is known of this key of \(host.pattern): "
                    + (isNeeded
                        ? "the host is left out of the configuration, and installs have no remote pins for it."
                        : "installs cannot get it."),
                remedy: "Upload the key's certificate, signing request or public key.")
        }
    }

    private static func rollouts(_ check: ClientCheck) -> [ClientFinding] {
        let app = check.view.document.rollout
        let hosts = zip(check.view.document.hosts, check.view.hosts).filter { check.isRollingOut($1) }
        return hosts.compactMap { stated, host in
            let isAdvanced = check.settings.schema == .advanced
            if isAdvanced, Self.reachesAll(host, check) { return nil }
            guard isAdvanced, stated.carriesShares else {
                return RolloutLimits.withheld(
                    host, check,
                    "A candidate of \(host.pattern) is being rolled out, and installs outside a percentage would have no pins: every install uses the baseline until it is promoted.",
                    remedy: "Use the template's conditions, which select devices, or promote the candidate.")
            }
            return Self.share(host, app: app, check)
        }
    }

    /// Whether every device is to have the candidate, so that none has to be chosen.
    private static func reachesAll(_ host: ClientView.Host, _ check: ClientCheck) -> Bool {
        check.view.document.versionGate?.isOpen != false
            && [check.view.document.rollout, host.rollout].allSatisfy { $0?.isForAll != false }
    }

    /// The part of a rollout that a percentage cannot express; nil where there is none.
    private static func share(_ host: ClientView.Host, app: Rollout?, _ check: ClientCheck) -> ClientFinding? {
        let begin = "A candidate of \(host.pattern) is being rolled out"
        let remedy = "Use the template's conditions, which select devices, or promote the candidate."
        if check.view.document.versionGate?.isOpen == false {
            return check.finding(
                .versionGate, .differs, host: host,
                "\(begin) to some versions, and below `min_app_version` these clients do not pin at all: installs that do not send their version use the baseline.",
                remedy: remedy)
        }
        let rollouts = [app, host.rollout].compactMap { $0 }
        guard rollouts.allSatisfy({ $0.method == .percentage && $0.exclusions.isEmpty && $0.whitelist.isEmpty }) else {
            return check.finding(
                .rolloutMethod, .differs, host: host,
                "\(begin) to chosen ids or countries, but these clients support percentages only: the chosen devices may not get it.",
                remedy: remedy)
        }
        let points = (app: app?.basisPoints ?? 10_000, host: host.rollout?.basisPoints ?? 10_000)
        guard RemoteConfigShare.isRounded(app: points.app, host: points.host) else { return nil }
        return check.finding(
            .wholePercentages, .differs, host: host,
            RemoteConfigShare.wholePercent(app: points.app, host: points.host).map {
                "\(begin) to a share that is not a whole per cent: these clients get \($0) %."
            }
                ?? "\(begin) to less than one per cent of devices, but these clients support whole per cent only: it reaches none of them.",
            remedy: "Choose shares of whole per cent.")
    }

    private static func buckets(_ check: ClientCheck) -> [ClientFinding] {
        let drawn = check.view.hosts.filter { host in
            check.isRollingOut(host)
                && [check.view.document.rollout, host.rollout].contains { $0.map { $0.basisPoints < 10_000 } ?? false }
        }
        guard !drawn.isEmpty else { return [] }
        let other = check.finding(
            .otherBuckets, .notice,
            "These clients, and the template's conditions, select other devices than this server and its own clients: a share reaches about as many devices, but different ones. The result of `explain` for a device's rollout does not apply to its install of this kind.",
            remedy:
                "Select required devices with the template's conditions, and do not treat installs of one kind as a sample of the other."
        )
        guard drawn.count > 1 || drawn.contains(where: { $0.rollout != nil && check.view.document.rollout != nil })
        else { return [other] }
        return [
            other,
            check.finding(
                .sharedBucket, .notice,
                "These clients use one bucket for all rollouts of a device: the same devices come first in each.",
                remedy: "Do not treat the results of two rollouts as independent samples."),
        ]
    }
}

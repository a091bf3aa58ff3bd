import PinWire

/// The limits of Dynapins SDKs: up to 0.1 only the first pin counts, since 0.2 TrustKit gets them all.
enum DynapinsLimits {
    @Sendable static func findings(of check: ClientCheck) -> [ClientFinding] {
        switch check.settings.dynapins {
        case .ed25519: return Self.first(check) + Self.backups(check) + Self.oneHost(check) + Self.replayable(check)
        case .es256: return Self.host(check) + Self.frozen(check)
        }
    }

    private static func first(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.compactMap { host in
            guard let first = host.pins.first else { return nil }
            let pattern = host.pattern
            guard check.refusesServed(host) else {
                guard check.seen(at: host).isEmpty else { return nil }
                // The primary pin comes first, and should be the served one.
                let isPrimary = first.role == .primary
                return check.finding(
                    .firstPinOnly, isPrimary ? .differs : .breaks, host: host, pin: first.pin,
                    "No probe has seen the key that \(pattern) serves"
                        + (isPrimary ? "" : ", none of its pins is primary")
                        + ", and Dynapins up to 0.1 compares only the first pin: unless it is the served key's, clients refuse every connection.",
                    remedy:
                        "Have \(pattern) probed. The first pin has to be the one of the key that it serves, once you know that the key is yours."
                )
            }
            guard first.isServed else {
                return check.finding(
                    .firstPinOnly, .breaks, host: host, pin: first.pin,
                    "No probe saw a server of \(pattern) present a pinned key as its own, and Dynapins up to 0.1 compares only that key with the first pin: clients refuse every connection.",
                    remedy:
                        "Redeploy a certificate whose key is pinned. Only if you have made the served key yourselves and it is to stay, make its pin the first."
                )
            }
            return check.finding(
                .firstPinOnly, .breaks, host: host, pin: first.pin,
                "Servers of \(pattern) have keys other than the first pin's, but Dynapins up to 0.1 compares only the first pin: clients refuse these servers.",
                remedy: "Serve one key for \(pattern) while these installs are in use.")
        }
    }

    private static func backups(_ check: ClientCheck) -> [ClientFinding] {
        guard check.pinned.contains(where: { $0.pins.count > 1 }) else { return [] }
        return [
            check.finding(
                .backupsIgnored, .notice,
                "Dynapins up to 0.1 compares only the first pin and ignores reserve pins: when a server changes its key, installs refuse it until a probe sees the change and their cached answer expires, which takes up to \(check.settings.ttlSeconds) seconds.",
                remedy: "Shorten `ttl_seconds` before you change keys.")
        ]
    }

    /// Its session has one URL, which names one domain.
    private static func oneHost(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.pinned.isEmpty else { return [] }
        return [
            check.finding(
                .oneHostOnly, .notice,
                "Dynapins up to 0.1 has one URL with one domain, and its session refuses every connection to a host outside this domain, whether or not the host has pins here.",
                remedy: "Use its session for that host alone, and another session for all others.")
        ]
    }

    private static func replayable(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.servesFingerprint else { return [] }
        return [
            check.finding(
                .replayable, .notice,
                "`/cert-fingerprint` is enabled, whose signature covers only a key's hash: anyone who keeps one host's answer can present it for every other host, forever.",
                remedy: "Set `cert_fingerprint` to false unless installs are known to use it.")
        ]
    }

    private static func host(_ check: ClientCheck) -> [ClientFinding] {
        guard check.pinned.count > 1 else { return [] }
        return [
            check.finding(
                .firstHostOnly, .notice,
                "\(check.pinned.count) hosts have pins, but in Dynapins 0.2 only the first pins of a process take effect: an app that is configured with several hosts refuses all but one.",
                remedy: "Configure one domain in each app, or use another client for the other domains.")
        ]
    }

    /// TrustKit is started once in a process.
    private static func frozen(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.pinned.isEmpty else { return [] }
        return [
            check.finding(
                .pinsFrozen, .notice,
                "In Dynapins 0.2 the first pins of a process apply until it ends, however short `ttl_seconds` is: a running app uses new pins only after a restart.",
                remedy: "Publish a new key well before it is served, so that apps restart in between.")
        ]
    }
}

import PinWire

/// What Dynapins SDKs make of pins: up to 0.1 the first alone counts, since 0.2 TrustKit has them.
enum DynapinsLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard check.kind == .dynapins else { return [] }
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
                // What is primary comes first, and should be what is served.
                let isPrimary = first.role == .primary
                return check.finding(
                    .firstPinOnly, isPrimary ? .differs : .breaks, host: host, pin: first.pin,
                    "No probe has seen which key \(pattern) serves"
                        + (isPrimary ? "" : ", none of its pins is primary")
                        + ", and Dynapins up to 0.1 compares the first pin alone: unless this is the one, every connection is refused.",
                    remedy: "Have \(pattern) probed, and pin the key that it serves.")
            }
            guard first.isServed else {
                return check.finding(
                    .firstPinOnly, .breaks, host: host, pin: first.pin,
                    "No server of \(pattern) was seen to use the key of one of its pins as its own, and Dynapins up to 0.1 compares that with the first pin alone: every connection is refused.",
                    remedy: "Pin the key that \(pattern) serves.")
            }
            return check.finding(
                .firstPinOnly, .breaks, host: host, pin: first.pin,
                "Servers of \(pattern) have other keys than that of the first pin, which is all that Dynapins up to 0.1 compares: these are refused.",
                remedy: "Serve one key for \(pattern) while these installs are in use.")
        }
    }

    private static func backups(_ check: ClientCheck) -> [ClientFinding] {
        guard check.pinned.contains(where: { $0.pins.count > 1 }) else { return [] }
        return [
            check.finding(
                .backupsIgnored, .notice,
                "Dynapins up to 0.1 ignores pins in reserve until they come first: when a server changes its key, installs refuse it until the change is seen here and their answer has run out, which takes up to \(check.settings.ttlSeconds) seconds.",
                remedy: "Shorten the answers' time before keys are changed.")
        ]
    }

    /// Its session has one URL, which names one domain.
    private static func oneHost(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.pinned.isEmpty else { return [] }
        return [
            check.finding(
                .oneHostOnly, .notice,
                "Dynapins up to 0.1 is given one URL with one domain, and its session refuses every connection to a host that this domain does not name, whether or not the host has pins here.",
                remedy: "Use its session for that host alone, and another session for all others.")
        ]
    }

    private static func replayable(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.servesFingerprint else { return [] }
        return [
            check.finding(
                .replayable, .notice,
                "`/cert-fingerprint` is declared, whose signature covers a key's hash alone: whoever kept one host's answer can give it out for every other host, for ever.",
                remedy: "Set `cert_fingerprint` to false unless installs are known that ask for it.")
        ]
    }

    private static func host(_ check: ClientCheck) -> [ClientFinding] {
        guard check.pinned.count > 1 else { return [] }
        return [
            check.finding(
                .firstHostOnly, .notice,
                "\(check.pinned.count) hosts have pins, and in Dynapins 0.2 only the first pins of a process take effect: an app that is configured with several of them refuses all but one.",
                remedy: "Configure one domain in each app, or use another client for the others.")
        ]
    }

    /// TrustKit is started once in a process.
    private static func frozen(_ check: ClientCheck) -> [ClientFinding] {
        guard !check.pinned.isEmpty else { return [] }
        return [
            check.finding(
                .pinsFrozen, .notice,
                "In Dynapins 0.2 the first pins of a process hold until it ends, however short the answers' time is: an app that runs goes by new ones when it is started anew.",
                remedy: "Publish a new key well before it is served: until apps have been started again.")
        ]
    }
}

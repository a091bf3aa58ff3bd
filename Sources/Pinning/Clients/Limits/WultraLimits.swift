import PinWire

/// What Wultra's SDKs make of certificates: they find them by common name, merge what they get with what they have, and
/// trust it until it expires.
enum WultraLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard check.kind == .wultra else { return [] }
        return Self.expired(check) + Self.nameless(check) + Self.names(check) + Self.foreign(check)
            + Self.removal(check) + Self.empty(check)
    }

    /// Certificates of a pin that can be given out.
    private static func valid(
        _ pin: ClientView.ClientPin, _ host: ClientView.Host, _ check: ClientCheck
    ) -> [CertificateFacts] {
        pin.serverCertificates(at: host.pattern).filter { check.view.now < $0.notAfter }
    }

    private static func name(_ certificate: CertificateFacts) -> String? {
        certificate.commonName.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func expired(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.flatMap { host in
            host.pins.compactMap { pin in
                let known = pin.serverCertificates(at: host.pattern)
                guard let last = known.first, Self.valid(pin, host, check).isEmpty else { return nil }
                let severity = host.severity(without: pin) { !Self.valid($0, host, check).isEmpty }
                return check.finding(
                    .certificateExpired, severity, host: host, pin: pin.pin,
                    "The last certificate that is known of this key of \(host.pattern) expired at \(last.notAfter), and installs do not trust it any more.",
                    remedy: "Show the renewed certificate, or retire the pin.")
            }
        }
    }

    private static func nameless(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.flatMap { host in
            host.pins.compactMap { pin in
                let valid = Self.valid(pin, host, check)
                guard !valid.isEmpty, valid.allSatisfy({ Self.name($0) == nil }) else { return nil }
                let severity = host.severity(without: pin) {
                    Self.valid($0, host, check).contains { Self.name($0) != nil }
                }
                return check.finding(
                    .commonNameMissing, severity, host: host, pin: pin.pin,
                    "The certificate of this key of \(host.pattern) has no common name, by which installs find what to trust: it cannot be given to them.",
                    remedy: "Have a certificate issued whose subject has the common name \(host.pattern).")
            }
        }
    }

    /// Entries go by what stands in the certificate, so that this is for those who list names in the app.
    private static func names(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.compactMap { host in
            for pin in host.pins {
                for certificate in Self.valid(pin, host, check) {
                    guard let name = Self.name(certificate), name != host.pattern.text else { continue }
                    return check.finding(
                        .commonNameDiffers, .notice, host: host, pin: pin.pin,
                        "The common name of a certificate of \(host.pattern) is \(name), which installs compare to the letter: they know the host by that name alone.",
                        remedy: "List \(name) where the app lists the names that it expects.")
                }
            }
            return nil
        }
    }

    /// Entries are found by what stands in a certificate, whichever host was connected to.
    private static func foreign(_ check: ClientCheck) -> [ClientFinding] {
        var byName: [String: [(certificate: CertificateFacts, host: ClientView.Host)]] = [:]
        var seen: Set<[UInt8]> = []
        for host in check.pinned {
            for certificate in host.pins.flatMap({ Self.valid($0, host, check) })
            where Self.name(certificate) != nil && seen.insert(certificate.sha256).inserted {
                for name in Set(certificate.dnsNames) { byName[name, default: []].append((certificate, host)) }
            }
        }
        return check.pinned.compactMap { host in
            let own = Set(host.pins.map(\.pin))
            // The names by which a certificate can be valid for the pattern.
            let names = [host.pattern.text, NameLimits.above(host.pattern.text).first.map { "*.\($0)" }]
            let others = names.compactMap { $0.flatMap { byName[$0] } }.joined()
            guard
                let other = others.first(where: {
                    !own.contains($0.certificate.key.pin) && $0.certificate.covers(host.pattern).isCovered
                })
            else { return nil }
            return check.finding(
                .hostNotCompared, .differs, host: host, pin: other.certificate.key.pin,
                "A certificate of \(other.host.pattern) is valid for \(host.pattern) as well, and installs do not compare for which host it was given: they trust it for both.",
                remedy: "Have certificates issued that name the hosts of one set of pins only.")
        }
    }

    /// From so many seconds on an expiry is far away.
    private static let far: Int64 = 30 * 86_400

    private static func removal(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.entryDays == nil else { return [] }
        let valid = check.pinned.flatMap { host in host.pins.flatMap { Self.valid($0, host, check) } }
        let last = valid.max { ($0.notAfter, $1.key.pin) < ($1.notAfter, $0.key.pin) }
        guard let last, check.view.now.adding(seconds: Self.far) < last.notAfter else { return [] }
        return [
            check.finding(
                .removalDelayed, .notice, pin: last.key.pin,
                "Installs go on trusting what is taken away, or revoked, until it expires: this key until \(last.notAfter).",
                remedy:
                    "Set for how many days an entry is trusted at most; it holds for what is given out from then on.")
        ]
    }

    private static func empty(_ check: ClientCheck) -> [ClientFinding] {
        let isEmpty = check.view.hosts.allSatisfy { host in
            host.pins.allSatisfy { pin in
                !(check.settings.understandsDomains && pin.isAuthority(at: host.pattern))
                    && !Self.valid(pin, host, check).contains { Self.name($0) != nil }
            }
        }
        guard isEmpty else { return [] }
        return [
            check.finding(
                .emptyList, check.view.hosts.isEmpty ? .notice : .differs,
                "There is no certificate to give out, and an empty list turns nothing off: installs keep what they have until it expires, and refuse every server after that.",
                remedy: "Show the certificates that servers present.")
        ]
    }
}

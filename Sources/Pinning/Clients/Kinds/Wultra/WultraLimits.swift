import PinWire

/// The limits of Wultra's SDKs: they find certificates by common name, merge new entries with those they have, and
/// trust them until they expire.
enum WultraLimits {
    @Sendable static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.nameless(check) + Self.names(check) + Self.foreign(check) + Self.shared(check) + Self.removal(check)
            + Self.empty(check) + Self.delay(check)
    }

    /// Certificates without a common name are served under the name that Apple's systems show, and under the host. The
    /// SDK for Android reads only the common name, and fails where there is none. It is unknown here which of the two
    /// installs have.
    private static func nameless(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.flatMap { host in
            host.pins.compactMap { pin in
                let valid = check.given(pin, at: host)
                guard let certificate = valid.first, valid.allSatisfy({ !$0.isNamed }) else { return nil }
                let severity = host.severity(without: pin) { check.given($0, at: host).contains(where: \.isNamed) }
                let names = certificate.wultraNames(at: host.pattern).joined(separator: ", ")
                return check.finding(
                    .commonNameMissing, severity, host: host, pin: pin.pin,
                    "The certificate of this key of \(host.pattern) has no common name: it is served under \(names), where installs on Apple's systems find it, but the SDK for Android refuses the server unless the app lists \(host.pattern) itself.",
                    remedy: "Have a certificate issued whose subject has the common name \(host.pattern).")
            }
        }
    }

    /// Entries are under the host and under the common name, so that this is for apps that list names.
    private static func names(_ check: ClientCheck) -> [ClientFinding] {
        check.pinned.compactMap { host in
            for pin in host.pins {
                for certificate in check.given(pin, at: host) {
                    guard certificate.isNamed, let name = certificate.commonName, name != host.pattern.text else {
                        continue
                    }
                    return check.finding(
                        .commonNameDiffers, .notice, host: host, pin: pin.pin,
                        "The common name of a certificate of \(host.pattern) is \(name), which the SDKs compare exactly: installs get the certificate under both names, and find it under \(name) unless the app lists \(host.pattern) itself.",
                        remedy: "Add \(name) to the names that the app expects.")
                }
            }
            return nil
        }
    }

    /// Entries are found by the certificate's names, whichever host was connected to.
    private static func foreign(_ check: ClientCheck) -> [ClientFinding] {
        var byName: [String: [(certificate: CertificateFacts, host: ClientView.Host)]] = [:]
        var seen: Set<[UInt8]> = []
        for host in check.pinned {
            for certificate in host.pins.flatMap({ check.given($0, at: host) })
            where seen.insert(certificate.sha256).inserted {
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
                "A certificate of \(other.host.pattern) is also valid for \(host.pattern), and installs do not compare the host: they trust it for both.",
                remedy: "Have certificates issued that each name only hosts with the same pins.")
        }
    }

    /// Clients of 2.x learn by common names which servers to ignore, and one name stands for all hosts that share it.
    private static func shared(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.understandsDomains, !check.view.isEverythingOff else { return [] }
        func names(_ host: ClientView.Host) -> [String] {
            host.pins.flatMap { check.known($0, at: host) }.flatMap { $0.wultraNames(at: host.pattern) }
        }
        func isFree(_ host: ClientView.Host) -> Bool { host.outcome == .off || host.outcome == .reportOnly }
        var free: [String: ClientView.Host] = [:]
        var kept: [String: ClientView.Host] = [:]
        for host in check.view.hosts {
            if isFree(host) {
                free[host.pattern.text] = host
            } else {
                for name in [host.pattern.text] + names(host) where kept[name] == nil { kept[name] = host }
            }
        }
        return check.view.hosts.compactMap { host in
            let known = names(host)
            if isFree(host) {
                // Its own name is named in any case.
                guard let name = known.first(where: { $0 != host.pattern.text && kept[$0] != nil }),
                    let other = kept[name]
                else { return nil }
                let (limit, state): (ClientLimit, String) =
                    host.outcome == .reportOnly
                    ? (.reportOnly, "only reports")
                    : host.reason == .killSwitchEngaged
                        ? (.killSwitch, "is turned off by a kill switch") : (.modeOff, "is off")
                return check.unheard(
                    limit, host: host,
                    "\(host.pattern) \(state), but one of its certificates has the name \(name), which installs also use for \(other.pattern): because that host is pinned, they keep enforcing for both.",
                    remedy: "Turn \(other.pattern) off as well, or serve a certificate with a separate common name.")
            }
            guard !host.pins.isEmpty, let name = known.first(where: { free[$0] != nil }), let other = free[name] else {
                return nil
            }
            return check.finding(
                .hostNotCompared, .differs, host: host,
                "\(other.pattern) is not pinned now, but a certificate of \(host.pattern) has its name as the common name: installs identify servers by it, so they also ignore the pins of \(host.pattern).",
                remedy: "Have a certificate issued whose subject has the common name \(host.pattern).")
        }
    }

    /// An expiry more than this many seconds away is far away.
    private static let far: Int64 = 30 * 86_400

    private static func removal(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.entryDays == nil else { return [] }
        let valid = check.pinned.flatMap { host in host.pins.flatMap { check.given($0, at: host) } }
        let last = valid.max { ($0.notAfter, $1.key.pin) < ($1.notAfter, $0.key.pin) }
        guard let last, check.view.now.adding(seconds: Self.far) < last.notAfter else { return [] }
        return [
            check.finding(
                .removalDelayed, .notice, pin: last.key.pin,
                "Installs keep trusting removed or revoked entries until they expire: this key until \(last.notAfter).",
                remedy:
                    "Limit the days that clients trust an entry (`entry_days`); the limit applies to entries served from then on."
            )
        ]
    }

    /// Clients take nothing from an empty list, and trust no server without an entry.
    private static func empty(_ check: ClientCheck) -> [ClientFinding] {
        let hosts = check.view.hosts
        let isEmpty = hosts.allSatisfy { host in
            host.pins.allSatisfy { pin in
                !(check.settings.understandsDomains && pin.isAuthority(at: host.pattern))
                    && check.given(pin, at: host).isEmpty
            }
        }
        guard isEmpty else { return [] }
        let remedy = "Upload the certificates that servers present."
        guard check.settings.understandsDomains else {
            return [
                check.finding(
                    .emptyList, hosts.isEmpty ? .notice : .breaks,
                    "No certificate is known, and an empty list turns nothing off: installs keep their entries until they expire, and then refuse every server.",
                    remedy: remedy)
            ]
        }
        let isRequired = hosts.contains { $0.outcome == .enforce || $0.outcome == .builtin }
        return [
            check.finding(
                .emptyList, isRequired ? .breaks : .notice,
                "No certificate is known, and an empty list by itself turns nothing off: installs keep their entries until they expire, and then refuse every server except those that need no pins according to `domainsConfig`.",
                remedy: remedy)
        ]
    }

    private static func delay(_ check: ClientCheck) -> [ClientFinding] {
        guard check.settings.understandsDomains,
            check.view.hosts.contains(where: { $0.outcome == .off && !$0.pins.isEmpty })
        else { return [] }
        return [
            check.finding(
                .weeklyUpdate, .notice,
                "Pinning is off, but \(check.title) checks for changes once a week: installs keep enforcing until then.",
                remedy: "Change the app to force an update when a connection fails.")
        ]
    }
}

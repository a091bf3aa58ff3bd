import PinWire

/// What clients miss that compare whole certificates, or look at the server's own certificate alone.
enum CertificateLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.leafOnly(check) + Self.unknown(check) + Self.expired(check) + Self.renewed(check) + Self.renewal(check)
    }

    /// Dynapins up to 0.1, which looks at the leaf alone too, is judged by which pin comes first.
    private static func looksAtLeafOnly(_ check: ClientCheck) -> Bool {
        switch check.comparison {
        case .ownKey: true
        case .certificate: !(check.kind == .wultra && check.settings.understandsDomains)
        case .firstPin, .anyKey, .ownKeyOrAuthorities, .builtin: false
        }
    }

    private static func leafOnly(_ check: ClientCheck) -> [ClientFinding] {
        let isApple = check.kind == .appleATS
        guard isApple || Self.looksAtLeafOnly(check) else { return [] }
        let place = check.kind == .sslPinning ? "On Apple's systems \(check.kind.title)" : check.kind.title
        return check.pinned.compactMap { host in
            let kept = isApple ? Set(PinnedIdentities(of: host).kept.map(\.pin)) : nil
            func isKnown(_ pin: ClientView.ClientPin) -> Bool {
                kept.map { !$0.contains(pin.pin) } ?? pin.isAuthority(at: host.pattern)
            }
            // Whoever refuses a chain goes by none of its keys, whatever is known of them.
            let above = Set(check.refused(at: host).flatMap { $0.pins.dropFirst() })
            func isUsable(_ pin: ClientView.ClientPin) -> Bool { !isKnown(pin) && !above.contains(pin.pin) }
            let unusable = host.pins.filter { !isUsable($0) }
            let refused = unusable.first { pin in
                check.refuses(serversWith: pin, of: host)
                    || !pin.isServed && !check.isLeftOut(host) && host.severity(without: pin, isUsable) == .breaks
            }
            guard let pin = refused ?? unusable.first else { return nil }
            let isRefused = refused != nil
            let why: String
            switch (isApple, isKnown(pin)) {
            case (true, true):
                why =
                    "With keys of authorities beside those of servers \(place) asks for one of each, so that those stay that are of the primary pin's kind, and this one is left out"
            case (true, false):
                why =
                    "\(place) asks for this key as the server's own, since nobody showed that it is an authority's, and a probe saw it in a certificate above that"
            case (false, true):
                why =
                    "\(place) looks at the server's own certificate alone, and this is an authority's key: it never matches"
            case (false, false):
                why =
                    "\(place) looks at the server's own certificate alone, and a probe saw this key in one above that: it does not match"
            }
            return check.finding(
                .leafOnly, isRefused ? .breaks : .differs, host: host, pin: pin.pin,
                why + (isRefused ? ", and connections to \(host.pattern) are refused." : "."),
                remedy: isApple
                    ? "Show the certificates of authorities' keys, and pin keys of servers only, or of authorities only."
                    : "Pin the key of \(host.pattern) itself.")
        }
    }

    /// How bad it is that clients have no certificate by which to go of a pin's key.
    private static func severity(
        without pin: ClientView.ClientPin, _ host: ClientView.Host, _ check: ClientCheck,
        _ isUsable: (ClientView.ClientPin) -> Bool
    ) -> ClientFinding.Severity {
        if check.isLeftOut(host) { return .differs }
        return check.refuses(serversWith: pin, of: host) ? .breaks : host.severity(without: pin, isUsable)
    }

    private static func unknown(_ check: ClientCheck) -> [ClientFinding] {
        guard check.comparison == .certificate else { return [] }
        let title = check.kind.title
        return check.pinned.flatMap { host in
            host.pins.filter { $0.certificates.isEmpty }.map { pin in
                func isUsable(_ pin: ClientView.ClientPin) -> Bool { !pin.certificates.isEmpty }
                let severity = Self.severity(without: pin, host, check, isUsable)
                return check.finding(
                    .certificateUnknown, severity, host: host, pin: pin.pin,
                    "\(title) compares whole certificates, and of this key of \(host.pattern) none is known: the pin cannot be given to it"
                        + (severity == .breaks ? ", and it refuses the server." : "."),
                    remedy: "Show the key's certificate as soon as there is one, and before it is served.")
            }
        }
    }

    private static func expired(_ check: ClientCheck) -> [ClientFinding] {
        guard check.comparison == .certificate else { return [] }
        return check.pinned.flatMap { host -> [ClientFinding] in
            func isValid(_ pin: ClientView.ClientPin) -> Bool {
                check.known(pin, at: host).contains { check.view.now < $0.notAfter }
            }
            return host.pins.compactMap { pin in
                guard let last = check.known(pin, at: host).first, !isValid(pin) else { return nil }
                return check.finding(
                    .certificateExpired, Self.severity(without: pin, host, check, isValid), host: host, pin: pin.pin,
                    "The last certificate that is known of this key of \(host.pattern) expired at \(last.notAfter): installs trust none of the key any more.",
                    remedy: "Show the renewed certificate, or retire the pin.")
            }
        }
    }

    /// Certificates of pinned keys that are served and that nobody has shown here.
    private static func renewed(_ check: ClientCheck) -> [ClientFinding] {
        guard check.comparison == .certificate else { return [] }
        return check.pinned.flatMap { host in
            // Of a key of which no certificate is known that is said already.
            host.pins.filter { !$0.serverCertificates(at: host.pattern).isEmpty }.compactMap { pin in
                let other = check.seen(at: host).first { keys, chain in
                    keys.first == pin.pin && !check.accepts(keys, chain, at: host)
                        && !check.known(pin, at: host).contains { $0.sha256 == chain.first?.sha256 }
                }
                guard let certificate = other?.certificates.first else { return nil }
                return check.finding(
                    .certificateRenewed, .breaks, host: host, pin: pin.pin,
                    "A server of \(host.pattern) presents a certificate of this key that installs are not given here, and is valid until \(certificate.notAfter): \(check.kind.title) compares whole certificates, and refuses it.",
                    remedy: check.kind.isServed
                        ? "Show the certificate that is served."
                        : "Show the certificate that is served, and release the app with its fingerprint.")
            }
        }
    }

    private static func renewal(_ check: ClientCheck) -> [ClientFinding] {
        guard check.comparison == .certificate else { return [] }
        let ends = check.pinned.flatMap { host in
            host.pins.compactMap { check.known($0, at: host).first?.notAfter }
        }.filter { check.view.now < $0 }
        guard let next = ends.min() else { return [] }
        return [
            check.finding(
                .wholeCertificate, .notice,
                "\(check.kind.title) compares whole certificates: a renewed one is another to it, even of the same key. The next to end does at \(next).",
                remedy: check.kind.isServed
                    ? "Show each new certificate here, and serve it when clients have fetched its fingerprint."
                    : "Release the app with the fingerprint of each new certificate before it is served.")
        ]
    }
}

import PinWire

/// The limits of clients that compare whole certificates, or only the server's own certificate.
enum CertificateLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.leafOnly(check) + Self.unknown(check) + Self.expired(check) + Self.renewed(check) + Self.renewal(check)
    }

    /// What compares the first pin alone, which looks at the leaf alone too, is judged by which pin comes first.
    private static func looksAtLeafOnly(_ check: ClientCheck) -> Bool {
        switch check.profile.comparison {
        case .ownKey: true
        case .certificate(ofAnyHost: _, let orAuthority): !orAuthority
        case .firstPin, .anyKey, .ownKeyOrAuthorities, .builtin: false
        }
    }

    private static func leafOnly(_ check: ClientCheck) -> [ClientFinding] {
        let isByOwner = check.profile.comparison == .ownKeyOrAuthorities
        guard isByOwner || Self.looksAtLeafOnly(check) else { return [] }
        let place = check.profile.title(on: check.profile.comparedOn)
        return check.pinned.compactMap { host in
            let kept = isByOwner ? Set(PinnedIdentities(of: host).kept.map(\.pin)) : nil
            func isKnown(_ pin: ClientView.ClientPin) -> Bool {
                kept.map { !$0.contains(pin.pin) } ?? pin.isAuthority(at: host.pattern)
            }
            // A client that refuses a chain uses none of its keys, whatever is known of them.
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
            switch (isByOwner, isKnown(pin)) {
            case (true, true):
                why =
                    "With keys of both authorities and servers, \(place) requires one of each, so only pins of the primary pin's kind are kept, and this one is left out"
            case (true, false):
                why =
                    "\(place) expects this key to be the server's own, because no upload shows that it is an authority's, but a probe saw it in a certificate above the server's"
            case (false, true):
                why =
                    "\(place) checks only the server's own certificate, and this is an authority's key: it never matches"
            case (false, false):
                why =
                    "\(place) checks only the server's own certificate, and a probe saw this key in one above it: it does not match"
            }
            return check.finding(
                .leafOnly, isRefused ? .breaks : .differs, host: host, pin: pin.pin,
                why + (isRefused ? ", and connections to \(host.pattern) are refused." : "."),
                remedy: isByOwner
                    ? "Upload the certificates of authorities' keys, and pin only servers' keys or only authorities' keys."
                    : "Pin the key of \(host.pattern) itself.")
        }
    }

    /// The severity for clients that have no usable certificate of a pin's key.
    private static func severity(
        without pin: ClientView.ClientPin, _ host: ClientView.Host, _ check: ClientCheck,
        _ isUsable: (ClientView.ClientPin) -> Bool
    ) -> ClientFinding.Severity {
        if check.isLeftOut(host) { return .differs }
        return check.refuses(serversWith: pin, of: host) ? .breaks : host.severity(without: pin, isUsable)
    }

    private static func unknown(_ check: ClientCheck) -> [ClientFinding] {
        guard check.profile.comparison.isOfCertificates else { return [] }
        let title = check.title
        return check.pinned.flatMap { host in
            host.pins.filter { $0.certificates.isEmpty }.map { pin in
                func isUsable(_ pin: ClientView.ClientPin) -> Bool { !pin.certificates.isEmpty }
                let severity = Self.severity(without: pin, host, check, isUsable)
                return check.finding(
                    .certificateUnknown, severity, host: host, pin: pin.pin,
                    "\(title) compares whole certificates, but none is known for this key of \(host.pattern): the pin cannot be served to it"
                        + (severity == .breaks ? ", and it refuses the server." : "."),
                    remedy: "Upload the key's certificate as soon as it exists, and before it is served.")
            }
        }
    }

    private static func expired(_ check: ClientCheck) -> [ClientFinding] {
        guard check.profile.comparison.isOfCertificates else { return [] }
        return check.pinned.flatMap { host -> [ClientFinding] in
            func isValid(_ pin: ClientView.ClientPin) -> Bool {
                check.known(pin, at: host).contains { check.view.now < $0.notAfter }
            }
            return host.pins.compactMap { pin in
                guard let last = check.known(pin, at: host).first, !isValid(pin) else { return nil }
                return check.finding(
                    .certificateExpired, Self.severity(without: pin, host, check, isValid), host: host, pin: pin.pin,
                    "The last known certificate of this key of \(host.pattern) expired at \(last.notAfter): installs no longer trust any certificate of the key.",
                    remedy: "Upload the renewed certificate, or retire the pin.")
            }
        }
    }

    /// Served certificates of pinned keys that were never uploaded here.
    private static func renewed(_ check: ClientCheck) -> [ClientFinding] {
        guard check.profile.comparison.isOfCertificates else { return [] }
        return check.pinned.flatMap { host in
            // For a key without any known certificate that is reported already.
            host.pins.filter { !$0.serverCertificates(at: host.pattern).isEmpty }.compactMap { pin in
                let other = check.seen(at: host).first { keys, chain in
                    keys.first == pin.pin && !check.accepts(keys, chain, at: host)
                        && !check.known(pin, at: host).contains { $0.sha256 == chain.first?.sha256 }
                }
                guard let certificate = other?.certificates.first else { return nil }
                return check.finding(
                    .certificateRenewed, .breaks, host: host, pin: pin.pin,
                    "A server of \(host.pattern) presents a certificate of this key that installs do not get from here, valid until \(certificate.notAfter): \(check.title) compares whole certificates and refuses it.",
                    remedy: check.profile.isServed
                        ? "Upload the certificate that is served."
                        : "Upload the certificate that is served, and release the app with its fingerprint.")
            }
        }
    }

    private static func renewal(_ check: ClientCheck) -> [ClientFinding] {
        guard check.profile.comparison.isOfCertificates else { return [] }
        let ends = check.pinned.flatMap { host in
            host.pins.compactMap { check.known($0, at: host).first?.notAfter }
        }.filter { check.view.now < $0 }
        guard let next = ends.min() else { return [] }
        return [
            check.finding(
                .wholeCertificate, .notice,
                "\(check.title) compares whole certificates: a renewed certificate does not match, even with the same key. The next one expires at \(next).",
                remedy: check.profile.isServed
                    ? "Upload each new certificate here, and serve it once clients have fetched its fingerprint."
                    : "Release the app with the fingerprint of each new certificate before it is served.")
        ]
    }
}

import PinWire

/// What clients miss that compare whole certificates, or look at the server's own certificate alone.
enum CertificateLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        Self.leafOnly(check) + Self.unknown(check) + Self.renewal(check)
    }

    private static func comparesCertificates(_ check: ClientCheck) -> Bool {
        switch check.kind {
        case .wultra, .muejam, .flutter: true
        default: false
        }
    }

    /// Dynapins up to 0.1, which looks at the leaf alone too, is judged by which pin comes first.
    private static func looksAtLeafOnly(_ check: ClientCheck) -> Bool {
        switch check.kind {
        case .muejam, .flutter, .curl, .sslPinning: true
        case .wultra: !check.settings.understandsDomains
        case .remoteConfig: check.settings.schema == .advanced
        default: false
        }
    }

    private static func leafOnly(_ check: ClientCheck) -> [ClientFinding] {
        guard Self.looksAtLeafOnly(check) else { return [] }
        let place = check.kind == .sslPinning ? "On Apple's systems \(check.kind.title)" : check.kind.title
        return check.pinned.compactMap { host in
            let authorities = host.pins.filter { $0.isAuthority(at: host.pattern) }
            guard let first = authorities.first else { return nil }
            let isRefused = authorities.contains {
                host.severity(without: $0) { !$0.isAuthority(at: host.pattern) } == .breaks
            }
            return check.finding(
                .leafOnly, isRefused ? .breaks : .differs, host: host, pin: first.pin,
                "\(place) looks at the server's own certificate alone, and this is an authority's key: it never matches"
                    + (isRefused ? ", and every connection to \(host.pattern) is refused." : "."),
                remedy: "Pin the key of \(host.pattern) itself.")
        }
    }

    private static func unknown(_ check: ClientCheck) -> [ClientFinding] {
        guard Self.comparesCertificates(check) else { return [] }
        let title = check.kind.title
        return check.pinned.flatMap { host in
            host.pins.filter { $0.certificates.isEmpty }.map { pin in
                let severity = host.severity(without: pin) { !$0.certificates.isEmpty }
                return check.finding(
                    .certificateUnknown, severity, host: host, pin: pin.pin,
                    "\(title) compares whole certificates, and of this key of \(host.pattern) none is known: the pin cannot be given to it"
                        + (severity == .breaks ? ", and it refuses the server." : "."),
                    remedy: "Show the key's certificate as soon as there is one, and before it is served.")
            }
        }
    }

    private static func renewal(_ check: ClientCheck) -> [ClientFinding] {
        guard Self.comparesCertificates(check) else { return [] }
        let ends = check.pinned.flatMap { host in
            host.pins.compactMap { $0.serverCertificates(at: host.pattern).first?.notAfter }
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

extension ClientProfile {
    static let flutter = ClientProfile(
        title: "Flutter http_certificate_pinning",
        file: ClientFile("certificate-fingerprints.json", "application/json"),
        comparison: .certificate(),
        names: .exact(
            NameLimit { host, title in
                "\(title) matches fingerprints by exact names: \(host.pattern) is left out and not pinned."
            }),
        findings: {
            $0.notice(
                .checkedBeforehand,
                "\($0.title) checks a separate connection before each request, not the one that the request uses.",
                remedy:
                    "Use a client that checks the request's own connection if attackers may divert single connections."
            )
        })
}

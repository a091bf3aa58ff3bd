import PinWire

extension ClientProfile {
    static let appleATS = ClientProfile(
        title: "Apple App Transport Security",
        file: ClientFile("NSAppTransportSecurity.plist", "application/xml"),
        comparison: .ownKeyOrAuthorities,
        names: NameMatching(
            // Two label depths only: Apple's documentation of NSIncludesSubdomains.
            reaches: [[.own, .below], .own], overlap: .unknown,
            words: "An entry stands for one name, or for that and the names one label below it",
            wildcard: NameLimit { host, title in
                "\(title) has no wildcards, and NSIncludesSubdomains of \(host.pattern.name) would also pin \(host.pattern.name): \(host.pattern) is left out and not pinned."
            },
            subdomains: NameLimit(limit: .subdomainsOneLabel) { host, _ in
                "NSIncludesSubdomains covers names one label below \(host.pattern.name); deeper names are not pinned."
            }),
        singlePin: .discouraged,
        findings: {
            $0.notice(
                .olderSystems, "Systems before iOS 14 and macOS 11 ignore pinned domains and do not pin.",
                remedy: "Use TrustKit if older systems matter.")
        })
}

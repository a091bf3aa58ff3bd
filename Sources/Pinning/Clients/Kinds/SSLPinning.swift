import PinWire

extension ClientProfile {
    static let sslPinning = ClientProfile(
        title: "ssl-pinning",
        isServed: true,
        signature: .rsaSHA512,
        // OkHttp, which does the work on Android, looks at all of the chain.
        comparison: .ownKey,
        comparedOn: "On Apple's systems",
        names: NameMatching(
            reaches: [.own, .below], overlap: .sum, overlapsOn: "On Android",
            subdomains: NameLimit { host, title in
                "A key of \(title) is for \(host.pattern): on Android deeper names are not pinned."
            }),
        unpinned: .refused,
        reportOnly: .enforces,
        findings: Self.pooledKeys)

    /// The SDK for Apple's systems compares with the keys of the whole file.
    @Sendable private static func pooledKeys(_ check: ClientCheck) -> [ClientFinding] {
        guard Set(check.pinned.map { Set($0.pins.map(\.pin)) }).count > 1 else { return [] }
        return [
            check.finding(
                .keysPooled, .differs,
                "On Apple's systems \(check.title) accepts any pin of the file for any host: each of the \(check.pinned.count) hosts can present the keys of the others.",
                remedy: "Put hosts with other keys into a separate app, and so a separate file.")
        ]
    }
}

import PinWire

extension ClientProfile {
    /// Up to 0.1 the SDK compares the first pin alone; since 0.2 TrustKit has the pins.
    static func dynapins(_ settings: ClientSettings) -> ClientProfile {
        let isFirst = settings.dynapins == .ed25519
        return ClientProfile(
            title: "Dynapins",
            isServed: true,
            signature: isFirst ? .ed25519 : .es256,
            keyName: { settings.dynapins.keyID(of: $0.publicKey) },
            comparison: isFirst ? .firstPin : .anyKey,
            names: .exact(
                isLookedUp: true, isFirst ? Self.wildcardOfFirst : Self.wildcardOfTrustKit,
                subdomains: NameLimit { host, title in
                    "\(title) pins the names that an app lists: others below \(host.pattern) are not pinned."
                }),
            suffix: isFirst ? .none : .publicSuffix(),
            singlePin: .notServed,
            unpinned: .refused,
            reportOnly: .enforces,
            settings: ClientSettingsForm(
                json: { settings in
                    .members([
                        "protocol": .string(settings.dynapins.rawValue),
                        "ttl_seconds": .integer(settings.ttlSeconds),
                        // Entries of the ledger from before this member have none.
                        "cert_fingerprint": settings.servesFingerprint ? .bool(true) : nil,
                    ])
                },
                read: Self.readDynapins),
            findings: DynapinsLimits.findings)
    }

    private static let wildcardOfFirst = NameLimit(severity: .breaks) { host, _ in
        guard !host.includesSubdomains else { return nil }
        return
            "Dynapins up to 0.1 applies \(host.pattern) to names at any depth below \(host.pattern.name): deeper names have no pins here, but it refuses them unless they present these keys."
    }

    private static let wildcardOfTrustKit = NameLimit(severity: .breaks) { host, _ in
        "Dynapins 0.2 cannot use the pins of \(host.pattern): an app that is configured with it refuses every connection to a name that ends in \(host.pattern.name), unless the app also lists the name."
    }

    @Sendable private static func readDynapins(
        _ m: inout JSONMembers, into settings: inout ClientSettings
    ) throws(JSONDefect) {
        if let word = m.optional("protocol") { settings.dynapins = try word.oneOf(DynapinsProtocol.self) }
        if let seconds = m.optional("ttl_seconds") { settings.ttlSeconds = try seconds.integer(60...604_800) }
        if let flag = m.optional("cert_fingerprint") {
            settings.servesFingerprint = try flag.bool()
            guard !settings.servesFingerprint || settings.dynapins == .ed25519 else {
                throw flag.defect("must be false unless the protocol is ed25519, which has such answers")
            }
        }
    }
}

extension ClientProfile {
    static let netkit = ClientProfile(
        title: "NetKit",
        isServed: true,
        file: ClientFile("PinnedKeys.swift"),
        comparison: .anyKey,
        names: .exact(
            isLookedUp: true,
            NameLimit { host, title in
                "\(title) pins exact names: \(host.pattern) applies only to names that the app lists."
            }),
        reportOnly: .warns,
        canTurnOff: true,
        versionKillSwitch: .versionNotSent,
        findings: {
            $0.notice(
                .hashNeverMatches,
                "NetKit's first version compares whole keys or certificates, which no pin matches: it can use only `pinnedItems`, which exist only for hosts whose keys were all uploaded.",
                remedy:
                    "Upload the keys or certificates of all pins, or update NetKit to a version that supports spkiSHA256."
            )
        })
}

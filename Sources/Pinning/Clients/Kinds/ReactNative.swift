import PinWire

extension ClientProfile {
    /// On iOS TrustKit does the work, on Android OkHttp.
    static let reactNative = ClientProfile(
        title: "react-native-ssl-public-key-pinning",
        file: ClientFile("ssl-pinning.json", "application/json"),
        comparison: .anyKey,
        names: .subtrees(
            overlap: .sum, on: "On Android",
            subdomains: NameLimit(severity: .notice) { host, _ in
                "React Native up to 0.64 has OkHttp 3, which accepts **.\(host.pattern.name) but never matches it: on Android such apps do not pin \(host.pattern)."
            }),
        // What uses TrustKit catches its exception.
        suffix: .publicSuffix(isCaught: true),
        singlePin: .ignored,
        validity: .date,
        findings: {
            $0.notice(
                .sessionCache,
                "iOS keeps TLS sessions: previously connected servers are not checked again until the app restarts.",
                remedy: "Set the pins before the app's first request.")
        })
}

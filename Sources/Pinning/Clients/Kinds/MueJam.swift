extension ClientProfile {
    static let muejam = ClientProfile(
        title: "MueJam",
        isServed: true,
        comparison: .certificate(),
        names: .exact(isLookedUp: true, .knownCertificates, subdomains: .knownCertificatesBelow),
        unpinned: .refused,
        reportOnly: .enforces,
        findings: {
            $0.notice(
                .hashNeverMatches,
                "Clients based on the published example for Android give certificates' fingerprints to OkHttp as pins: they never match.",
                remedy: "Change the Android app to compare fingerprints with the whole certificate.")
        })
}

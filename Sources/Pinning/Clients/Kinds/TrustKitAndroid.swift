import PinWire

extension ClientProfile {
    static let trustkitAndroid = ClientProfile(
        title: "TrustKit for Android",
        file: ClientFile("network_security_config.xml", "application/xml"),
        comparison: .anyKey,
        names: .subtrees(exceptions: [.own, .all]),
        suffix: .topLevelDomain,
        singlePin: .crashes,
        // Android enforces of its own accord what TrustKit is told to report.
        reportOnly: .reports(systemEnforces: true),
        validity: .localDate,
        findings: { check in
            var findings: [ClientFinding] = []
            if check.pinned.contains(where: { $0.mode == .enforce }) {
                findings += check.notice(
                    .enforceDefault, "\(check.title) only reports unless enforcePinning=\"true\" is set.",
                    remedy: "Keep the attribute when you merge the exported file by hand.")
            }
            if check.pinned.count > 1 {
                findings += check.notice(
                    .oneDomainEach, "\(check.title) uses only the last domain of each domain-config.",
                    remedy: "Keep the blocks separate when you merge the exported file by hand.")
            }
            return findings
        })
}

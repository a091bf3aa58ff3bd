import PinWire

/// What kinds of clients cannot do with an app's state: the limits that its operators should know.
///
/// It judges what is served and exported now, for clients as their makers published them. What a client was given
/// before is not known here.
package enum ClientLimits {
    /// Findings that are told of one kind.
    package static let findingLimit = 200

    /// What one kind of client cannot do with a view, or does otherwise: at most ``findingLimit`` findings, the worst
    /// first, then by limit, host and pin.
    ///
    /// Pure: the same view has the same findings.
    ///
    /// - Parameters:
    ///   - view: what a device gets of which nothing is known.
    ///   - isPublicSuffix: whether a name in lower-case A-labels is on the Public Suffix List.
    package static func findings(
        for kind: ClientKind, settings: ClientSettings, view: ClientView, isPublicSuffix: (String) -> Bool
    ) -> [ClientFinding] {
        Array(Self.all(for: kind, settings: settings, view: view, isPublicSuffix: isPublicSuffix).prefix(findingLimit))
    }

    /// ``findings(for:settings:view:isPublicSuffix:)``, however many they are.
    static func all(
        for kind: ClientKind, settings: ClientSettings, view: ClientView, isPublicSuffix: (String) -> Bool
    ) -> [ClientFinding] {
        let check = ClientCheck(kind: kind, settings: settings, view: view)
        var findings = PinCountLimits.findings(of: check)
        findings += NameLimits.findings(of: check, isPublicSuffix: isPublicSuffix)
        findings += OverlapLimits.findings(of: check)
        findings += CertificateLimits.findings(of: check)
        findings += SwitchLimits.findings(of: check)
        findings += RolloutLimits.findings(of: check)
        findings += ExpiryLimits.findings(of: check)
        findings += DynapinsLimits.findings(of: check)
        findings += WultraLimits.findings(of: check)
        findings += RemoteConfigLimits.findings(of: check)
        findings += LibraryLimits.findings(of: check)
        return findings.sorted(by: Self.precedes)
    }

    private static func precedes(_ left: ClientFinding, _ right: ClientFinding) -> Bool {
        if left.severity != right.severity { return right.severity < left.severity }
        return Self.place(left) < Self.place(right)
    }

    private static func place(_ finding: ClientFinding) -> (String, String, String, String) {
        (finding.limit.rawValue, finding.host?.text ?? "", finding.pin?.description ?? "", finding.detail)
    }
}

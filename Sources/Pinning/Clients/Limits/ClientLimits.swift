import PinWire

/// Finds the limits that kinds of clients meet with an app's state, for its operators.
///
/// It judges the present answers and exports, for clients as their authors published them. Earlier answers to a client
/// are unknown here.
package enum ClientLimits {
    /// The most findings of one kind.
    package static let findingLimit = 200

    /// The limits of one kind of client for a view: at most ``findingLimit`` findings, the worst first, then by limit,
    /// host and pin.
    ///
    /// Pure: the same view has the same findings.
    ///
    /// - Parameters:
    ///   - view: The view of a device without known attributes.
    ///   - isPublicSuffix: Whether a name in lower-case A-labels is on the Public Suffix List.
    package static func findings(
        for kind: ClientKind, settings: ClientSettings, view: ClientView, isPublicSuffix: (String) -> Bool
    ) -> [ClientFinding] {
        Array(Self.all(for: kind, settings: settings, view: view, isPublicSuffix: isPublicSuffix).prefix(findingLimit))
    }

    /// ``findings(for:settings:view:isPublicSuffix:)`` without the limit on their number.
    static func all(
        for kind: ClientKind, settings: ClientSettings, view: ClientView, isPublicSuffix: (String) -> Bool
    ) -> [ClientFinding] {
        let check = ClientCheck(kind: kind, settings: settings, view: view)
        var findings = PinCountLimits.findings(of: check)
        findings += NameLimits.findings(of: check, isPublicSuffix: isPublicSuffix)
        findings += OverlapLimits.findings(of: check)
        findings += CertificateLimits.findings(of: check)
        findings += SwitchLimits.findings(of: check)
        findings += BuiltInLimits.findings(of: check)
        findings += RolloutLimits.findings(of: check)
        findings += ExpiryLimits.findings(of: check)
        findings += SigningLimits.findings(of: check)
        findings += check.profile.findings(check)
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

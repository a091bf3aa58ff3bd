import PinWire

/// What becomes of `pins_valid_until`.
enum ExpiryLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard let end = check.view.document.pinsValidUntil, !check.pinned.isEmpty, !check.hearsOff else { return [] }
        let title = check.kind.title
        switch check.kind {
        case .trustkitIOS, .trustkitAndroid, .androidNSC, .reactNative:
            let day = end.microseconds % 86_400_000_000 == 0 ? "" : " \(title) knows days only, and not the hour."
            return [
                check.finding(
                    .unprotectedAfterExpiry, .notice,
                    "Installs whose app is not updated go without pins from \(end) on.\(day)",
                    remedy: "Release the app with a later date well before then.")
            ]
        default:
            return check.unheard(
                .pinsValidUntil, by: check.pinned,
                "Pins hold until \(end), which \(title) cannot be told: after that installs go on enforcing.",
                remedy: check.kind.isServed
                    ? "Keep the pins that are served here matching the servers, or move the end on in time."
                    : "Release the app with new pins before its keys are replaced.")
        }
    }
}

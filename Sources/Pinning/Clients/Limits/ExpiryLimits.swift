import PinWire

/// The kinds' treatment of `pins_valid_until`.
enum ExpiryLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard let end = check.view.document.pinsValidUntil, !check.pinned.isEmpty, !check.profile.canTurnOff else {
            return []
        }
        let title = check.title
        switch check.profile.validity {
        case .instant: return []
        case .date, .localDate:
            let day = end.microseconds % 86_400_000_000 == 0 ? "" : " \(title) supports whole days only."
            return [
                check.finding(
                    .unprotectedAfterExpiry, .notice,
                    "Installs that are not updated have no pins from \(end) on.\(day)",
                    remedy: "Release the app with a later date well before then.")
            ]
        case .none:
            return check.unheard(
                .pinsValidUntil, by: check.pinned,
                "Pins end at \(end), but \(title) has no field for it: installs keep enforcing after that.",
                remedy: check.profile.isServed
                    ? "Keep the served pins in line with the servers, or extend the end in time."
                    : "Release the app with new pins before its keys are replaced.")
        }
    }
}

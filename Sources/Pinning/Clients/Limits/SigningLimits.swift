/// What answers are signed with, or that they are not.
enum SigningLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard check.profile.isServed else { return [] }
        return check.profile.signature != nil
            ? check.notice(
                .signingKeyFixed,
                "\(check.title) verifies with one key, which is built into the app: a new key needs a new version of the app.",
                remedy: "Keep the key safe, and know which versions of the app have it.")
            : check.notice(
                .unsigned,
                "\(check.title) fetches an unsigned answer: anyone who can change it in transit chooses the pins.",
                remedy: "Serve it over TLS, and build pins for that server into the app.")
    }
}

/// The colours of severities and states in a terminal; nothing else has one.
enum WordColour {
    /// True for a header whose cells are severities or states.
    static func styles(_ header: String) -> Bool { Self.headers.contains(header) }

    private static let headers: Set = ["SEVERITY", "STATE", "STATUS", "VERDICT", "OUTCOME", "WORST"]

    /// The text with the colour of its first word, where it has one.
    static func coloured(_ text: String) -> String {
        let word = text.drop { $0 == " " }.prefix { $0.isLetter || $0 == "_" }.lowercased()
        // ECMA-48, Select Graphic Rendition.
        let code = Self.red.contains(word) ? 31 : Self.yellow.contains(word) ? 33 : Self.green.contains(word) ? 32 : 0
        return code == 0 ? text : "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    private static let red: Set = [
        "block", "dead", "denied", "failed", "fails", "refused", "rejected", "revoked", "unauthenticated", "urgent",
    ]
    private static let yellow: Set = [
        "expired", "mistyped", "override", "paused", "proposed", "soon", "suspended", "unknown", "warn",
    ]
    private static let green: Set = ["active", "applied", "ok", "survives"]
}

import PinWire

/// The public id of a principal or a grant: a prefix and 16 base62 characters, 95 random bits.
package enum AccessID: String, Sendable {
    case principal = "prn_"
    case grant = "grt_"
    case change = "chg_"
    case freeze = "frz_"
    case identity = "idn_"

    private static let length = 16

    /// Draws a new id.
    package func generate() -> String { self.rawValue + Random.base62(Self.length) }

    /// Whether a text is an id of this kind.
    package func isID(_ text: String) -> Bool {
        text.utf8.count == 4 + Self.length && text.hasPrefix(self.rawValue)
            && text.utf8.dropFirst(4).allSatisfy(Base62.alphabet.contains)
    }
}

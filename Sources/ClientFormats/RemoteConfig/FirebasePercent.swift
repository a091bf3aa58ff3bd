import PinWire

/// The position of an id among all, as Firebase's server SDKs compute it: SHA-256 of `seed.id` as one big-endian
/// number, modulo 100,000,000, so that one unit is a millionth of a per cent (firebase-admin 7, conditions of server
/// templates).
///
/// Firebase computes the positions of an app's installs on its own servers and does not document how; only server
/// templates are known to use this formula.
package struct FirebasePercent: Hashable, Sendable {
    /// From 0 to 99,999,999.
    package let position: Int64

    /// The whole range, in millionths of a per cent.
    package static let whole: Int64 = 100_000_000

    /// Millionths of a per cent in one basis point.
    package static let basisPoint: Int64 = 10_000

    /// Nil for an empty id, which no percentage lets in.
    ///
    /// - Parameters:
    ///   - id: The SDKs' randomization id.
    ///   - seed: Makes one condition's draw independent of another's; without one the id is hashed alone.
    package init?(of id: String, seed: String) {
        guard !id.isEmpty else { return nil }
        let message = seed.isEmpty ? id : "\(seed).\(id)"
        self.position = sha256(Array(message.utf8)).reduce(0) { ($0 * 256 + Int64($1)) % Self.whole }
    }

    /// The condition `LESS_OR_EQUAL`.
    package func isAtMost(_ microPercent: Int64) -> Bool { self.position <= microPercent }

    /// The condition `BETWEEN`: above `lower`, up to and with `upper`.
    package func isBetween(_ lower: Int64, _ upper: Int64) -> Bool { lower < self.position && self.position <= upper }

    /// The seed for a rollout's salt: the salt itself where the service accepts it (up to 32 letters, digits, `_`, `-`
    /// and `.`), so that handwritten conditions can share it; else 32 digits of its SHA-256.
    package static func seed(salt: String) -> String {
        let isPlain = salt.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        if isPlain, (1...32).contains(salt.utf8.count) { return salt }
        return String(Hex.encode(sha256(Array(salt.utf8))).prefix(32))
    }
}

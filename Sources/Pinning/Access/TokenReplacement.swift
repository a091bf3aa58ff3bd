package import PinWire

/// What a new token takes the place of: an earlier one, which is accepted for some time beside it.
package struct TokenReplacement: Hashable, Sendable {
    /// The earlier token's id.
    package let token: String
    /// How long the earlier token is accepted after the new one is issued, in seconds, if it does not end before.
    package let overlap: Int64

    /// The longest overlap: thirty days.
    package static let longestOverlap: Int64 = 30 * 86_400
    /// A week.
    package static let defaultOverlap: Int64 = 7 * 86_400

    package init(token: String, overlap: Int64 = Self.defaultOverlap) {
        self.token = token
        self.overlap = overlap
    }

    package var json: JSON { ["token_id": .string(self.token), "overlap_seconds": .integer(self.overlap)] }

    /// Reads what ``json`` writes.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            TokenReplacement(
                token: try members.required("token_id").string(),
                overlap: try members.optional("overlap_seconds")?.integer(0...Self.longestOverlap)
                    ?? Self.defaultOverlap)
        }
    }
}

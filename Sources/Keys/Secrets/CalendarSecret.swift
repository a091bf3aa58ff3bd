import PinWire

/// The secret in the address of an app's calendar feed: a token of the kind `cal`, which opens that feed and nothing else.
///
/// The stored digest is bound to the app, and differs from every token's ``APIToken/digest``: the text is accepted
/// neither as a bearer token nor for the feed of another app.
package struct CalendarSecret: Sendable {
    /// The number of random characters of an id.
    private static let idLength = 16

    private let token: APIToken
    private let app: String

    /// Draws the secret of a new feed.
    package static func generate(app: String) -> CalendarSecret {
        CalendarSecret(token: APIToken.generate(.calendar), app: app)
    }

    private init(token: APIToken, app: String) {
        self.token = token
        self.app = app
    }

    /// Reads the secret out of an address; nil where its form or its checksum is wrong.
    package init?(_ text: String, app: String) {
        guard let token = try? APIToken(parsing: text), token.kind == .calendar else { return nil }
        self.init(token: token, app: app)
    }

    /// The text of the address. It MUST NOT be stored or logged.
    package var revealedText: String { self.token.revealedText }

    /// The digest for storage and look-up: SHA-256("pinledger/calendar/v1" ‖ 0 ‖ app ‖ 0 ‖ text), 32 bytes.
    package var digest: [UInt8] {
        sha256(Array("pinledger/calendar/v1\0\(self.app)\0\(self.token.revealedText)".utf8))
    }

    /// Whether the secret is the one whose ``digest`` was stored, in constant time.
    package func matches(digest: [UInt8]) -> Bool { ConstantTime.areEqual(self.digest, digest) }

    /// Draws a feed's public id: 95 random bits.
    package static func newID() -> String { "cal_" + Random.base62(self.idLength) }

    /// Whether a text is the id of a feed rather than of a token.
    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 4 + Self.idLength && text.hasPrefix("cal_")
            && text.utf8.dropFirst(4).allSatisfy(Base62.alphabet.contains)
    }
}

import PinWire

/// How long clients and caches may keep what they fetch (RFC 9111), and for how long a cache may go on serving it while the origin
/// fails (`stale-if-error`, RFC 5861 section 4).
package struct ClientCaching: Hashable, Sendable {
    /// How long a document may be used before asking again, in seconds.
    package var maxAge: Int
    /// How long after that a cache may serve what it has while the origin fails, in seconds.
    package var staleIfError: Int

    /// The longest ``staleIfError``: a week.
    package static let longestStaleIfError = 604_800

    package init(maxAge: Int = 60, staleIfError: Int = 3600) {
        self.maxAge = maxAge
        self.staleIfError = staleIfError
    }

    /// The words for caches about a document, and the time until which they are right.
    struct Told: Hashable, Sendable {
        /// The value of the field `Cache-Control`.
        var cacheControl: String
        /// When they are to be told something else; nil for never.
        var until: Timestamp?
    }

    /// The words about a document that ends at `end`: none lets a cache serve it after that because the origin fails. A client asks
    /// its next service once it gets an error, and not while a cache hides one behind a document that has ended.
    func document(endingAt end: Timestamp, at now: Timestamp) -> Told {
        let rest = (end.microseconds - now.microseconds) / 1_000_000 - Int64(self.maxAge)
        let whole = Int64(self.staleIfError)
        guard rest <= whole else {
            return Told(
                cacheControl: Self.text(self.maxAge, self.staleIfError),
                until: whole > 0 ? end.adding(seconds: -whole - Int64(self.maxAge)) : nil)
        }
        // The words hold for a while, so the time in them is the one at the end of that.
        let step = max(1, rest / 8)
        guard rest > step else { return Told(cacheControl: Self.text(self.maxAge, 0), until: nil) }
        return Told(
            cacheControl: Self.text(self.maxAge, Int(rest - step)), until: now.adding(seconds: step))
    }

    /// The words about key sets and roots of trust.
    var keySet: String { Self.text(ClientHeaders.keyMaxAge, self.staleIfError) }

    private static func text(_ maxAge: Int, _ staleIfError: Int) -> String {
        ClientHeaders.caching(maxAge: maxAge) + (staleIfError > 0 ? ", stale-if-error=\(staleIfError)" : "")
    }
}

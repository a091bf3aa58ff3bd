import Pinning

/// The addresses of Google's services: their own, or one that is set for tests.
package struct FirebaseEndpoint: Hashable, Sendable {
    /// Without a slash at its end.
    package let base: String
    /// Whether plain HTTP on the loopback interface is allowed, for tokens too.
    package let allowsLoopback: Bool

    package static let google = FirebaseEndpoint(
        base: "https://firebaseremoteconfig.googleapis.com", allowsLoopback: false)

    private init(base: String, allowsLoopback: Bool) {
        self.base = base
        self.allowsLoopback = allowsLoopback
    }

    /// Takes an address instead of Google's; nil unless it is HTTPS, or HTTP to this machine.
    package init?(_ text: String) {
        guard Self.isAllowed(text, loopback: true) else { return nil }
        var base = text
        while base.hasSuffix("/") { base.removeLast() }
        self.init(base: base, allowsLoopback: true)
    }

    func allows(_ url: String) -> Bool { Self.isAllowed(url, loopback: self.allowsLoopback) }

    private static func isAllowed(_ text: String, loopback: Bool) -> Bool {
        guard let url = try? OutgoingURL(text) else { return false }
        let isLocal = url.host == "localhost" || url.host == "::1" || url.host.hasPrefix("127.") && url.hasAddress
        return url.isSecure || loopback && isLocal
    }
}

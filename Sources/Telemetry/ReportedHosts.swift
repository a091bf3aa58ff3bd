package import PinWire
package import Pinning

/// An app's host patterns, for finding the one that a reported name stands under.
package struct ReportedHosts: Sendable {
    private let patterns: [HostPattern]
    private let index: HostIndex

    package init(_ app: App) {
        self.patterns = app.hosts.keys.sorted()
        self.index = HostIndex(
            self.patterns.map { ($0, app.hosts[$0]?.includesSubdomains == true) })
    }

    /// The pattern of a name in lower case; nil where the app has none for it.
    package func pattern(of name: String) -> HostPattern? { self.index.place(of: name).map { self.patterns[$0] } }
}

import PinWire
package import Pinning

/// An app's host patterns, to find the one that covers a reported name.
package struct ReportedHosts: Sendable {
    private let patterns: [HostPattern]
    /// Whether each of them has a candidate.
    private let candidates: [Bool]
    private let index: HostIndex

    package init(_ app: App) {
        self.patterns = app.hosts.keys.sorted()
        self.candidates = self.patterns.map { app.hosts[$0]?.candidate != nil }
        self.index = HostIndex(
            self.patterns.map { ($0, app.hosts[$0]?.includesSubdomains == true) })
    }

    /// The key under which a report counts; nil where the app has no pattern for the name, which is in lower case.
    ///
    /// A report about a candidate that the host does not have, or no longer has, is counted apart from everything else,
    /// for all versions together.
    func key(of report: OutcomeReport) -> OutcomeKey? {
        guard let place = self.index.place(of: report.host) else { return nil }
        let arm: PolicySlot? = report.arm.map { $0 == .candidate ? .candidate : .baseline }
        let isOfNone = arm == .candidate && !self.candidates[place]
        return OutcomeKey(
            host: self.patterns[place], arm: arm, version: isOfNone ? 0 : report.documentVersion)
    }
}

package import PinWire

/// The server's reaction to clients' reports: a pure function of reports, state, probes and time.
///
/// Reports can be forged, and an attacker who intercepts connections causes real ones. So a detector alone decides
/// nothing: below the floors, for one network or one release, or without a signature, a rollout is held at most;
/// without a signature it is held only above the floors of installs, failures, networks and time, once, and only for an
/// app that has no key to sign with. A weakening of protection needs keys that this service's own probes saw and that
/// are not pinned; and where the served key is pinned, the reaction is only an alert, whatever is reported.
package enum Reaction {
    /// The version of detectors and rules, for the evidence: it changes when a verdict may differ.
    package static let detector = "pinledger-reaction/3"

    // The floors of automatic reactions.
    package static let leastInstalls = 30
    package static let leastFailing = 5
    package static let leastNetworks = 3
    /// Reports have to come from so many hours, or from so many seconds.
    package static let leastWindows = 2
    package static let leastSeconds: Int64 = 60
    /// The part of all failures, in per cent, from which one network's, or one release's, count as a problem of its
    /// own.
    package static let concentrated = 60
    /// How many basis points of an app's installs have to report before pinning is turned off for a host.
    package static let leastReporting = 100

    /// The time after a reaction in which a host gets no further one.
    package static let cooldownSeconds: Int64 = 3600
    /// Hosts of one app that the server itself weakens within an hour: more at once suggest that its inputs are wrong.
    package static let weakenedPerHour = 3
    /// How long a kill switch of the server stands.
    package static let killSeconds: Int64 = 4 * 3600
    /// The false alarm rates: one in so many tests of a rollout; one in so many installs in the steady state.
    package static let stageOneIn = 1000
    package static let changeOneIn = 100_000

    /// A past reaction of the server to a host's reports, from the ledger.
    package struct Taken: Hashable, Sendable {
        package var host: HostPattern
        package var done: ReactionEvidence.Done

        package init(host: HostPattern, arm: PolicySlot?, step: ReactionStep, at: Timestamp) {
            self.host = host
            self.done = ReactionEvidence.Done(arm: arm, step: step, at: at)
        }
    }

    /// A due reaction of the server to a host's reports, for whichever version of the document.
    package struct Due: Hashable, Sendable {
        package let host: HostPattern
        package let arm: PolicySlot?
        package let step: ReactionStep

        init(_ verdict: ReactionVerdict) {
            self.host = verdict.evidence.host
            self.arm = verdict.evidence.arm
            self.step = verdict.step
        }
    }

    /// The verdicts on all reports of an app, in an order that every node has: none where the app wants no reaction.
    ///
    /// ``Monitoring/reaction`` decides whether they are carried out: in the shadow they are the same.
    ///
    /// - Parameters:
    ///   - fleet: The settings of every app: their part of the document's version, and the kill switch.
    ///   - reactionsTaken: The server's past reactions.
    package static func verdicts(
        on telemetry: TelemetryFacts, of app: App, fleet: Fleet, facts: ExternalFacts, reactionsTaken: [Taken] = [],
        at now: Timestamp
    ) -> [ReactionVerdict] {
        guard app.monitoring.isEnabled, app.monitoring.reaction != .off else { return [] }
        let baselines = Dictionary(
            telemetry.cells.filter { $0.arm == .baseline }.map { (Counterpart($0), $0) },
            uniquingKeysWith: { first, _ in first })
        let ordered = telemetry.cells.map { (order: Self.order($0), cell: $0) }
            .sorted { $0.order.lexicographicallyPrecedes($1.order) }
        return ordered.compactMap { _, cell in
            ReactionEvidence(
                cell, beside: baselines[Counterpart(cell)], of: app, fleet: fleet, facts: facts,
                reactionsTaken: reactionsTaken, at: now)
        }.map { ReactionVerdict($0) }
    }

    /// The common key of a candidate's reports and the baseline's to which they are compared.
    private struct Counterpart: Hashable {
        var host: HostPattern
        var version: Int64
        var isAuthenticated: Bool

        init(_ cell: OutcomeCell) {
            self.host = cell.host
            self.version = cell.version
            self.isAuthenticated = cell.isAuthenticated
        }
    }

    private static func order(_ cell: OutcomeCell) -> [String] {
        let digits = String(cell.version)
        let version = String(repeating: "0", count: max(0, 20 - digits.count)) + digits
        return [cell.host.text, cell.arm?.rawValue ?? "", version, cell.isAuthenticated ? "0" : "1"]
    }
}

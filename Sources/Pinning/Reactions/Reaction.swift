package import PinWire

/// What the server does because of what clients report: a pure function of reports, state, probes and time.
///
/// Reports can be forged, and whoever intercepts connections causes real ones. So a detector alone decides nothing: below
/// the floors, for one network or one release, or without a signature, a rollout is held at most; without a signature it is
/// held only above the floors of installs, failures, networks and time, once, and only of an app that has no key to sign
/// with. What weakens protection needs keys that probes of this service saw themselves and that are not pinned; and where the served key is pinned,
/// somebody is called and nothing else happens, whatever is reported.
package enum Reaction {
    /// What the detectors and rules are, for the evidence: changes when a verdict may come out otherwise.
    package static let detector = "pinledger-reaction/3"

    // The floors of what happens by itself.
    package static let leastInstalls = 30
    package static let leastFailing = 5
    package static let leastNetworks = 3
    /// Reports have to come from so many hours, or from so many seconds.
    package static let leastWindows = 2
    package static let leastSeconds: Int64 = 60
    /// Failures of one network, or of one release, that are so large a part of all are a matter of its own: per cent.
    package static let concentrated = 60
    /// How many basis points of an app's installs have to report before pinning goes off for a host.
    package static let leastReporting = 100

    /// How long nothing more happens by itself to a host after something did.
    package static let cooldownSeconds: Int64 = 3600
    /// Hosts of one app that the server itself weakens within an hour: more at once speak for a fault of what it goes by.
    package static let weakenedPerHour = 3
    /// How long a kill switch stands that the server engages.
    package static let killSeconds: Int64 = 4 * 3600
    /// One false alarm in so many, of the tests of a rollout; in so many installs, of the steady state.
    package static let stageOneIn = 1000
    package static let changeOneIn = 100_000

    /// Something that the server did to a host because of reports, as the ledger tells it.
    package struct Taken: Hashable, Sendable {
        package var host: HostPattern
        package var done: ReactionEvidence.Done

        package init(host: HostPattern, arm: PolicySlot?, step: ReactionStep, at: Timestamp) {
            self.host = host
            self.done = ReactionEvidence.Done(arm: arm, step: step, at: at)
        }
    }

    /// Something that the server is to do to a host because of reports, whatever version of the document they are of.
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

    /// The verdicts on everything that was reported of an app, in an order that every node has: none where the app wants
    /// no reaction.
    ///
    /// Whether they are acted upon is for ``Monitoring/reaction`` to say: in the shadow they are the same.
    ///
    /// - Parameters:
    ///   - fleet: What holds for every app: its part of the document's version, and its kill switch.
    ///   - deeds: What the server did before.
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

    /// What a candidate's reports have in common with those of the baseline that they are compared with.
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

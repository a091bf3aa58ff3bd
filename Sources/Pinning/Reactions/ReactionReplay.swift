package import PinWire

/// When the detectors would have fired with other thresholds, over recorded minutes.
///
/// The detectors alone: floors and probes, which would have limited the reaction, are not replayed.
package struct ReactionReplay: Hashable, Sendable {
    package var host: HostPattern
    package var arm: PolicySlot?
    package var version: Int64
    package var isAuthenticated: Bool
    /// Over all minutes.
    package var total: ReactionEvidence.Count
    /// Nil where it would not have fired.
    package var stage: Firing?
    package var change: Firing?

    /// The minute after which a detector fired first, and the outcomes until then.
    package struct Firing: Hashable, Sendable {
        package var minute: Timestamp
        package var seen: ReactionEvidence.Count

        package init(minute: Timestamp, seen: ReactionEvidence.Count) {
            self.minute = minute
            self.seen = seen
        }
    }

    /// The replay of all reports.
    ///
    /// - Parameters:
    ///   - telemetry: The minutes to replay; rules know only the last ``OutcomeCell/minuteLimit``.
    ///   - threshold: The share of failing installs that needs no reaction, in basis points.
    ///   - stageOneIn: Runs of a rollout of which one may fire falsely.
    ///   - changeOneIn: The approximate number of installs for one false alarm of the steady state.
    package static func wouldHaveFired(
        on telemetry: TelemetryFacts, threshold: Int, stageOneIn: Int = Reaction.stageOneIn,
        changeOneIn: Int = Reaction.changeOneIn
    ) -> [ReactionReplay] {
        telemetry.cells.map { cell in
            let share = Double(threshold) / 10_000
            let process = EProcess(threshold: share, oneIn: stageOneIn)
            var cusum = BernoulliCUSUM(threshold: share, oneIn: changeOneIn)
            var replay = ReactionReplay(
                host: cell.host, arm: cell.arm, version: cell.version, isAuthenticated: cell.isAuthenticated,
                total: ReactionEvidence.Count(installs: 0, failing: 0))
            for minute in cell.minutes {
                replay.total.installs += minute.installs
                replay.total.failing += minute.failing
                cusum.add(failing: minute.failing, of: minute.installs)
                let now = Firing(minute: minute.minute, seen: replay.total)
                if replay.change == nil, cusum.fires { replay.change = now }
                // The test's evidence grows with failures only, and is no evidence at or below the threshold.
                if replay.stage == nil, minute.failing > 0,
                    Double(replay.total.failing) > share * Double(replay.total.installs),
                    process.fires(failing: replay.total.failing, of: replay.total.installs)
                {
                    replay.stage = now
                }
            }
            return replay
        }
    }
}

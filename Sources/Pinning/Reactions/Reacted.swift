package import PinWire

/// A reaction of the server to clients' reports about a host, with all inputs of the decision.
package struct Reacted: Hashable, Sendable {
    package var host: HostPattern
    /// Nil where the reports do not show which policy failed.
    package var arm: PolicySlot?
    package var step: ReactionStep
    /// The ``ReactionVerdict/json`` of that time, unchanged: to check it, read it as a ``ReactionVerdict``, which
    /// computes the verdict again; later versions of the detectors may compute another.
    package var verdict: JSON

    package init(host: HostPattern, arm: PolicySlot?, step: ReactionStep, verdict: JSON) {
        self.host = host
        self.arm = arm
        self.step = step
        self.verdict = verdict
    }

    init(_ verdict: ReactionVerdict) {
        self.init(
            host: verdict.evidence.host, arm: verdict.evidence.arm, step: verdict.step, verdict: verdict.json)
    }
}

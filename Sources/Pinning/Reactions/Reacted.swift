package import PinWire

/// Something that the server did to a host because of what clients report, with all that it was decided by.
package struct Reacted: Hashable, Sendable {
    package var host: HostPattern
    /// Nil where the reports do not say which policy failed.
    package var arm: PolicySlot?
    package var step: ReactionStep
    /// ``ReactionVerdict/json`` as it was. Kept as it is: whoever wants to check it reads it as a ``ReactionVerdict``, which
    /// comes to the verdict once more; later versions of the detectors may come to another.
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

    var json: JSON {
        .members([
            "host": .string(self.host.text),
            "arm": self.arm.map { .string($0.rawValue) },
            "step": .string(self.step.rawValue),
            "verdict": self.verdict,
        ])
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let verdict = try m.required("verdict")
            guard case .object = verdict.value else { throw verdict.defect("must be an object") }
            return Reacted(
                host: try m.required("host").parse(HostPattern.init),
                arm: try m.optional("arm")?.oneOf(PolicySlot.self),
                step: try m.required("step").oneOf(ReactionStep.self), verdict: verdict.value)
        }
    }
}

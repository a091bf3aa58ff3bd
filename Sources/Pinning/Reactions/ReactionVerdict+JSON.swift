package import PinWire

extension ReactionVerdict {
    /// The verdict with its evidence: the recorded form, from which an auditor computes it again.
    package var json: JSON {
        .members([
            "detector": .string(Reaction.detector),
            "stage_one_in": .integer(Int64(Reaction.stageOneIn)),
            "change_one_in": .integer(Int64(Reaction.changeOneIn)),
            "ln_e": Self.figure(self.lnStage),
            "ln_e_two_arm": Self.figure(self.lnTwoArm),
            "cusum": Self.figure(self.sum),
            "sample_ratio_p": Self.figure(self.ratioProbability),
            "live_key": .string(self.truth.rawValue),
            "step": .string(self.step.rawValue),
            "reasons": .array(self.reasons.map { .string($0.rawValue) }),
            "evidence": self.evidence.json,
        ])
    }

    /// Reads ``json``, and computes the verdict again.
    ///
    /// - Throws: ``JSONDefect`` where another verdict, or other figures, follow from the evidence.
    package init(_ field: JSONField) throws(JSONDefect) {
        guard let evidence = field.value["evidence"] else {
            throw JSONDefect(pointer: field.pointer.appending("evidence"), message: "is required")
        }
        self.init(try ReactionEvidence(JSONField(evidence, at: field.pointer.appending("evidence"))))
        guard self.json == field.value else { throw field.defect("is not what follows from its evidence") }
    }

    /// A figure with six digits after the point, so that it is the same on every machine; none where it is −∞.
    private static func figure(_ value: Double?) -> JSON? {
        guard let value, value.isFinite else { return nil }
        let rounded = (value * 1e6).rounded() / 1e6
        return rounded == rounded.rounded() ? .integer(Int64(rounded)) : .number(rounded)
    }
}

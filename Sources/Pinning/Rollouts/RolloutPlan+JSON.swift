package import PinWire

extension RolloutPlan.Terms {
    package var json: JSON {
        .members([
            "steps": .array(
                self.steps.map { step in
                    .members([
                        "basis_points": .integer(Int64(step.basisPoints)),
                        "for_seconds": step.hold.seconds.map { .integer($0) },
                        "installs": step.hold.installs.map { .integer(Int64($0)) },
                        "approval": step.hold.needsApproval ? true : nil,
                    ])
                }),
            "bake_seconds": .integer(self.bake),
            "starts_at": self.startsAt.map { .string($0.rfc3339) },
            "at_end": .string(self.ending.rawValue),
            "on_inconclusive": .string(self.onInconclusive.rawValue),
        ])
    }

    /// Reads ``json``. Only `steps` is required.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in try RolloutPlan.Terms(&m) }
    }

    /// Reads the members of ``json``.
    package init(_ m: inout JSONMembers) throws(JSONDefect) {
        let list = try m.required("steps")
        var steps: [RolloutPlan.Step] = []
        for element in try list.elements(atMost: RolloutPlan.stepLimit) {
            let step = try RolloutPlan.Step(element)
            if let last = steps.last {
                guard last.basisPoints < step.basisPoints else {
                    throw element.defect(
                        "must be above the previous step's \(last.basisPoints) basis points")
                }
                guard !last.hold.isEmpty else { throw Self.holdless(list, steps.count - 1) }
            }
            steps.append(step)
        }
        guard let last = steps.last else { throw list.defect("must have at least one step") }
        self.init(steps: steps)
        if let bake = m.optional("bake_seconds") { self.bake = try bake.integer(0...RolloutPlan.longestHold) }
        self.startsAt = try m.optional("starts_at")?.timestamp()
        if let ending = m.optional("at_end") {
            self.ending = try ending.oneOf(RolloutPlan.Ending.self)
            if self.ending == .promote {
                guard last.basisPoints == 10_000 else {
                    throw ending.defect("can be promote only if the last step is 10000 basis points")
                }
                guard self.bake > 0 || !last.hold.isEmpty else { throw Self.holdless(list, steps.count - 1) }
            }
        }
        if let rule = m.optional("on_inconclusive") {
            self.onInconclusive = try rule.oneOf(RolloutPlan.Inconclusive.self)
        }
    }

    private static func holdless(_ list: JSONField, _ index: Int) -> JSONDefect {
        JSONDefect(
            pointer: list.pointer.appending(String(index)),
            message: "must wait for something: for_seconds, installs or approval"
        )
    }
}

extension RolloutPlan.Step {
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var step = RolloutPlan.Step(Int(try m.required("basis_points").integer(1...10_000)))
            step.hold.seconds = try m.optional("for_seconds")?.integer(1...RolloutPlan.longestHold)
            step.hold.installs = try m.optional("installs").map { (f) throws(JSONDefect) in
                Int(try f.integer(1...1_000_000_000))
            }
            step.hold.needsApproval = try m.optional("approval")?.bool() ?? false
            return step
        }
    }
}

extension RolloutPlan {
    /// The plan as it stands.
    package var json: JSON {
        guard case .object(var members) = self.terms.json else { return .null }
        members["set_at"] = .string(self.setAt.rfc3339)
        members["phase"] = .string(self.phase.name)
        if case .running(let step) = self.phase { members["step"] = .integer(Int64(step)) }
        members["since"] = .string(self.since.rfc3339)
        if self.isApproved { members["approved"] = true }
        if self.isExtended { members["extended"] = true }
        members["sampled_at"] = self.sampledAt.map { .string($0.rfc3339) }
        members["reviewed_at"] = self.reviewedAt.map { .string($0.rfc3339) }
        members["paused"] = self.pause.map { pause in
            .members([
                "since": .string(pause.since.rfc3339), "cause": .string(pause.cause.rawValue),
                "detail": pause.detail.map { .string($0) },
            ])
        }
        return .object(members)
    }

    /// Reads ``json``.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let terms = try Terms(&m)
            var plan = RolloutPlan(terms, setAt: try m.required("set_at").timestamp())
            let phase = try m.required("phase")
            let step = try m.optional("step")?.integer(1...Int64(terms.steps.count))
            switch (try phase.string(), step) {
            case ("scheduled", nil): plan.phase = .scheduled
            case ("running", let step?): plan.phase = .running(step: Int(step))
            case ("baking", nil): plan.phase = .baking
            case ("done", nil): plan.phase = .done
            case ("rolled_back", nil): plan.phase = .rolledBack
            case ("ended", nil): plan.phase = .ended
            default: throw phase.defect("is no phase, or one with another step")
            }
            plan.since = try m.required("since").timestamp()
            plan.isApproved = try m.optional("approved")?.bool() ?? false
            plan.isExtended = try m.optional("extended")?.bool() ?? false
            plan.sampledAt = try m.optional("sampled_at")?.timestamp()
            plan.reviewedAt = try m.optional("reviewed_at")?.timestamp()
            plan.pause = try m.optional("paused").map { (f) throws(JSONDefect) in
                try f.object { (m) throws(JSONDefect) in
                    Pause(
                        cause: try m.required("cause").oneOf(Cause.self), detail: try m.optional("detail")?.string(),
                        since: try m.required("since").timestamp()
                    )
                }
            }
            return plan
        }
    }
}

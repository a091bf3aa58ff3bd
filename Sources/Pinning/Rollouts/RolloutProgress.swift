package import PinWire

/// One condition of a plan.
package struct RolloutWait: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        case start, time, installs, approval, bake, reports
        case killSwitch = "kill_switch"
        case resumption
    }

    package var kind: Kind
    /// Nil where it is unknown.
    package var isMet: Bool?
    /// The progress, as a clause.
    package var detail: String
    /// When time alone will have met it; nil where it does not.
    package var until: Timestamp?

    init(_ kind: Kind, isMet: Bool?, detail: String, until: Timestamp?) {
        self.kind = kind
        self.isMet = isMet
        self.detail = detail
        self.until = until
    }

    /// The condition, as a clause.
    package var what: String {
        switch self.kind {
        case .start: "its time has come"
        case .time: "the step has lasted long enough"
        case .installs: "enough installs of the candidate have reported"
        case .approval: "an operator approves the next step"
        case .bake: "the bake time is over"
        case .reports: "clients report nothing that speaks against it"
        case .killSwitch: "no kill switch is in force"
        case .resumption: "an operator resumes it"
        }
    }

    var json: JSON {
        .members([
            "kind": .string(self.kind.rawValue),
            "what": .string(self.what),
            "met": .string(self.isMet.map { $0 ? "yes" : "no" } ?? "unknown"),
            "detail": .string(self.detail),
            "until": self.until.map { .string($0.rfc3339) },
        ])
    }
}

/// The progress of a plan: its conditions, its next step, and the obstacles to that.
package struct RolloutProgress: Hashable, Sendable {
    package var pattern: HostPattern?
    package var plan: RolloutPlan
    package var waits: [RolloutWait]
    /// The step when all conditions are met; nil where there is none.
    package var next: RolloutMove?
    /// The guard rails' present findings about that.
    package var findings: [Finding]
    /// Why that is impossible, even with force; nil where it is possible.
    package var obstacle: Refusal?

    /// Whether only a person's decision is missing.
    var waitsForApproval: Bool {
        self.plan.pause == nil && self.waits.contains { $0.kind == .approval && $0.isMet == false }
            && self.waits.allSatisfy { $0.isMet == true || $0.kind == .approval }
    }
}

extension LedgerState {
    /// The progress of the plan of a place.
    ///
    /// - Parameters:
    ///   - pattern: The host; nil for the app's own rollout.
    ///   - context: The present facts; its reason and force are not used.
    package func progress(
        ofPlan pattern: HostPattern?, app id: AppID, in context: DecisionContext
    ) throws(Refusal) -> RolloutProgress {
        guard let app = self.apps[id] else { throw .appUnknown(id) }
        if let pattern, app.hosts[pattern] == nil { throw .hostUnknown(pattern) }
        guard let plan = app.plan(of: pattern) else { throw .rolloutPlanUnknown(pattern) }
        let context = context.knowing(fleet: self.fleet)
        var progress = RolloutProgress(
            pattern: pattern, plan: plan, waits: app.waits(of: plan, pattern, in: context),
            next: app.nextMove(of: plan), findings: [], obstacle: nil
        )
        guard plan.isUnderWay else { return progress }
        if let pause = plan.pause {
            let why = pause.detail.map { ": \($0)" } ?? ""
            progress.waits.append(
                .init(
                    .resumption, isMet: false,
                    detail: "it has been paused since \(pause.since) (\(pause.cause.rawValue))\(why)",
                    until: nil))
        }
        if let doubt = app.doubt(of: pattern, in: context) {
            // A resumption ends a pause first. An operator who resumes once more knows of the reports.
            let detail = plan.pause == nil ? doubt.holdSentence(of: id, pattern) : doubt.sentence
            progress.waits.append(.init(.reports, isMet: false, detail: detail, until: nil))
        }
        if let killSwitch = app.switchInForce(over: pattern, in: context) {
            progress.waits.append(
                .init(
                    .killSwitch, isMet: false, detail: "pinning is off until \(killSwitch.expiresAt)",
                    until: killSwitch.expiresAt))
        }
        var asking = context
        asking.isForced = false
        asking.reason = Reason(recorded: "to see what would happen")
        do {
            switch progress.next {
            case .take(let step, _):
                progress.findings = try self.decide(.app(id, [.rollout(pattern, .jump(step: step))]), in: asking)
                    .findings
            case .finish where plan.terms.ending == .promote:
                guard let pattern else { break }
                progress.findings = try self.decide(.app(id, [.promoteCandidate(pattern)]), in: asking).findings
            case .finish, .bake, .conclude, .extend, .giveUp, nil: break
            }
        } catch .guarded(let findings) {
            progress.findings = findings
        } catch {
            progress.obstacle = error
        }
        return progress
    }

    /// Whether a plan has a due step by itself now.
    package func isDue(_ pattern: HostPattern?, app id: AppID, in context: DecisionContext) -> Bool {
        self.apps[id]?.dueMove(of: pattern, in: context.knowing(fleet: self.fleet)) != nil
    }
}

extension RolloutMove {
    /// The step, as a noun.
    package var text: String {
        switch self {
        case .take(let step, let basisPoints): "step \(step) (\(Percent.text(basisPoints: basisPoints)))"
        case .bake: "the bake time"
        case .finish: "the end"
        case .conclude(let step, _): "recording that enough installs of step \(step) reported"
        case .extend(let step, _): "more time for step \(step)"
        case .giveUp(let step, _): "ending step \(step) without a result"
        }
    }

    var json: JSON {
        switch self {
        case .take(let step, let basisPoints):
            [
                "move": "step", "step": .integer(Int64(step)), "basis_points": .integer(Int64(basisPoints)),
            ]
        case .bake: ["move": "bake"]
        case .finish: ["move": "finish"]
        case .conclude(let step, _): ["move": "conclude", "step": .integer(Int64(step))]
        case .extend(let step, _): ["move": "extend", "step": .integer(Int64(step))]
        case .giveUp(let step, _): ["move": "give_up", "step": .integer(Int64(step))]
        }
    }
}

extension RolloutProgress {
    package var json: JSON {
        guard case .object(var members) = self.plan.json else { return .null }
        members["host"] = self.pattern.map { .string($0.text) }
        members["waits_for"] = .array(self.waits.map(\.json))
        members["next"] = self.next?.json
        members["findings"] = .array(self.findings.map(\.json))
        return .object(members)
    }
}

import PinWire

/// One change of one stream as the input of the guard rails: the state before and after, and the external facts.
///
/// Each is a reference: the writer judges thousands a second, and all checks get a copy.
enum JudgedChange {
    case app(AppChange)
    indirect case fleet(FleetChange)
    indirect case keys(KeyChange)
}

/// The evaluation of a change: the findings of all judged guard rails, and whether it may be recorded. Only this refuses
/// because of a judged rail, and ``DecisionContext/refuse(_:)`` for rails that concern a single command.
///
/// Pure: the same change always gets the same findings, on every node and in a dry run.
struct GuardRailEvaluation {
    let change: JudgedChange
    /// With the fleet.
    let context: DecisionContext

    /// The verdict on a change that may be recorded.
    struct Verdict {
        /// The findings that do not block the change, or were overridden.
        var findings: [Finding]
        /// The findings that force and a reason overrode.
        var overridden: [OverriddenFinding]
    }

    init(_ change: JudgedChange, in context: DecisionContext) {
        self.change = change
        self.context = context
    }

    /// The verdict, unless the change is refused.
    ///
    /// - Throws: The refusal of the first blocking finding that has one of its own, whichever rails are judged; then
    ///   ``Refusal/reasonRequired(_:)``; then ``Refusal/guarded(_:)`` with all findings, the most severe first.
    func verdict() throws(Refusal) -> Verdict {
        var findings: [Finding] = []
        for checks in RailChecks.allCases {
            let found = self.found(by: checks)
            if let refusal = found.lazy.filter({ $0.blocks(in: self.context) }).compactMap(\.refusal).first {
                throw refusal
            }
            findings += found
            // The checks that follow refuse nothing on their own, and take longer: they do not keep the writer busy with
            // a change that is refused anyway.
            if checks == .policy, case .app(let change) = self.change { try change.requireReasons() }
        }
        if case .app = self.change { findings.sort(by: Finding.isGraver) }
        findings.removeAll { !self.context.rails.contains($0.rail) }
        guard !findings.contains(where: { $0.blocks(in: self.context) }) else { throw .guarded(findings) }
        let overridden = findings.filter { $0.severity == .override }.map { OverriddenFinding($0) }
        return Verdict(findings: findings, overridden: overridden)
    }

    /// The findings of some checks, in their order; lowered rails as warnings.
    private func found(by checks: RailChecks) -> [Finding] {
        if case .app(let change) = self.change, change.events.isEmpty { return [] }
        let findings = checks.findings(of: self.change)
        // Nearly always there is none, and this runs for each change of a batch.
        guard !findings.isEmpty else { return [] }
        var lowered = self.context.fleet.loweredRails
        if case .app(let change) = self.change { lowered.formUnion(change.after.loweredRails) }
        assert(
            findings.allSatisfy { $0.rail.entry.checks.contains(checks) },
            "\(checks) judges a rail that does not say so")
        return findings.map { finding in
            var finding = finding
            if finding.severity == .override, lowered.contains(finding.rail) { finding.severity = .warn }
            return finding
        }
    }
}

extension DecisionContext {
    /// Refuses a command because of a finding about it, before it causes events.
    func refuse(_ finding: Finding?) throws(Refusal) {
        guard let finding, finding.blocks(in: self) else { return }
        throw finding.refusal ?? .guarded([finding])
    }
}

extension Finding {
    /// Whether it blocks the change.
    fileprivate func blocks(in context: DecisionContext) -> Bool {
        switch self.severity {
        case .warn: false
        case .override: !context.insists
        case .block: true
        }
    }

    /// The order of findings: the most severe first.
    fileprivate static func isGraver(_ left: Finding, _ right: Finding) -> Bool {
        if left.severity != right.severity { return left.severity > right.severity }
        if left.verdict != right.verdict { return left.verdict == .violated }
        if left.rail != right.rail { return left.rail < right.rail }
        return (left.host?.text ?? "", left.policy?.rawValue ?? "") < (
            right.host?.text ?? "", right.policy?.rawValue ?? ""
        )
    }
}

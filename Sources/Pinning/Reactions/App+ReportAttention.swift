import PinWire

// The attention items from reports. An item stands until it is over, so that it does not come and go with every report.

extension App {
    /// The reason for an attention item about reports.
    private enum Occasion {
        /// The verdict requires a reaction.
        case called
        /// The server has reacted as far as it could, and the failures continue.
        case answered
        /// There are fewer failures than before, but they are not over.
        case waning
    }

    /// The attention items from reports, the most important one of each policy.
    func reportAttention(in context: DecisionContext) -> [AttentionItem] {
        var items: [AttentionItem] = []
        var said: Set<Warning.Subject> = []
        for verdict in self.verdicts(in: context).sorted(by: Self.isGraver) {
            let subject = Warning.Subject(
                .failingReports, host: verdict.evidence.host, policy: verdict.evidence.arm)
            guard let occasion = self.occasion(of: verdict, subject, in: context), said.insert(subject).inserted else {
                continue
            }
            items.append(self.item(of: verdict, occasion))
        }
        return items
    }

    /// Signed before unsigned, the greater step, the newer version.
    private static func isGraver(_ left: ReactionVerdict, _ right: ReactionVerdict) -> Bool {
        if left.evidence.isAuthenticated != right.evidence.isAuthenticated { return left.evidence.isAuthenticated }
        if left.step != right.step { return left.step > right.step }
        return left.evidence.version > right.evidence.version
    }

    /// Nil where no attention is needed.
    private func occasion(
        of verdict: ReactionVerdict, _ subject: Warning.Subject, in context: DecisionContext
    ) -> Occasion? {
        guard verdict.step == .none else { return .called }
        if verdict.reasons.contains(.spent) {
            return self.isFailing(verdict.evidence, in: context) ? .answered : nil
        }
        return verdict.isNear && self.watch.standing[subject] != nil ? .waning : nil
    }

    /// Whether failures were reported within the time in which clients receive the reaction.
    private func isFailing(_ evidence: ReactionEvidence, in context: DecisionContext) -> Bool {
        let cell = context.facts.telemetry(self.id)?.cells.first { cell in
            cell.host == evidence.host && cell.arm == evidence.arm && cell.version == evidence.version
                && cell.isAuthenticated == evidence.isAuthenticated
        }
        guard let last = cell?.minutes.last(where: { $0.failing > 0 })?.minute else { return false }
        return context.now < last.adding(seconds: Reaction.cooldownSeconds)
    }

    private func item(of verdict: ReactionVerdict, _ occasion: Occasion) -> AttentionItem {
        let consequence: String
        var severity = verdict.evidence.isAuthenticated ? AttentionItem.Severity.urgent : .soon
        switch occasion {
        case .called: consequence = verdict.consequence(for: self.monitoring.reaction)
        case .answered:
            severity = .soon
            let last = verdict.evidence.last.map { " (\($0.step.rawValue), at \($0.at))" } ?? ""
            consequence = "The server has taken its last automatic step\(last)."
        case .waning:
            severity = .soon
            consequence = "The failures are fewer than before, but not over."
        }
        var item = AttentionItem(
            severity, .failingReports, app: self.id, "\(verdict.sentence) \(consequence)",
            remedy: verdict.remedy(of: self.id))
        item.host = verdict.evidence.host
        item.policy = verdict.evidence.arm
        item.rail = .telemetryWeakens
        return item
    }
}

extension ReactionVerdict {
    /// The reports of clients, as a sentence.
    package var sentence: String {
        let evidence = self.evidence
        let policy = evidence.arm?.rawValue ?? "pins"
        let source = evidence.isAuthenticated ? "" : " (unsigned reports)"
        let reasons = self.reasons.isEmpty ? "" : ": \(self.reasons.map(\.rawValue).joined(separator: ", "))"
        return
            "\(evidence.sample.failing) of \(evidence.sample.installs) installs report that the \(policy) of \(evidence.host) in version \(evidence.version) did not match\(source)\(reasons)."
    }

    /// Why a rollout is held because of it, and how to go on.
    func holdSentence(of app: AppID, _ place: HostPattern?) -> String {
        guard !self.evidence.isAuthenticated else { return self.sentence }
        let words = "\(app)\(place.map { " \($0)" } ?? "")"
        return
            "\(self.sentence) The reports are unsigned, so anyone can have made them. If nothing is wrong, resume with `pinledger rollout resume \(words)`: unsigned reports do not hold this plan again. `pinledger telemetry key create \(app)` makes a key for clients to sign with: from then on only signed reports hold a plan."
    }

    fileprivate func consequence(for reaction: Monitoring.Reaction) -> String {
        switch (self.step, reaction) {
        case (.none, _), (.page, _): "The server takes no automatic step."
        case (let step, .act): "The server's automatic step: \(step.rawValue)."
        case (let step, _): "With the reaction `act`, the server would take this step: \(step.rawValue)."
        }
    }

    fileprivate func remedy(of app: AppID) -> String {
        switch self.truth {
        case .pinned:
            "The key that servers present is pinned: look for an interception of connections, or a defect of the client (`pinledger telemetry show \(app)`)."
        case .unpinned:
            "The key that servers present is not pinned: deploy a certificate whose key is pinned, and check with `pinledger probe \(self.evidence.host)`."
        case .split:
            "Some servers present no pinned key: find them with `pinledger probe \(self.evidence.host)`."
        case .unknown:
            "Find out what servers present (`pinledger probe \(self.evidence.host)`), and who reports it (`pinledger telemetry show \(app)`)."
        }
    }
}

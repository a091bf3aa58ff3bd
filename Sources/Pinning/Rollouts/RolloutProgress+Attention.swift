import PinWire

// The tasks of a plan for people, and its dates in calendars.

extension RolloutProgress {
    /// How long a plan that was rolled back is still listed: a week.
    private static let lately: Int64 = 7 * 86_400

    /// The plan's task for an operator; nil where it goes on by itself.
    func attention(_ app: AppID, at now: Timestamp) -> AttentionItem? {
        let subject = "The rollout of \(self.pattern?.text ?? app.text)"
        let words = "\(app)\(self.pattern.map { " \($0)" } ?? "")"
        let step = self.plan.currentStep.map { " at step \($0)" } ?? ""
        var item: AttentionItem
        if let pause = self.plan.pause {
            item = AttentionItem(
                pause.cause == .requested ? .info : .soon, .rolloutPaused, app: app,
                "\(subject) has been paused\(step) since \(pause.since) (\(pause.cause.rawValue))\(pause.detail.map { ": \($0)" } ?? ".")",
                remedy:
                    "Resume with `pinledger rollout resume \(words)`, or roll back with `pinledger rollout roll-back \(words)`."
            )
            item.date = pause.since
        } else if self.plan.phase == .rolledBack {
            guard now < self.plan.since.adding(seconds: Self.lately) else { return nil }
            item = AttentionItem(
                .info, .rolloutRolledBack, app: app, "\(subject) was rolled back at \(self.plan.since).",
                remedy: "See why (`pinledger history \(app)`), then drop the candidate or start again.")
            item.date = self.plan.since
        } else if self.waitsForApproval {
            item = AttentionItem(
                .soon, .rolloutApproval, app: app, "\(subject) waits\(step) for approval.",
                remedy: "Review the step, and approve with `pinledger rollout advance \(words)`."
            )
            item.date = self.plan.since
        } else if self.plan.isExtended, let wait = self.waits.first(where: { $0.kind == .installs && $0.isMet != true })
        {
            item = AttentionItem(
                .soon, .rolloutStuck, app: app, "\(subject) is stuck\(step): \(wait.detail).",
                remedy:
                    "Find out why so few clients report, or continue without them: `pinledger rollout jump \(words) --step N`."
            )
            item.date = self.plan.since
        } else {
            return nil
        }
        item.host = self.pattern
        return item
    }

    /// When the plan's waiting times are over.
    func dates(of app: App) -> [CalendarEntry] {
        guard self.plan.isUnderWay, self.plan.pause == nil, let next = self.next else { return [] }
        let place = self.pattern?.text ?? app.id.text
        return self.waits.compactMap { wait in
            guard let until = wait.until, wait.kind != .killSwitch else { return nil }
            let kind: CalendarEntry.Kind = wait.kind == .start ? .rolloutStarts : .rolloutDue
            return CalendarEntry(
                kind, at: until, of: app,
                about: [place, self.plan.phase.name, "\(self.plan.currentStep ?? 0)", wait.kind.rawValue],
                host: self.pattern, leads: wait.kind == .start ? [86_400, 3600] : [0],
                summary: wait.kind == .start
                    ? "The rollout of \(place) begins: \(next.text)."
                    : "The rollout of \(place) has waited long enough for \(next.text)."
            )
        }
    }
}

package import PinWire

extension LedgerState {
    /// The attention list now.
    ///
    /// - Parameters:
    ///   - only: The app, together with items that concern every app; nil for all.
    ///   - severity: The severity of the items; nil for all.
    ///   - isShown: Whether an app is shown to who asks.
    ///   - isWhole: Whether what belongs to no app is shown too, beside what holds for every app.
    ///   - tokenUses: The uses of tokens that were used from a new network lately.
    ///   - isTokenShown: Whether a token is shown to who asks.
    ///   - end: The time of the ledger's last event where that lies in the future; nil where it does not.
    ///   - context: The present facts; its reason and force are not used.
    package func attention(
        of only: AppID? = nil, severity: AttentionItem.Severity? = nil,
        showing isShown: (AppID) -> Bool = { _ in true },
        isWhole: Bool = true, tokenUses: [TokenUse] = [],
        showingToken isTokenShown: (AccessToken) -> Bool = { _ in true },
        endingAhead end: Timestamp? = nil, in context: DecisionContext
    ) -> AttentionList {
        var list = AttentionList()
        func add(_ items: [AttentionItem]) {
            list.add(items.filter { severity == nil || $0.severity == severity })
        }
        add(self.fleetAttention(in: context))
        if isWhole {
            add(self.installationAttention(in: context))
            if let end { add([.ledgerAhead(until: end)]) }
        }
        add(
            self.attention(to: tokenUses, at: context.now, showing: isTokenShown)
                .filter { only == nil || $0.app == nil || $0.app == only })
        if let only {
            if let app = self.apps[only] { add(self.attention(of: app, in: context)) }
        } else {
            for app in self.apps.values where isShown(app.id) { add(self.attention(of: app, in: context)) }
        }
        list.cut()
        return list
    }

    func attention(of app: App, in context: DecisionContext) -> [AttentionItem] {
        guard app.archivedAt == nil else { return [] }
        var items = app.attention(in: context)
        if let calendar = self.calendar(of: app.id, in: context) {
            items += calendar.entries.compactMap { app.attention(to: $0, at: context.now) }
        }
        for rotation in app.rotations {
            guard let progress = try? self.progress(of: rotation.id, app: app.id, in: context) else { continue }
            if let item = app.attention(to: progress, at: context.now) { items.append(item) }
        }
        items += app.reportAttention(in: context.knowing(fleet: self.fleet))
        if let item = app.surgeAttention(in: context) { items.append(item) }
        items += app.clientAttention(in: context.knowing(fleet: self.fleet))
        for place in app.plannedPlaces {
            guard let progress = try? self.progress(ofPlan: place, app: app.id, in: context) else { continue }
            if let item = progress.attention(app.id, at: context.now) { items.append(item) }
        }
        for (pattern, host) in app.hosts { items += host.attention(of: pattern, app, in: context) }
        return items
    }

    private func fleetAttention(in context: DecisionContext) -> [AttentionItem] {
        var items: [AttentionItem] = []
        if let killSwitch = self.fleet.killSwitch, killSwitch.isInForce(at: context.now) {
            items.append(.inForce(killSwitch, over: "every app", app: nil, words: "--everything"))
        }
        for rail in self.fleet.loweredRails.sorted() { items.append(.lowered(rail, for: "every app", app: nil)) }
        return items
    }

    private func installationAttention(in context: DecisionContext) -> [AttentionItem] {
        var items: [AttentionItem] = []
        if self.isUnwatched(in: context) {
            items.append(
                AttentionItem(
                    .soon, .nothingProbed, app: nil,
                    "No service of any host was probed within a day: no node probes servers regularly.",
                    remedy: "Start a node with --vantage, preferably two in different networks."
                ))
        }
        items += self.webhooks.inOrder.compactMap(\.attention)
        if let item = self.keys.attention(at: context.now) { items.append(item) }
        return items
    }

    /// Whether there are services to probe, and no probe has tried for a day.
    private func isUnwatched(in context: DecisionContext) -> Bool {
        var isAnyNamed = false
        for app in self.apps.values {
            for (pattern, host) in app.hosts {
                for endpoint in host.probed(of: pattern) {
                    isAnyNamed = true
                    if context.facts.endpoint(endpoint)?.isWatched(at: context.now) == true { return false }
                }
            }
        }
        return isAnyNamed
    }
}

extension EndpointFacts {
    /// Whether a probe has tried within a day.
    func isWatched(at now: Timestamp) -> Bool {
        self.lastAttempt.map { now < $0.adding(seconds: Self.freshSeconds) } ?? false
    }
}

extension Webhook {
    /// The item of a webhook that the server itself has paused; nil where there is none.
    fileprivate var attention: AttentionItem? {
        guard let pause = self.pause, let since = self.pausedAt else { return nil }
        let cause: String
        switch pause {
        case .requested: return nil
        case .gone: cause = "its receiver answered 410 Gone"
        case .failing: cause = "nothing could be delivered for three days"
        }
        var item = AttentionItem(
            .soon, .webhookPaused, app: nil,
            "The webhook \(self.id) has been paused since \(since): \(cause). It delivers no events.",
            remedy: "Repair the receiver and resume: `pinledger webhook resume \(self.id)`. Or remove the webhook."
        )
        item.date = since
        return item
    }
}

extension AttentionItem {
    fileprivate static func ledgerAhead(until end: Timestamp) -> AttentionItem {
        var item = AttentionItem(
            .soon, .ledgerAhead, app: nil,
            "The ledger's last event lies in the future: a clock was ahead when it was recorded. Until \(end), the history shows that time for every event.",
            remedy:
                "Find out whose clock it was, and review what was recorded meanwhile: `pinledger handbook recovery#after-a-clock-that-was-ahead`."
        )
        item.date = end
        return item
    }

    static func inForce(
        _ killSwitch: KillSwitch, over scope: String, app: AppID?, words: String
    ) -> AttentionItem {
        var item = AttentionItem(
            .urgent, .killSwitch, app: app,
            "A kill switch turns pinning off for \(scope) from \(killSwitch.engagedAt) until \(killSwitch.expiresAt).",
            remedy: "Release it as soon as the pins are right: `pinledger kill release \(words)`."
        )
        item.rail = .killSwitchAlone
        item.date = killSwitch.expiresAt
        return item
    }

    static func lowered(_ rail: GuardRail, for scope: String, app: AppID?) -> AttentionItem {
        var item = AttentionItem(
            .info, .guardRailLowered, app: app,
            "The guard rail \(rail.code) (\(rail.entry.title)) only warns for \(scope).",
            remedy:
                "Raise it again once the reason is gone: `pinledger guard-rail raise \(rail.code)\(app.map { " --app \($0)" } ?? "")`."
        )
        item.rail = rail
        return item
    }
}

extension KeyRing {
    /// How long before its end a root of trust needs attention, and how long before it is urgent, in days: people have to meet.
    private static let (rootNoticeDays, rootUrgentDays) = (Int64(90), Int64(14))

    fileprivate func attention(at now: Timestamp) -> AttentionItem? {
        guard let root = self.root?.root, root.expiresAt < now.adding(seconds: Self.rootNoticeDays * 86_400) else {
            return nil
        }
        let isUrgent = root.expiresAt < now.adding(seconds: Self.rootUrgentDays * 86_400)
        let what = root.expiresAt <= now ? "ended" : "ends"
        var item = AttentionItem(
            isUrgent ? .urgent : .soon, .rootExpires, app: nil,
            "The root of trust of version \(root.version) \(what) at \(root.expiresAt): clients that ship one accept no document from then on.",
            remedy:
                "Draft the next one with a later end, `pinledger root draft FILE --after PREVIOUS --expires 1825d`, have it signed, and publish it."
        )
        item.date = root.expiresAt
        return item
    }
}

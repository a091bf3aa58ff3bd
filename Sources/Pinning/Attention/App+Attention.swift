import PinWire

// The attention items of an app as a whole; for those of its hosts see Host+Attention.

extension App {
    /// How long an ended change is still listed: a week.
    private static let lately: Int64 = 7 * 86_400

    func attention(in context: DecisionContext) -> [AttentionItem] {
        var items: [AttentionItem] = []
        if let killSwitch, killSwitch.isInForce(at: context.now) {
            items.append(.inForce(killSwitch, over: self.id.text, app: self.id, words: self.id.text))
        }
        for engaged in self.versionKillSwitches where engaged.killSwitch.isInForce(at: context.now) {
            let scope = "the versions \(engaged.versions) of \(self.id)"
            items.append(
                .inForce(engaged.killSwitch, over: scope, app: self.id, words: "\(self.id) \(engaged.versions.options)")
            )
        }
        for rail in self.loweredRails.sorted() { items.append(.lowered(rail, for: self.id.text, app: self.id)) }
        if self.pinsValidUntil == nil, self.hosts.values.contains(where: { $0.enforces }) {
            var item = AttentionItem(
                .info, .pinsValidUntil, app: self.id,
                "`pins_valid_until` is not set: clients that cannot reach this service never stop enforcing.",
                remedy: "Set `pins_valid_until` to about thirty days ahead, and extend it with each change."
            )
            item.rail = .boundedLifetime
            items.append(item)
        }
        return items
    }

    /// The attention item of a date in the calendar; nil before it is to be announced, and where another item covers
    /// it.
    func attention(to entry: CalendarEntry, at now: Timestamp) -> AttentionItem? {
        guard entry.isAnnounced(at: now) else { return nil }
        var item: AttentionItem?
        switch entry.kind {
        case .certificateExpires, .servedCertificateExpires: item = self.expiry(entry, at: now)
        case .pinsValidUntil: item = self.end(entry, at: now)
        case .killSwitchEnds, .rotationDue, .rolloutStarts, .rolloutDue: item = nil
        }
        item?.lead = entry.lead(at: now)
        return item
    }

    private func expiry(_ entry: CalendarEntry, at now: Timestamp) -> AttentionItem? {
        guard let certificate = entry.certificate else { return nil }
        // The certificate of a key in reserve only shows that there is such a key: it can get another one.
        let isReserve = entry.kind == .certificateExpires && entry.role?.isReserve == true
        let isUrgent = Horizons.isUrgent(entry.date, life: entry.life, at: now)
        let isOver = entry.date <= now
        let place = entry.endpoint.map { "that \($0) presents" } ?? "of a pinned key of \(entry.host?.text ?? "")"
        var item = AttentionItem(
            isReserve ? .info : isUrgent ? .urgent : .soon, .certificateExpires, app: self.id,
            "The certificate \(certificate.subject) \(place) \(isOver ? "has expired at" : "expires at") \(entry.date)\(isOver ? "" : ", in \(Self.days(until: entry.date, at: now))").",
            remedy: isReserve
                ? "Have a certificate issued for the key before it is needed."
                : "Renew it with the same key, or deliver the next key to clients first: `pinledger rotation start \(self.id) \(entry.host?.text ?? "HOST") --next FILE`."
        )
        item.host = entry.host
        item.pin = entry.pin
        item.endpoint = entry.endpoint
        item.rail = .expiryLadder
        item.date = entry.date
        return item
    }

    private func end(_ entry: CalendarEntry, at now: Timestamp) -> AttentionItem? {
        guard self.hosts.values.contains(where: { $0.enforces }) else { return nil }
        let isOver = entry.date <= now
        var item = AttentionItem(
            entry.date <= now.adding(seconds: 86_400) ? .urgent : .soon, .pinsValidUntil, app: self.id,
            isOver
                ? "Clients of \(self.id) have not enforced pins since \(entry.date), when `pins_valid_until` passed."
                : "Clients of \(self.id) stop enforcing pins at \(entry.date), in \(Self.days(until: entry.date, at: now)).",
            remedy: "Extend `pins_valid_until` to about thirty days ahead."
        )
        item.rail = .boundedLifetime
        item.date = entry.date
        return item
    }

    /// The operator's task in a rotation; nil where it waits for something else.
    func attention(to progress: RotationProgress, at now: Timestamp) -> AttentionItem? {
        let rotation = progress.rotation
        let hosts = rotation.hosts.prefix(3).map(\.text).joined(separator: ", ")
        let subject = "The rotation \(rotation.id) (\(hosts)\(rotation.hosts.count > 3 ? ", …" : ""))"
        let since = rotation.phaseSince
        var item: AttentionItem
        switch rotation.phase {
        case .done: return nil
        case .aborted:
            guard now < since.adding(seconds: Self.lately) else { return nil }
            item = AttentionItem(
                .info, .rotationAborted, app: self.id, "\(subject) was aborted at \(since).",
                remedy:
                    "Start another one once the cause is resolved: `pinledger rotation start \(self.id) \(rotation.hosts.map(\.text).joined(separator: " ")) --next FILE`."
            )
        case .deliver, .switch, .settle, .cleanUp:
            if progress.isReady, let next = progress.nextPhase {
                item = AttentionItem(
                    rotation.kind == .emergency ? .urgent : .soon, .rotationReady, app: self.id,
                    "\(subject) is ready for \(next.rawValue).",
                    remedy: "Advance it: `\(progress.advanceCommand(of: self.id))`."
                )
            } else if rotation.phase == .switch || Self.isOverdue(progress, at: now) {
                let missing = progress.waits.filter { $0.isMet != true }.map { "\($0.what): \($0.detail)" }
                item = AttentionItem(
                    rotation.kind == .emergency ? .urgent : .soon, .rotationStuck, app: self.id,
                    "\(subject) has been in \(rotation.phase.rawValue) since \(since) and waits for more than time: "
                        + "\((missing.first ?? progress.findings.first?.detail) ?? "it cannot continue").",
                    remedy: progress.advice
                )
            } else {
                return nil
            }
        }
        item.rotation = rotation.id
        item.pin = rotation.next
        item.host = rotation.hosts.count == 1 ? rotation.hosts.first : nil
        item.date = since
        return item
    }

    /// Whether all waiting times of the rotation are over.
    private static func isOverdue(_ progress: RotationProgress, at now: Timestamp) -> Bool {
        let times = progress.waits.compactMap(\.until)
        return !times.isEmpty && times.allSatisfy { $0 <= now }
    }

    /// The time left in whole days, or hours where it is less than two days.
    static func days(until end: Timestamp, at now: Timestamp) -> String {
        let seconds = max(0, end.seconds - now.seconds)
        if seconds >= 2 * 86_400 { return "\(seconds / 86_400) days" }
        return "\(seconds / 3600) hours"
    }
}

import PinWire

// The attention items of one host.

extension Host {
    /// After this long without a change the list asks whether the state is intended: 30 days.
    private static let longSeconds: Int64 = 30 * 86_400

    func attention(of pattern: HostPattern, _ app: App, in context: DecisionContext) -> [AttentionItem] {
        var items = self.observations(of: pattern, app, in: context) + self.renewals(of: pattern, app, in: context)
        for slot in PolicySlot.allCases {
            guard let policy = self[slot] else { continue }
            items += policy.attention(app, at: context.now).map { item in
                var item = item
                item.policy = slot
                return item
            }
            items += self.matches(policy, slot, of: pattern, app, in: context)
        }
        if let killSwitch, killSwitch.isInForce(at: context.now) {
            items.append(
                .inForce(killSwitch, over: "\(pattern) of \(app.id)", app: app.id, words: "\(app.id) \(pattern)"))
        }
        // The app knows when it was last changed, not when its rollouts were: the text is true of both.
        if self.candidate != nil, app.updatedAt.adding(seconds: Self.longSeconds) <= context.now {
            var item = AttentionItem(
                .info, .candidateStands, app: app.id,
                "\(pattern) has a candidate, but neither its rollout nor anything else in the app has changed since \(app.updatedAt).",
                remedy: "Promote or drop the candidate."
            )
            item.date = app.updatedAt
            items.append(item)
        }
        return items.map { item in
            var item = item
            item.host = pattern
            return item
        }
    }

    /// Gaps in the probes of a host that is enforced.
    private func observations(of pattern: HostPattern, _ app: App, in context: DecisionContext) -> [AttentionItem] {
        guard self.enforces else { return [] }
        let endpoints = self.probed(of: pattern)
        guard !endpoints.isEmpty else {
            var item = AttentionItem(
                .info, .notProbed, app: app.id,
                "\(pattern) is enforced, but it has no endpoint to probe: which key it presents is unknown.",
                remedy: "Set the host's `endpoints`."
            )
            item.rail = .liveChainUnmatched
            return [item]
        }
        return endpoints.compactMap { endpoint in
            let facts = context.facts.endpoint(endpoint)
            guard facts?.live(at: context.now).isEmpty != false else { return nil }
            var item: AttentionItem
            if let facts, facts.isWatched(at: context.now) {
                let last = facts.lastSuccess.map { "last did at \($0)" } ?? "never did"
                item = AttentionItem(
                    .soon, .unreachable, app: app.id,
                    "\(endpoint) does not answer probes (it \(last)): whether clients accept its key is unknown.",
                    remedy: "Find out why with `pinledger probe \(endpoint)`."
                )
            } else {
                let last = facts?.lastAttempt.map { "since \($0)" } ?? "ever"
                item = AttentionItem(
                    .soon, .notProbed, app: app.id,
                    "\(pattern) is enforced, but \(endpoint) was not probed \(last).",
                    remedy: "Run `pinledger probe \(endpoint)`, and have a node probe regularly (--vantage)."
                )
            }
            item.rail = .liveChainUnmatched
            item.endpoint = endpoint
            item.date = facts?.lastSuccess
            return item
        }
    }

    /// The certificates that are served although their authorities suggest to have replaced them.
    private func renewals(of pattern: HostPattern, _ app: App, in context: DecisionContext) -> [AttentionItem] {
        guard PolicySlot.allCases.contains(where: { self[$0].map { $0.mode != .off } ?? false }) else { return [] }
        var known: Set<[UInt8]> = []
        return self.probed(of: pattern).flatMap { endpoint -> [AttentionItem] in
            let live = context.facts.endpoint(endpoint)?.live(at: context.now) ?? []
            return live.compactMap { chain in
                guard let certificate = chain.certificates.first, known.insert(certificate.sha256).inserted,
                    let window = context.facts.renewal(certificate.sha256)
                else { return nil }
                return self.renewal(of: certificate, at: endpoint, window, of: pattern, app, in: context)
            }
        }
    }

    private func renewal(
        of certificate: CertificateFacts, at endpoint: Endpoint, _ window: RenewalWindow, of pattern: HostPattern,
        _ app: App, in context: DecisionContext
    ) -> AttentionItem? {
        let isEarly = window.isEarly(for: certificate)
        // A window that is where one expects it is no news before it is over.
        guard isEarly ? window.start <= context.now : window.end <= context.now else { return nil }
        // The pins that are not served and stand ready: the first is the next key where the served one must not be used again.
        let reserve = self[.baseline]?.activePins.first { $0.role == .backup && $0.pin != certificate.key.pin }?.pin
        let next = reserve.map { "\($0)" } ?? "FILE"
        let why = window.explanation.map { " (\($0))" } ?? ""
        var item = AttentionItem(
            isEarly ? .urgent : .soon, .renewalAnnounced, app: app.id,
            isEarly
                ? "The authority of the certificate \(certificate.subject) that \(endpoint) presents wants it replaced by \(window.end), although it is valid until \(certificate.notAfter): it may revoke it then\(why)."
                : "The authority of the certificate \(certificate.subject) that \(endpoint) presents suggested to renew it by \(window.end): the renewal has failed, or was not served\(why).",
            remedy:
                "Renew it now with the same key: clients notice nothing. If the key must not be used again, deliver the next one first: `pinledger rotation start \(app.id) \(pattern) --next \(next)\(isEarly ? " --emergency" : "")`."
        )
        item.pin = certificate.key.pin
        item.endpoint = endpoint
        item.rail = .expiryLadder
        item.date = window.end
        return item
    }

    /// The services at which clients that enforce are locked out now, as far as probes have seen.
    func lockOuts(of pattern: HostPattern, _ app: App, in context: DecisionContext) -> [AttentionItem] {
        PolicySlot.allCases.flatMap { slot in
            self[slot].map { self.matches($0, slot, of: pattern, app, in: context) } ?? []
        }.filter { $0.kind == .servedKeyUnpinned && $0.severity == .urgent }
    }

    /// How a policy's published pins relate to the chains that are served now.
    private func matches(
        _ policy: Policy, _ slot: PolicySlot, of pattern: HostPattern, _ app: App, in context: DecisionContext
    ) -> [AttentionItem] {
        let pins = Set(policy.activePins.map(\.pin))
        guard policy.mode != .off, !pins.isEmpty else { return [] }
        var items: [AttentionItem] = []
        var presented: Set<Pin> = []
        for endpoint in self.probed(of: pattern) {
            let live = context.facts.endpoint(endpoint)?.live(at: context.now) ?? []
            presented.formUnion(live.flatMap(\.pins))
            // One address is enough to lock clients out, and one item to say so.
            guard let miss = live.first(where: { pins.isDisjoint(with: $0.pins) }) else { continue }
            let enforces = policy.mode == .enforce
            var item = AttentionItem(
                enforces ? .urgent : .soon, .servedKeyUnpinned, app: app.id,
                "\(endpoint) presents \(miss.pins.first.map { "\($0)" } ?? "no key") (\(miss.address), seen from \(miss.vantage)), but the \(slot.rawValue) of \(pattern) has no matching pin: \(enforces ? "its devices refuse the server" : "its devices report every connection").",
                remedy: WrongKey.remedy(endpoint, miss, of: pattern, in: app.id)
                    + " Meanwhile, `pinledger kill engage \(app.id) \(pattern) --reason WHY` lets clients connect, even to an attacker who presents that key."
            )
            item.rail = slot == .candidate ? .armWithoutServedKey : .liveChainUnmatched
            item.policy = slot
            item.pin = miss.pins.first
            item.endpoint = endpoint
            item.date = miss.firstSeen
            items.append(item)
        }
        if policy.mode == .enforce, !presented.isEmpty, pins.isSubset(of: presented) {
            var item = AttentionItem(
                .soon, .noReserve, app: app.id,
                "Every pin of the \(slot.rawValue) of \(pattern) is in a chain that is served now: no pin is in reserve.",
                remedy: "Add the pin of an unused key that another certificate can be issued for."
            )
            item.rail = .backupNotServed
            item.policy = slot
            items.append(item)
        }
        return items
    }
}

extension Policy {
    /// After this long without a change of pins the list asks whether the state is intended: 30 days.
    private static let longSeconds: Int64 = 30 * 86_400

    /// The items of a policy that do not depend on the served chains.
    fileprivate func attention(_ app: App, at now: Timestamp) -> [AttentionItem] {
        var items: [AttentionItem] = []
        if self.mode != .enforce {
            // The time of the mode's last change is not recorded; the pins' unchanged time is a bound for it.
            let last = self.pins.values.map(\.since).max() ?? app.createdAt
            if last.adding(seconds: Self.longSeconds) <= now {
                var item = AttentionItem(
                    .info, .notEnforced, app: app.id,
                    "The mode is still \(self.mode.rawValue), and the pins have not changed since \(last).",
                    remedy: "Enforce once the reports show no failures, or remove the host."
                )
                item.date = last
                items.append(item)
            }
        }
        guard self.mode != .off else { return items }
        for (pin, record) in self.pins where record.state.isInUse {
            for objection in app.keys[pin]?.key.objections ?? [] {
                var item = AttentionItem(
                    .soon, .weakKey, app: app.id, "A pinned key \(objection.reason).",
                    remedy: "Rotate to a new key: \(KeyObjection.soundKinds)."
                )
                item.rail = .weakKey
                item.pin = pin
                items.append(item)
            }
        }
        guard self.mode == .enforce else { return items }
        let reserves = self.activePins.filter { $0.role.isReserve }.map(\.pin)
        if reserves.isEmpty {
            var item = AttentionItem(
                .soon, .noReserve, app: app.id, "No active backup pin is in reserve.",
                remedy: "Publish the pin of a key that is ready and unused."
            )
            item.rail = .backupNotServed
            items.append(item)
        } else if reserves.allSatisfy({ app.keys[$0] == nil }) {
            var item = AttentionItem(
                .soon, .unprovenReserve, app: app.id,
                "Only the hash of the backup is known: nothing shows that such a key exists.",
                remedy: "Upload its certificate, public key or signing request."
            )
            item.rail = .unprovenPin
            item.pin = reserves.min()
            items.append(item)
        }
        return items
    }
}

package import PinWire

/// What lost events of the ledger leave behind: the protective changes that can be repeated, and what is alive
/// again because its end was lost.
package struct LostChanges: Hashable, Sendable {
    /// The evidence of a lost change.
    package enum Source: Hashable, Sendable {
        case event(Entry)
        /// A document that was served and shows what became of a change.
        case document(AppID, version: Int64, DocumentedChange)

        package var entry: Entry? { if case .event(let entry) = self { entry } else { nil } }

        /// The stream that the change was in.
        package var stream: StreamID {
            switch self {
            case .event(let entry): entry.stream
            case .document(let app, _, let change): change.isOfFleet ? .fleet : .app(app)
            }
        }
    }

    /// A lost change that can be repeated with one command.
    package struct Repetition: Hashable, Sendable {
        package var source: Source
        package var command: Command
    }

    /// In the order in which they were lost. Only the last of several events about one thing counts.
    package private(set) var repetitions: [Repetition] = []
    /// Lost events that ended or shortened something which is in force again, and which nobody repeats without thinking: it would take
    /// protection away, or it cannot be done in this state.
    package private(set) var revivals: [Source] = []
    /// Lost kill switches that would still be in force, and whose app or host is lost too: they can be repeated once that is made again.
    package private(set) var blocked: [Entry] = []

    /// What an event is about. A later event about the same thing takes the place of an earlier one.
    enum Subject: Hashable {
        case fleetSwitch
        case appSwitch(AppID, HostPattern?)
        case versionSwitch(AppID, VersionRange)
        case pin(AppID, HostPattern, PolicySlot, Pin)
        case token(String)
        case principal(String)
        case grant(String)
        case role(RoleName)
        case signingKey(String)
        case root(Int64)
        case telemetryKey(AppID, String)
        case logKey(String)
        case approvalKey(String, principal: String)
        case approvalRule(RoleName)
        case freeze(String)
        case identityProvider(RoleName)
        case signInRule(RoleName)
        case identity(String)
        case change(String)
    }

    /// An event of a history that was lost in part.
    package struct HistoryEvent: Sendable {
        package var entry: Entry
        /// False for one that the ledger has, from an epoch that began after a loss.
        package var isLost: Bool

        package init(_ entry: Entry, isLost: Bool) { (self.entry, self.isLost) = (entry, isLost) }
    }

    /// True for an event that a later one about the same thing takes the place of: the others change nothing here.
    package static func counts(_ entry: Entry) -> Bool { Self.subject(of: entry) != nil }

    /// - Parameter lost: The lost events, in their order.
    package init(
        of lost: [Entry], documents: [Document] = [], in state: LedgerState, at now: Timestamp
    ) {
        self.init(
            in: lost.map { HistoryEvent($0, isLost: true) }, documents: documents, leaving: state, at: now)
    }

    /// - Parameters:
    ///   - history: The lost events, and between them those that the ledger has recorded since a loss, in their order. What was
    ///     decided since then about a thing stands, whatever was lost before.
    ///   - documents: The newest documents that were served before the loss, one of an app. They tell of what no event does.
    ///   - state: The state that is left.
    package init(
        in history: [HistoryEvent], documents: [Document], leaving state: LedgerState, at now: Timestamp
    ) {
        var last: [Subject: Entry] = [:]
        var order: [Subject] = []
        var decided: Set<Subject> = []
        for event in history {
            let entry = event.entry
            guard let subject = Self.subject(of: entry) else { continue }
            guard event.isLost else {
                last[subject] = entry
                decided.insert(subject)
                continue
            }
            // The replacement that ends a token first counts.
            if let known = last[subject].flatMap(Self.replacedEnd), let end = Self.replacedEnd(of: entry), known <= end
            {
                continue
            }
            decided.remove(subject)
            if last.updateValue(entry, forKey: subject) != nil { order.removeAll { $0 == subject } }
            order.append(subject)
        }
        for subject in order where !decided.contains(subject) {
            guard let entry = last[subject] else { continue }
            switch Self.judge(entry, in: state, at: now) {
            case .nothing: break
            case .repeated(let command):
                self.repetitions.append(Repetition(source: .event(entry), command: command))
            case .revived: self.revivals.append(.event(entry))
            case .blocked: self.blocked.append(entry)
            }
        }
        self.take(documents, beside: last, in: state, at: now)
    }

    mutating func add(_ repetition: Repetition) { self.repetitions.append(repetition) }

    mutating func add(revived source: Source) { self.revivals.append(source) }

    /// Leaves out the repetition of an event, of which a document knows more.
    mutating func drop(repetitionOf entry: Entry) { self.repetitions.removeAll { $0.source.entry == entry } }

    /// When a token ends that the entry's token replaces; nil for other entries.
    private static func replacedEnd(of entry: Entry) -> Timestamp? {
        guard case .access(.tokenIssued(let token)) = entry.event, let replaced = token.replaced else { return nil }
        return entry.effectiveAt.adding(seconds: replaced.overlap)
    }

    private static func subject(of entry: Entry) -> Subject? {
        switch (entry.stream, entry.event) {
        case (_, .fleet(.killSwitchEngaged)), (_, .fleet(.killSwitchReleased)): .fleetSwitch
        case (.app(let app), .app(.killSwitchEngaged(let host, _))),
            (.app(let app), .app(.killSwitchReleased(let host))):
            .appSwitch(app, host)
        case (.app(let app), .app(.versionKillSwitchEngaged(let range, _))),
            (.app(let app), .app(.versionKillSwitchReleased(let range))):
            .versionSwitch(app, range)
        case (.app(let app), .app(.pinRevoked(let host, let slot, let pin))): .pin(app, host, slot, pin)
        case (_, .access(.tokenRevoked(let id))): .token(id)
        case (_, .access(.tokenIssued(let token))): token.replaced.map { .token($0.token) }
        case (_, .access(.principalSuspended(let id))), (_, .access(.principalReinstated(let id))): .principal(id)
        case (_, .access(.grantRevoked(let id, _))): .grant(id)
        case (_, .access(.roleDefined(let name, _))), (_, .access(.roleRemoved(let name))): .role(name)
        case (_, .access(.approvalKeyAdded(let key, let id))): .approvalKey(key.kid, principal: id)
        case (_, .access(.approvalKeyRemoved(let kid, let id))): .approvalKey(kid, principal: id)
        case (_, .access(.approvalRuleSet(let rule))): .approvalRule(rule.name)
        case (_, .access(.approvalRuleRemoved(let name))): .approvalRule(name)
        case (_, .access(.freezeSet(let freeze))): .freeze(freeze.id)
        case (_, .access(.freezeRemoved(let id))): .freeze(id)
        case (_, .access(.identityProviderSet(let provider))): .identityProvider(provider.name)
        case (_, .access(.identityProviderRemoved(let name))): .identityProvider(name)
        case (_, .access(.signInRuleSet(let rule))): .signInRule(rule.name)
        case (_, .access(.signInRuleRemoved(let name))): .signInRule(name)
        case (_, .access(.identityLinked(let identity, _))): .identity(identity.id)
        case (_, .access(.identityUnlinked(let id, _))): .identity(id)
        case (_, .changes(.rejected(let id, _))), (_, .changes(.withdrawn(let id, _))),
            (_, .changes(.applied(let id, _, _, _))):
            .change(id)
        case (_, .keys(.signingKeyRetired(let kid))): .signingKey(kid)
        case (_, .keys(.rootPublished(let root))): .root(root.metadata.version)
        case (.watch(let app), .watch(.telemetryKeyRetired(let id))): .telemetryKey(app, id)
        case (_, .log(.logKeyRetired(let kid))): .logKey(kid)
        default: nil
        }
    }

    private enum Verdict {
        /// The state has it, or has nothing that it was about.
        case nothing
        case repeated(Command)
        case revived
        /// Its app or host is lost too.
        case blocked
    }

    private static func judge(_ entry: Entry, in state: LedgerState, at now: Timestamp) -> Verdict {
        /// A switch that was engaged until `end`, where the state has `present`.
        func engaged(until end: Timestamp, _ present: KillSwitch?, _ command: Command) -> Verdict {
            guard let present, present.isInForce(at: now) else { return now < end ? .repeated(command) : .nothing }
            // It was engaged again for a shorter time, which was lost.
            guard present.expiresAt <= end else { return .revived }
            return present.expiresAt < end ? .repeated(command) : .nothing
        }
        func released(_ present: KillSwitch?) -> Verdict { present?.isInForce(at: now) == true ? .revived : .nothing }
        switch (entry.stream, entry.event) {
        case (_, .fleet(.killSwitchEngaged(let end))):
            return engaged(until: end, state.fleet.killSwitch, .fleet(.engageKillSwitch(expiresAt: end)))
        case (_, .fleet(.killSwitchReleased)): return released(state.fleet.killSwitch)
        case (.app(let id), .app(let event)):
            if let app = state.apps[id] {
                return Self.judge(event, of: app, at: now, engaged: engaged, released: released)
            }
            switch event {
            case .killSwitchEngaged(_, let end), .versionKillSwitchEngaged(_, let end):
                return now < end ? .blocked : .nothing
            default: return .nothing
            }
        case (_, .access(.tokenRevoked(let id))):
            guard let token = state.access.tokens[id], token.isValid(at: now) else { return .nothing }
            return .repeated(.access(.revokeToken(id: id)))
        case (_, .access(.tokenIssued(let new))):
            guard let replaced = new.replaced, let token = state.access.tokens[replaced.token], token.isValid(at: now)
            else { return .nothing }
            let end = entry.effectiveAt.adding(seconds: replaced.overlap)
            guard end < token.expiresAt else { return .nothing }
            // The token in its place was lost too: while this one was still to be accepted, an operator decides.
            return end <= now ? .repeated(.access(.revokeToken(id: token.id))) : .revived
        case (_, .access(.principalSuspended(let id))):
            guard let principal = state.access.principals[id], principal.suspendedAt == nil else { return .nothing }
            return .repeated(.access(.suspendPrincipal(id: id)))
        case (_, .access(.roleDefined(let name, let permissions))):
            // What it took from the role is there again.
            guard let present = state.access.roles[name], !present.isSubset(of: permissions) else { return .nothing }
            return .repeated(.access(.defineRole(name, permissions)))
        case (_, .access(.roleRemoved(let name))):
            guard state.access.roles[name] != nil else { return .nothing }
            return state.access.isInUse(name, at: now) ? .revived : .repeated(.access(.removeRole(name)))
        case (_, .access(.grantRevoked(let id, _))):
            guard state.access.principalByGrant[id] != nil else { return .nothing }
            return .repeated(.access(.revokeGrant(id: id)))
        case (_, .access(.approvalKeyAdded(let key, let id))):
            // Without it, the person's token alone approves.
            guard let person = state.access.principals[id], person.approvalKeys[key.kid] == nil else { return .nothing }
            return .repeated(.access(.addApprovalKey(key, principal: id)))
        case (_, .access(.approvalKeyRemoved(let kid, let id))):
            guard state.access.principals[id]?.approvalKeys[kid] != nil else { return .nothing }
            return .repeated(.access(.removeApprovalKey(kid: kid, principal: id)))
        case (_, .access(.approvalRuleSet(let rule))):
            return state.access.approvalRules[rule.name] == rule ? .nothing : .repeated(.access(.setApprovalRule(rule)))
        case (_, .access(.freezeSet(let freeze))):
            guard now < freeze.until, state.access.freezes[freeze.id] == nil else { return .nothing }
            return .repeated(.access(.setFreeze(freeze)))
        case (_, .access(.approvalRuleRemoved(let name))):
            return state.access.approvalRules[name] == nil ? .nothing : .revived
        case (_, .access(.freezeRemoved(let id))): return state.access.freezes[id] == nil ? .nothing : .revived
        case (_, .access(.identityProviderSet(let provider))):
            // What it took from the provider is there again.
            guard let present = state.access.identityProviders[provider.name], present != provider else {
                return .nothing
            }
            return present.issuer == provider.issuer ? .repeated(.access(.identity(.setProvider(provider)))) : .revived
        case (_, .access(.identityProviderRemoved(let name))):
            return state.access.identityProviders[name] == nil ? .nothing : .revived
        case (_, .access(.signInRuleSet(let rule))):
            guard let present = state.access.signInRules[rule.name], present.json != rule.json else { return .nothing }
            return .repeated(.access(.identity(.setRule(rule))))
        case (_, .access(.signInRuleRemoved(let name))):
            return state.access.signInRules[name] == nil
                ? .nothing : .repeated(.access(.identity(.removeRule(name))))
        case (_, .access(.identityUnlinked(let id, _))):
            // Unknown, it signs in as someone new.
            guard let present = state.access.identities[id] else { return .revived }
            return present.principal == nil ? .nothing : .repeated(.access(.identity(.unlink(id: id))))
        case (_, .access(.identityLinked(let identity, let principal))):
            let present = state.access.identities[identity.id]
            guard state.access.principals[principal] != nil, present?.principal != principal else { return .nothing }
            // It signs in as another one.
            guard present?.principal == nil else { return .revived }
            return .repeated(.access(.identity(.link(identity, principal: principal))))
        // It is open again, with the approvals that it had, and could be applied, or applied once more.
        case (_, .changes(.rejected(let id, _))), (_, .changes(.withdrawn(let id, _))),
            (_, .changes(.applied(let id, _, _, _))):
            return state.changes[id]?.isOpen(at: now) == true ? .revived : .nothing
        case (_, .keys(.signingKeyRetired(let kid))):
            switch state.keys.keys[kid]?.state {
            case nil, .retired: return .nothing
            // The key that took over is lost, or not active yet.
            case .active: return .revived
            case .announced, .superseded: return .repeated(.keys(.retire(kid: kid)))
            }
        case (_, .keys(.rootPublished(let file))):
            // Clients that have it take no other one in its place.
            return file.metadata.version > state.keys.root?.root.version ?? 0
                ? .repeated(.keys(.publishRoot(file, restarts: state.keys.isRestart(file)))) : .nothing
        case (.watch(let id), .watch(.telemetryKeyRetired(let key))):
            let isThere = state.apps[id]?.watch.telemetryKeys.contains { $0.id == key && $0.retiredAt == nil } ?? false
            return isThere ? .repeated(.telemetryKey(id, .retire(id: key))) : .nothing
        case (_, .log(.logKeyRetired(let kid))):
            guard state.log.signers.contains(where: { $0.kid == kid }) else { return .nothing }
            return state.log.signers.count > 1 ? .repeated(.log(.retireKey(kid: kid))) : .revived
        default: return .nothing
        }
    }

    private static func judge(
        _ event: AppEvent, of app: App, at now: Timestamp, engaged: (Timestamp, KillSwitch?, Command) -> Verdict,
        released: (KillSwitch?) -> Verdict
    ) -> Verdict {
        func present(_ range: VersionRange) -> KillSwitch? {
            app.versionKillSwitches.first { $0.versions == range }?.killSwitch
        }
        switch event {
        case .killSwitchEngaged(nil, let end):
            return engaged(end, app.killSwitch, .app(app.id, [.engageKillSwitch(nil, expiresAt: end)]))
        case .killSwitchEngaged(let host?, let end):
            guard let there = app.hosts[host] else { return now < end ? .blocked : .nothing }
            return engaged(end, there.killSwitch, .app(app.id, [.engageKillSwitch(host, expiresAt: end)]))
        case .killSwitchReleased(nil): return released(app.killSwitch)
        case .killSwitchReleased(let host?): return released(app.hosts[host]?.killSwitch)
        case .versionKillSwitchEngaged(let range, let end):
            return engaged(
                end, present(range), .app(app.id, [.engageVersionKillSwitch(range, expiresAt: end)]))
        case .versionKillSwitchReleased(let range): return released(present(range))
        case .pinRevoked(let host, let slot, let pin):
            guard let state = app.hosts[host]?[slot]?.pins[pin]?.state, state == .active || state == .staged else {
                return .nothing
            }
            return .repeated(.app(app.id, [.revokePin(host, slot, pin)]))
        default: return .nothing
        }
    }
}

package import PinWire

/// A change of which a document tells that was served before its event was lost.
package enum DocumentedChange: Hashable, Sendable, CustomStringConvertible {
    /// A kill switch was engaged until a moment.
    case engaged(KillSwitchScope, until: Timestamp)
    /// A kill switch was released.
    case released(KillSwitchScope)
    /// A pin was withdrawn: retired, or revoked.
    case withdrawn(Pin, HostPattern, PolicySlot)

    /// True for a change of all apps.
    var isOfFleet: Bool {
        switch self {
        case .engaged(.everything, _), .released(.everything): true
        default: false
        }
    }

    package var description: String {
        switch self {
        case .engaged(let scope, let end): "kill switch for \(scope) until \(end.rfc3339)"
        case .released(let scope): "release of the kill switch for \(scope)"
        case .withdrawn(let pin, let host, let slot):
            "withdrawal of the pin sha256/\(pin.base64) of \(host), \(slot.rawValue)"
        }
    }
}

extension LostChanges.Source {
    /// True where two documents tell of the same change.
    fileprivate func isSameChange(as other: Self) -> Bool {
        guard case .document(let app, _, let change) = self, case .document(let otherApp, _, let otherChange) = other
        else { return false }
        return change == otherChange && (app == otherApp || change.isOfFleet)
    }
}

/// Lost changes by documents: a document shows which kill switches are engaged, and which pins are published.
extension LostChanges {
    /// Takes in what documents show and the state lacks.
    ///
    /// A switch or pin that the state has and a document lacks was ended only where the document is of a later version than the state has come to: a
    /// state that went on without the lost events may have made it since.
    ///
    /// - Parameter known: The last lost event about each thing. It counts where it is later than the document.
    mutating func take(
        _ documents: [Document], beside known: [Subject: Entry], in state: LedgerState, at now: Timestamp
    ) {
        var newest: [Subject: ShownSwitch] = [:]
        for document in documents {
            for one in document.killSwitches {
                guard let place = SwitchPlace(one, of: document.app, in: state),
                    newest[place.subject].map({ $0.killSwitch.engagedAt < one.engagedAt }) ?? true
                else { continue }
                newest[place.subject] = ShownSwitch(document: document, killSwitch: one, place: place)
            }
        }
        for shown in newest.values.sorted(by: { ($0.document.app, $0.place.text) < ($1.document.app, $1.place.text) }) {
            self.take(shown, beside: known[shown.place.subject], in: state, at: now)
        }
        for document in documents {
            guard let app = state.apps[document.app], document.version > state.documentVersion(of: app.id) ?? 0 else {
                continue
            }
            self.takeReleases(of: app, by: document, in: state, at: now) { known[$0] == nil && newest[$0] == nil }
            self.takeWithdrawals(of: app, by: document) { known[$0] == nil }
        }
    }

    /// A kill switch that is engaged by a document.
    private struct ShownSwitch {
        var document: Document
        var killSwitch: Document.KillSwitch
        var place: SwitchPlace
    }

    private mutating func take(
        _ shown: ShownSwitch, beside entry: Entry?, in state: LedgerState, at now: Timestamp
    ) {
        let (one, place) = (shown.killSwitch, shown.place)
        guard now < one.expiresAt else { return }
        if let entry {
            // Within one second nobody can tell which was first: a release counts, which an operator can repeat.
            let isLater =
                place.isReleased(by: entry)
                ? entry.effectiveAt >= one.engagedAt : entry.effectiveAt.wholeSeconds >= one.engagedAt
            if isLater { return }
        }
        let isBehind = shown.document.version > state.documentVersion(of: shown.document.app) ?? 0
        if !isBehind, let ended = place.endedAt, ended >= one.engagedAt { return }
        if let present = place.present, present.isInForce(at: now), present.expiresAt.wholeSeconds >= one.expiresAt {
            return
        }
        if let entry { self.drop(repetitionOf: entry) }
        self.add(
            Repetition(
                source: .document(
                    shown.document.app, version: shown.document.version, .engaged(place.scope, until: one.expiresAt)),
                command: place.engagement(until: one.expiresAt)))
    }

    /// Takes in kill switches of the state that a later document does not have any more.
    private mutating func takeReleases(
        of app: App, by document: Document, in state: LedgerState, at now: Timestamp, where isOpen: (Subject) -> Bool
    ) {
        for place in SwitchPlace.all(of: app, in: state)
        where isOpen(place.subject) && place.present?.isInForce(at: now) == true {
            let source = Source.document(app.id, version: document.version, .released(place.scope))
            if !self.revivals.contains(where: { $0.isSameChange(as: source) }) { self.add(revived: source) }
        }
    }

    /// Takes in published pins of the state that a later document does not have any more. Where it has others in their place, nobody
    /// withdraws them without those.
    private mutating func takeWithdrawals(of app: App, by document: Document, where isOpen: (Subject) -> Bool) {
        for host in document.hosts {
            guard let found = app.hosts[host.pattern] else { continue }
            for (slot, policy) in [(PolicySlot.baseline, host.baseline), (.candidate, host.candidate)] {
                guard let policy, let held = found[slot] else { continue }
                let (published, present) = (Set(policy.pins.map(\.pin)), held.activePins.map(\.pin))
                for pin in present
                where !published.contains(pin) && isOpen(.pin(app.id, host.pattern, slot, pin)) {
                    let source = Source.document(
                        app.id, version: document.version, .withdrawn(pin, host.pattern, slot))
                    if published.isSubset(of: present) {
                        self.add(
                            Repetition(
                                source: source, command: .app(app.id, [.retirePin(host.pattern, slot, pin)])))
                    } else {
                        self.add(revived: source)
                    }
                }
            }
        }
    }

    /// The place of a kill switch: what it is about, and what the state has there.
    private struct SwitchPlace {
        var subject: Subject
        var scope: KillSwitchScope
        var present: KillSwitch?
        /// When the last one there, or one beside it, was released in this state; nil where none was.
        var endedAt: Timestamp?

        /// The place of a document's kill switch; nil where the state has no such app or host.
        init?(_ shown: Document.KillSwitch, of id: AppID, in state: LedgerState) {
            switch shown.scope {
            case "everything": self.init(fleet: state.fleet)
            case "app":
                guard let app = state.apps[id] else { return nil }
                self.init(app: app)
            case "host":
                guard let pattern = shown.host, let app = state.apps[id], app.hosts[pattern] != nil else { return nil }
                self.init(host: pattern, of: app)
            case "app_versions":
                guard let range = shown.versions.flatMap(VersionRange.init), let app = state.apps[id] else {
                    return nil
                }
                self.init(versions: range, of: app)
            default: return nil
            }
        }

        private init(fleet: Fleet) {
            (self.subject, self.scope) = (.fleetSwitch, .everything)
            (self.present, self.endedAt) = (fleet.killSwitch, fleet.switchEndedAt)
        }

        private init(app: App) {
            (self.subject, self.scope) = (.appSwitch(app.id, nil), .app(app.id))
            (self.present, self.endedAt) = (app.killSwitch, app.switchEndedAt)
        }

        private init(host pattern: HostPattern, of app: App) {
            (self.subject, self.scope) = (.appSwitch(app.id, pattern), .host(app.id, pattern))
            (self.present, self.endedAt) = (app.hosts[pattern]?.killSwitch, app.hosts[pattern]?.switchEndedAt)
        }

        private init(versions: VersionRange, of app: App) {
            (self.subject, self.scope) = (.versionSwitch(app.id, versions), .versions(app.id, versions))
            self.present = app.versionKillSwitches.first { $0.versions == versions }?.killSwitch
            self.endedAt = app.switchEndedAt
        }

        /// Every place of an app that has a kill switch in the state.
        static func all(of app: App, in state: LedgerState) -> [SwitchPlace] {
            let all =
                [SwitchPlace(fleet: state.fleet), SwitchPlace(app: app)]
                + app.versionKillSwitches.map { SwitchPlace(versions: $0.versions, of: app) }
                + app.hosts.map { SwitchPlace(host: $0.key, of: app) }
            return all.filter { $0.present != nil }
        }

        func engagement(until end: Timestamp) -> Command {
            switch self.scope {
            case .everything: .fleet(.engageKillSwitch(expiresAt: end))
            case .app(let app): .app(app, [.engageKillSwitch(nil, expiresAt: end)])
            case .host(let app, let host): .app(app, [.engageKillSwitch(host, expiresAt: end)])
            case .versions(let app, let versions): .app(app, [.engageVersionKillSwitch(versions, expiresAt: end)])
            }
        }

        /// The order of places.
        var text: String { "\(self.scope)" }

        /// True where an event about this place is the release of its switch.
        func isReleased(by entry: Entry) -> Bool {
            switch entry.event {
            case .fleet(.killSwitchReleased), .app(.killSwitchReleased), .app(.versionKillSwitchReleased): true
            default: false
            }
        }
    }
}

import PinWire

/// What a change of an app takes from protection: what uses `protection.weaken`.
///
/// It is judged by what devices get, as ``Evaluator`` decides it, and not by the form of the commands. Where that cannot be told
/// without the devices, it counts as weaker: a set of devices that is not known to be within another is taken to have others.
/// Kill switches, the end of an app and the mode of its pins after their time have permissions and rules of their own.
///
/// Reactions to reports that go beyond a roll-back, the reports that lead to one, and the services whose keys it rests on, count when
/// they are set: nobody is asked when the server reacts.
struct Weakening: Hashable, Sendable {
    /// The hosts for whose names some device gets less afterwards than before, or will as a rollout's plan goes on: a weaker mode, or
    /// nothing.
    ///
    /// Pins that are built in count as enforced where they are replaced, and as nothing where they replace a policy: no release is known
    /// to have them.
    private(set) var hosts: [HostPattern] = []
    /// True where clients stop enforcing pins of all hosts sooner, fall back to fewer built-in ones or are no longer served, or the server
    /// may weaken more by itself, or sooner.
    private(set) var isOfApp = false

    /// Linear in the size of the change and of the app.
    ///
    /// - Parameter touched: The hosts that the events name.
    init(from before: App?, to after: App, by events: [AppEvent], of touched: [HostPattern]) {
        let reach = SelfActing(after)
        var weakened: Set<HostPattern> = []
        if reach > .none {
            weakened.formUnion(
                touched.filter { pattern in
                    after.hosts[pattern].map { $0.endpoints != before?.hosts[pattern]?.endpoints } ?? false
                })
        }
        self.isOfApp = reach > SelfActing(before)
        guard let before else {
            self.hosts = weakened.sorted()
            return
        }
        for pattern in touched {
            guard let was = before.hosts[pattern], let now = after.hosts[pattern],
                was.includesSubdomains == now.includesSubdomains
            else { continue }
            if Self.isWeaker(Held(pattern, was, before), Held(pattern, now, after)) { weakened.insert(pattern) }
        }
        weakened.formUnion(Self.uncovered(from: before, to: after, of: touched))
        if before.versionGate != after.versionGate || before.rollout != after.rollout
            || before.rolloutRevision != after.rolloutRevision
        {
            for (pattern, now) in after.hosts {
                guard let was = before.hosts[pattern], was.candidate != nil || now.candidate != nil else { continue }
                if Self.isWeaker(Held(pattern, was, before), Held(pattern, now, after)) { weakened.insert(pattern) }
            }
        }
        for place in events.compactMap(\.continuedPlan) {
            for (pattern, host) in after.hosts where place.host == nil || place.host == pattern {
                if host.hasWeakerCandidate { weakened.insert(pattern) }
            }
        }
        self.hosts = weakened.sorted()
        let isSooner = after.pinsValidUntil.map { end in before.pinsValidUntil.map { end < $0 } ?? true } ?? false
        let (was, now) = (before.fallback, after.fallback)
        let isNarrower =
            was != now && was.usesBuiltinPins && (!now.usesBuiltinPins || !Set(was.hosts).isSubset(of: now.hosts))
        self.isOfApp =
            self.isOfApp || isSooner || isNarrower || Self.isSelfActingSooner(from: before, to: after)
            || Self.isLessServed(from: before, to: after)
    }

    /// The hosts that came, went, or changed whether subdomains are included, and for whose names another host holds now, or
    /// none, that gives some device less.
    private static func uncovered(from before: App, to after: App, of touched: [HostPattern]) -> Set<HostPattern> {
        let moved = touched.filter { before.hosts[$0]?.includesSubdomains != after.hosts[$0]?.includesSubdomains }
        guard !moved.isEmpty else { return [] }
        let (was, now) = (Covering(before), Covering(after))
        var weakened: Set<HostPattern> = []
        func judge(_ name: String, _ pattern: HostPattern) {
            if Self.isWeaker(was.held(of: name), now.held(of: name)) { weakened.insert(pattern) }
        }
        for pattern in moved {
            // No pattern has the label `*`: these stand for all names one and more labels below that no other pattern is nearer to.
            for name in [pattern.name, "*.\(pattern.name)", "*.*.\(pattern.name)"] { judge(name, pattern) }
        }
        for builtin in before.fallback.usesBuiltinPins ? before.fallback.hosts : [] {
            guard let pattern = now.pattern(of: builtin.text) ?? was.pattern(of: builtin.text) else { continue }
            judge(builtin.text, pattern)
        }
        return weakened
    }

    // MARK: What the server may do

    /// How far the server's own reactions to reports may go beyond a roll-back, the least first.
    private enum SelfActing: Comparable {
        case none
        case reportOnly
        case killSwitch

        init(_ app: App?) {
            guard let monitoring = app?.monitoring, monitoring.isEnabled, monitoring.reaction == .act else {
                self = .none
                return
            }
            self = monitoring.autoDisables ? .killSwitch : .reportOnly
        }
    }

    /// True where fewer reports are enough for what the server does by itself: to react beyond a roll-back, or to go on with the plan of a
    /// weaker candidate.
    private static func isSelfActingSooner(from before: App, to after: App) -> Bool {
        let (was, now) = (before.monitoring, after.monitoring)
        let countsMore = now.countsUnsigned && !was.countsUnsigned
        if SelfActing(after) > .none { return countsMore || now.failureThreshold < was.failureThreshold }
        return countsMore && after.isGivingWeakerCandidates
    }

    // MARK: What devices get

    /// True where installs of a deployed client get no more answers, or none that they find and read.
    private static func isLessServed(from before: App, to after: App) -> Bool {
        before.clients.contains { kind, was in
            guard kind.isServed else { return false }
            guard let now = after.clients[kind] else { return true }
            return (was.key != nil && now.key == nil) || !now.settings.reachesInstalls(of: was.settings)
        }
    }

    /// What clients require of a host's servers.
    private enum Requirement {
        case nothing
        case builtin
        case mode(PinMode)

        init(_ policy: Policy?) { self = policy.map { .mode($0.mode) } ?? .builtin }

        private var strength: Int {
            switch self {
            case .nothing: 0
            case .builtin: PinMode.enforce.strength
            case .mode(let mode): mode.strength
            }
        }

        func isWeaker(than other: Requirement) -> Bool {
            switch (self, other) {
            case (.builtin, .builtin): false
            case (.builtin, _): other.strength > 0
            default: self.strength < other.strength
            }
        }
    }

    /// The requirements for a name: of devices outside the candidate's reach, and of those inside.
    private struct Held {
        var baseline: Requirement
        /// Nil where there is no candidate.
        var candidate: (requirement: Requirement, reach: CandidateReach)?

        init(_ requirement: Requirement) { self.baseline = requirement }

        init(_ pattern: HostPattern, _ host: Host, _ app: App) {
            self.baseline = Requirement(host[.baseline])
            self.candidate = host.candidate.map { (.mode($0.mode), CandidateReach(of: pattern, host, in: app)) }
        }
    }

    /// Whether some device gets less now.
    private static func isWeaker(_ was: Held, _ now: Held) -> Bool {
        if now.baseline.isWeaker(than: was.baseline) { return true }
        if let candidate = now.candidate {
            // A weaker candidate counts before its rollout begins: it is what the rollout will give.
            let isWeaker = candidate.requirement.isWeaker(than: (was.candidate?.requirement ?? was.baseline))
            if isWeaker { return true }
            // Devices that come inside.
            if candidate.requirement.isWeaker(than: was.baseline),
                was.candidate.map({ !candidate.reach.isWithin($0.reach) }) ?? true
            {
                return true
            }
        }
        // Devices that come outside.
        if let candidate = was.candidate, now.baseline.isWeaker(than: candidate.requirement) {
            return now.candidate.map { !candidate.reach.isWithin($0.reach) } ?? !candidate.reach.isEmpty
        }
        return false
    }

    /// The hosts of an app by the names that they hold for.
    private struct Covering {
        private let app: App
        private let hosts: [(pattern: HostPattern, host: Host)]
        private let index: HostIndex
        private let builtin: Set<String>

        init(_ app: App) {
            self.app = app
            self.hosts = app.hosts.map { ($0.key, $0.value) }
            self.index = HostIndex(app.hosts.map { ($0.key, $0.value.includesSubdomains) })
            self.builtin = app.fallback.usesBuiltinPins ? Set(app.fallback.hosts.map(\.text)) : []
        }

        /// The pattern that holds for a name; nil for none.
        func pattern(of name: String) -> HostPattern? { self.index.place(of: name).map { self.hosts[$0].pattern } }

        func held(of name: String) -> Held {
            guard let place = self.index.place(of: name) else {
                let wildcard = name.firstIndex(of: ".").map { "*\(name[$0...])" }
                let isBuiltin = self.builtin.contains(name) || wildcard.map(self.builtin.contains) == true
                return Held(isBuiltin ? .builtin : .nothing)
            }
            return Held(self.hosts[place].pattern, self.hosts[place].host, self.app)
        }
    }
}

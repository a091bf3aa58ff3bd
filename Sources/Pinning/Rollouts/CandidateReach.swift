import PinWire

/// The devices that get a host's candidate: those inside the version gate, the app's rollout and the host's.
///
/// Sets are compared by what is set, not by devices: ``isWithin(_:)`` never says that one set is within another where it is not, and
/// may miss it where two settings mean the same in different words.
struct CandidateReach {
    /// Nil where every device is inside.
    var gate: VersionGate?
    /// The app's rollout and the host's, with their salts; nil where every device is in.
    var rollouts: [Rollout?]

    init(of pattern: HostPattern, _ host: Host, in app: App) {
        self.init(
            gate: app.versionGate,
            rollouts: [
                app.rollout?.salted("app:\(app.id)", revision: app.rolloutRevision),
                host.rollout?.salted("host:\(pattern)", revision: host.rolloutRevision),
            ])
    }

    init(gate: VersionGate?, rollouts: [Rollout?]) {
        self.gate = gate
        self.rollouts = rollouts
    }

    /// Whether no device is in.
    var isEmpty: Bool { self.rollouts.contains { $0?.isEmpty == true } }

    /// Whether each of its devices is also one of another's.
    func isWithin(_ other: CandidateReach) -> Bool {
        if self.isEmpty { return true }
        return Self.isWithin(self.gate, other.gate)
            && zip(self.rollouts, other.rollouts).allSatisfy { Self.isWithin($0, $1) }
    }

    private static func isWithin(_ gate: VersionGate?, _ other: VersionGate?) -> Bool {
        guard let other else { return true }
        guard let gate else { return other.isOpen }
        func holds<Bound>(_ bound: Bound?, _ other: Bound?, _ isStricter: (Bound, Bound) -> Bool) -> Bool {
            guard let other else { return true }
            return bound.map { isStricter($0, other) } ?? false
        }
        return holds(gate.minimum, other.minimum) { $0 >= $1 } && holds(gate.maximum, other.maximum) { $0 <= $1 }
            && holds(gate.minimumBuild, other.minimumBuild) { $0 >= $1 }
            && Set(other.excluded).isSubset(of: gate.excluded)
    }

    private static func isWithin(_ rollout: Rollout?, _ other: Rollout?) -> Bool {
        guard let other else { return true }
        guard let rollout else { return false }
        return rollout.isEmpty || rollout.isWithin(other)
    }
}

extension Rollout {
    /// Whether no device is in: none is drawn, and none is listed.
    fileprivate var isEmpty: Bool { self.whitelist.isEmpty && self.drawsNobody }

    private var drawsNobody: Bool { self.method == .whitelist || self.basisPoints == 0 }

    /// Whether each device that is in is also in another one, which draws from the same ids in the same way.
    fileprivate func isWithin(_ other: Rollout) -> Bool {
        // Texts may count as equal without having the same bytes, and the bytes are hashed.
        guard self.salt.map({ Array($0.utf8) }) == other.salt.map({ Array($0.utf8) }), self.seed == other.seed,
            Set(other.exclusions).isSubset(of: self.exclusions), Set(self.whitelist).isSubset(of: other.whitelist)
        else { return false }
        if self.drawsNobody { return true }
        guard self.bucketing == other.bucketing, self.basisPoints <= other.basisPoints else { return false }
        return switch (self.method, other.method) {
        case (_, .percentage): true
        case (.geography, .geography): Set(self.countries).isSubset(of: other.countries)
        case (.percentage, .whitelist), (.percentage, .geography), (.geography, .whitelist), (.whitelist, .whitelist),
            (.whitelist, .geography):
            false
        }
    }
}

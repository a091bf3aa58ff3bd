package import PinWire

/// One host pattern of an app.
package struct Host: Hashable, Sendable {
    package var includesSubdomains: Bool
    package var baseline: Baseline
    package var candidate: Policy?
    package var rollout: Rollout?
    /// The app's version when the rollout was last edited; makes the salt of one that is not sticky.
    package var rolloutRevision: Int64
    /// The plan that the rollout follows, or the last one that it followed.
    package var plan: RolloutPlan?
    /// Since when the candidate stands rolled back; nil where it does not.
    package var rolledBackAt: Timestamp?
    package var killSwitch: KillSwitch?
    /// When the last one ended that was released; nil where none was.
    package var switchEndedAt: Timestamp?
    /// The services that are probed for this pattern; nil for those that follow from the pattern itself.
    package var endpoints: [Endpoint]?

    package init(includesSubdomains: Bool, baseline: Baseline) {
        self.includesSubdomains = includesSubdomains
        self.baseline = baseline
        self.candidate = nil
        self.rollout = nil
        self.rolloutRevision = 0
        self.plan = nil
        self.rolledBackAt = nil
        self.killSwitch = nil
        self.switchEndedAt = nil
        self.endpoints = nil
    }

    /// Takes in that the candidate is gone, with its rollout and plan.
    mutating func loseCandidate(at time: Timestamp) {
        self.candidate = nil
        self.rollout = nil
        self.rolledBackAt = nil
        self.plan?.end(at: time)
    }

    /// The most services of one pattern.
    package static let endpointLimit = 20

    /// The probed services: the named ones, or the one on HTTPS's port; none for a wildcard, until one is named.
    package func probed(of pattern: HostPattern) -> [Endpoint] {
        self.endpoints?.filter(\.isProbed) ?? Endpoint(host: pattern).map { [$0] } ?? []
    }

    /// The policy in a slot; nil for a baseline of built-in pins and for no candidate.
    package subscript(slot: PolicySlot) -> Policy? {
        get {
            switch slot {
            case .candidate: return self.candidate
            case .baseline:
                guard case .policy(let policy) = self.baseline else { return nil }
                return policy
            }
        }
        _modify {
            switch slot {
            case .candidate: yield &self.candidate
            case .baseline:
                // Taken out and put back, so that a change is made to the pins in place and not to a copy of them.
                var policy = self[.baseline]
                self.baseline = .builtin
                defer { self.baseline = policy.map { .policy($0) } ?? .builtin }
                yield &policy
            }
        }
    }
}

package import PinWire

/// The sources of decisions' inputs beside state and command.
package struct DecisionEnvironment: Sendable {
    /// The real Public Suffix List's answer for a domain in A-labels.
    package var isPublicSuffix: @Sendable (String) -> Bool
    /// The external facts at the moment. Must not wait.
    package var facts: @Sendable () -> ExternalFacts
    /// The highest ``FeatureLevel`` that the program knows.
    package var knownLevel: Int64

    package init(
        facts: @escaping @Sendable () -> ExternalFacts = { ExternalFacts() }, knownLevel: Int64 = FeatureLevel.known,
        isPublicSuffix: @escaping @Sendable (String) -> Bool
    ) {
        self.facts = facts
        self.knownLevel = knownLevel
        self.isPublicSuffix = isPublicSuffix
    }

    /// What a decision at `now` may know: the facts are those of this moment. Who commands adds a reason and insistence.
    package func context(at now: Timestamp, actor: Actor.Kind = .token) -> DecisionContext {
        DecisionContext(
            now: now, reason: nil, isForced: false, facts: self.facts(), actor: actor, knownLevel: self.knownLevel,
            isPublicSuffix: self.isPublicSuffix)
    }
}

/// The inputs of a decision beside state and command.
package struct DecisionContext: Sendable {
    /// The instant of the decision.
    package var now: Timestamp
    package var reason: Reason?
    /// Whether the actor uses force where a guard rail can be overridden.
    package var isForced: Bool
    /// The real Public Suffix List's answer for a domain in A-labels.
    package var isPublicSuffix: @Sendable (String) -> Bool
    /// The external facts.
    package var facts: ExternalFacts
    /// The kind of the deciding principal.
    package var actor: Actor.Kind
    /// Who commands; nil for a question that the server asks itself, which needs no permission.
    package var commander: Actor?
    /// What the commander may do whatever the state says of it: the author's rights when a change is applied.
    var standingRights: Rights?
    /// Whether the command is part of a proposed change, whose approvals are counted as a whole.
    var isPlanned = false
    /// What the commander may do in the state on which the command is decided.
    package private(set) var rights = Rights.everything
    /// What holds for every app.
    package private(set) var fleet = Fleet()
    /// The highest ``FeatureLevel`` that the program knows.
    package var knownLevel: Int64
    /// Whether a configuration that clients already have is taken over.
    package var isImport: Bool
    /// The judged rails: all, except in a test of each one's benefit.
    package var rails: Set<GuardRail>

    package init(
        now: Timestamp, reason: Reason?, isForced: Bool, facts: ExternalFacts = ExternalFacts(),
        actor: Actor.Kind = .token, knownLevel: Int64 = FeatureLevel.known,
        isImport: Bool = false, rails: Set<GuardRail> = Set(GuardRail.allCases),
        isPublicSuffix: @escaping @Sendable (String) -> Bool
    ) {
        self.now = now
        self.reason = reason
        self.isForced = isForced
        self.isPublicSuffix = isPublicSuffix
        self.facts = facts
        self.actor = actor
        self.knownLevel = knownLevel
        self.isImport = isImport
        self.rails = rails
    }

    /// The same, with what holds for every app.
    func knowing(fleet: Fleet) -> DecisionContext {
        var context = self
        context.fleet = fleet
        return context
    }

    /// The same, with what the commander may do.
    func knowing(_ access: Access) -> DecisionContext {
        guard let commander else { return self }
        var context = self
        context.rights = self.standingRights ?? access.rights(of: commander, at: self.now)
        return context
    }

    /// What documents' versions have beyond the events of their apps.
    var versionOffset: Int64 { self.fleet.versionOffset }

    /// Whether the actor uses force, and has given a reason.
    var insists: Bool { self.isForced && self.reason != nil }

    /// Refuses unless a reason was given for `what`, a clause that follows "because".
    func requireReason(_ what: String) throws(Refusal) {
        guard self.reason != nil else { throw .reasonRequired(what) }
    }
}

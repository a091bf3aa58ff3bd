package import PinWire

/// What a decision may know besides state and command.
package struct DecisionContext: Sendable {
    /// The instant of the decision.
    package var now: Timestamp
    package var reason: Reason?
    /// Whether the actor insists where a guard rail can be overridden.
    package var isForced: Bool
    /// The real Public Suffix List's answer for a domain in A-labels.
    package var isPublicSuffix: @Sendable (String) -> Bool

    package init(
        now: Timestamp, reason: Reason?, isForced: Bool, isPublicSuffix: @escaping @Sendable (String) -> Bool
    ) {
        self.now = now
        self.reason = reason
        self.isForced = isForced
        self.isPublicSuffix = isPublicSuffix
    }

    /// Refuses unless a reason was given for `what`, a clause that follows "because".
    func requireReason(_ what: String) throws(Refusal) {
        guard self.reason != nil else { throw .reasonRequired(what) }
    }
}

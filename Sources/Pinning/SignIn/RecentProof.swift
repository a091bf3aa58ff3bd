package import PinWire

// What a browser's session may do only soon after its person proved who they are: a stolen cookie is not to give power away.

extension SessionOrigin {
    /// How long a proof is recent, in seconds.
    package static let recentSeconds: Int64 = 15 * 60

    /// Whether the person proved lately who they are. A provider that does not say when says nothing: it may have answered for a
    /// session of its own that is days old.
    package func isProofRecent(at now: Timestamp) -> Bool {
        self.authenticatedAt.map { now < $0.adding(seconds: Self.recentSeconds) } ?? false
    }
}

extension Permission {
    /// Whether its use weakens protection or gives power away, so that a browser's session needs a recent proof for it. Engaging a kill
    /// switch never waits.
    var needsRecentProof: Bool {
        switch self {
        case .archiveApps, .weakenProtection, .manageClientKeys, .releaseKillSwitches, .changeGuardRails,
            .overrideGuardRails, .manageAccess, .approveChanges, .bypassApprovals, .manageApprovals, .changeFleet,
            .manageKeys, .manageWebhooks, .manageLog:
            true
        case .readApps, .createApps, .changeApps, .manageTelemetryKeys, .manageCalendarFeeds, .engageKillSwitches,
            .readHistory, .runProbes, .readAccess, .readChanges, .readFleet, .readKeys, .readWebhooks, .readLog,
            .readAudit:
            false
        }
    }
}

extension Access {
    /// Refuses what needs a recent proof to a browser's session that has none.
    ///
    /// - Throws: ``Refusal/proofNotRecent(seconds:)``.
    func checkProofIsRecent(
        for command: Command, _ decision: Decision, in context: DecisionContext
    ) throws(Refusal) {
        guard let id = context.commander?.id, let origin = self.tokens[id]?.terms?.origin, origin.isForBrowser,
            !origin.isProofRecent(at: context.now), !decision.events.isEmpty,
            command.needsRecentProof
                || decision.uses.union(decision.plannedUses).contains(where: \.permission.needsRecentProof)
        else { return }
        throw .proofNotRecent(seconds: SessionOrigin.recentSeconds)
    }
}

extension Command {
    /// Whether it needs a recent proof whatever its effects are.
    fileprivate var needsRecentProof: Bool {
        switch self {
        // A token outside the browser, from which the cookie could not be told any more.
        case .access(.issueToken): true
        case .webhooks, .log: true
        case .change(let command):
            switch command {
            case .approve, .bypass, .review: true
            case .create, .edit, .propose, .reject, .withdraw, .apply, .applyDue, .suspend: false
            }
        case .app, .watch, .telemetryKey, .publication, .fleet, .keys, .access, .audit: false
        }
    }
}

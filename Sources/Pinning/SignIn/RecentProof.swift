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
    package var needsRecentProof: Bool {
        switch self {
        case .archiveApps, .weakenProtection, .manageClientKeys, .manageTelemetryKeys, .manageCalendarFeeds,
            .releaseKillSwitches, .changeGuardRails, .overrideGuardRails, .manageAccess, .approveChanges,
            .bypassApprovals, .manageApprovals, .changeFleet, .manageKeys, .manageWebhooks, .manageLog:
            true
        case .readApps, .createApps, .changeApps, .engageKillSwitches, .readHistory, .runProbes, .readAccess,
            .readChanges, .readFleet, .readKeys, .readWebhooks, .readLog, .readAudit:
            false
        }
    }
}

extension Access {
    /// Refuses what needs a recent proof to a browser's session that has none.
    ///
    /// - Throws: ``Refusal/proofNotRecent(seconds:)``.
    func checkProofIsRecent(for decision: Decision, in context: DecisionContext) throws(Refusal) {
        guard decision.needsRecentProof, !decision.events.isEmpty, let id = context.commander?.id,
            let origin = self.tokens[id]?.terms?.origin, origin.isForBrowser, !origin.isProofRecent(at: context.now)
        else { return }
        throw .proofNotRecent(seconds: SessionOrigin.recentSeconds)
    }
}

extension Command {
    /// Whether it needs a recent proof, also where it uses no permission of which rules ask for approvals.
    ///
    /// The decisions on proposed changes say it themselves: it depends on what the change does.
    func needsRecentProof(using uses: Set<PermissionUse>) -> Bool {
        if uses.contains(where: \.permission.needsRecentProof) { return true }
        switch self {
        // Ending a token waits for nothing. Everything else decides who may do what.
        case .access(.revokeToken), .access(.identity(.signIn)), .access(.identity(.redeem)): return false
        case .access, .webhooks, .log, .keys: return true
        case .fleet(.raiseFeatureLevel): return true
        // Its secret outlives the session.
        case .telemetryKey(_, .add): return true
        case .change(.approve), .change(.bypass), .change(.review): return true
        case .app, .watch, .telemetryKey, .publication, .fleet, .change, .audit: return false
        }
    }
}

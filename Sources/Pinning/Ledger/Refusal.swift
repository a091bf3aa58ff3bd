package import PinWire

/// Every reason for which a well-formed command can be refused.
///
/// Thrown by `decide`; the server maps each case to one problem type, status and advice (`Problem+Failures.swift`),
/// checked by the compiler.
package enum Refusal: Error, Hashable, Sendable {
    case appExists(AppID)
    case appUnknown(AppID)
    /// It takes no change.
    case appArchived(AppID)
    case hostExists(HostPattern)
    case hostUnknown(HostPattern)
    case publicSuffix(HostPattern)
    case tooManyHosts(limit: Int)
    case documentTooLarge(bytes: Int, limit: Int)

    case pinExists(Pin, PinState)
    case pinUnknown(Pin)
    case pinNotStaged(Pin, PinState)
    case pinNotInUse(Pin, PinState)
    case pinRevoked(Pin)
    case pinPlaceholder(Pin, Pin.Placeholder)
    case tooManyPins(limit: Int)
    case tooFewPins(HostPattern, PolicySlot, active: Int)
    case noBackupPin(HostPattern, PolicySlot)
    case lastBackupPin(HostPattern, PolicySlot)

    /// Guard rails refuse it: findings, the most severe first.
    case guarded([Finding])
    case guardRailFixed(GuardRail)

    case rotationExists(String)
    case rotationUnknown(String)
    case rotationPhase(String, Rotation.Phase)
    case rotationUnderWay(HostPattern, String)
    case rotationWithoutOldKey(HostPattern)
    case rotationWithoutNextKey(HostPattern, String)
    case tooManyRotations(limit: Int)
    case tooManyEndpoints(limit: Int)
    case keyNotPinned(Pin)

    /// A change that is to be put back cannot be.
    case notRevertible(Reversal.Obstacle)
    /// A later change set the same parts as one that is to be put back.
    case changedSince([ChangedPart])

    case baselineIsBuiltin(HostPattern)
    case candidateExists(HostPattern)
    case candidateMissing(HostPattern)

    case rolloutPlanUnknown(HostPattern?)
    case rolloutUnplannable(HostPattern?, RolloutObstacle)
    case rolloutPlanState(HostPattern?, RolloutPlanState)
    /// A plan that is under way sets the rollout's share.
    case rolloutPlanned(HostPattern?)
    case rolloutRolledBack(HostPattern, since: Timestamp)
    /// Its lists hold hashes under a salt that is unknown before it is recorded.
    case rolloutWithoutSalt(HostPattern?)

    case reasonRequired(String)
    case expiryNotAhead(Timestamp)
    case expiryTooFar(Timestamp, limit: Timestamp)
    case killSwitchNotEngaged(KillSwitchScope)
    case tooManyKillSwitches(limit: Int)

    case keyExists(String)
    case keyUnknown(String)
    case keyNotAnnounced(String, SigningKeyState)
    case keyTooYoung(String, until: Timestamp)
    case keyInUse(String)
    case keyStillTrusted(String, until: Timestamp)
    case keyRetired(String)
    case rootVersion(Int64, expected: Int64)
    /// Too few keys of the root of this version have signed it.
    case rootUnsigned(rootVersion: Int64, signatures: Int, needed: Int)
    case rootExpired(Timestamp)

    /// The commander lacks the permission there.
    case permissionMissing(Permission, PermissionReach)
    /// It gives more than who gives it has.
    case grantTooWide(Grant)
    /// A token is to be accepted from where the one that makes it is not.
    case networksTooWide
    case roleUnknown(RoleName)
    /// Every installation has it as it is.
    case roleFixed(RoleName)
    case roleInUse(RoleName)
    case tooManyRoles(limit: Int)
    case principalExists(String)
    case principalUnknown(String)
    case principalSuspended(String)
    case tooManyPrincipals(limit: Int)
    case grantExists(String)
    case grantUnknown(String)
    case tooManyGrants(limit: Int)
    /// The grants of one principal, or one token, name too many apps and hosts.
    case tooManyPatterns(limit: Int)
    case tooManyTokens(limit: Int)
    case tokenExists(String)
    case tokenUnknown(String)
    case tokenRevoked(String)

    case approvalRuleUnknown(RoleName)
    /// A manager of some apps alone gives a rule a name that a rule on other apps may have.
    case approvalRuleMisnamed(RoleName, instead: RoleName)
    case tooManyApprovalRules(limit: Int)
    /// Fewer people could give the approvals that a rule asks for than it asks for, without who sets it.
    case tooFewApprovers(needed: Int, present: Int)
    case freezeExists(String)
    case freezeUnknown(String)
    case tooManyFreezes(limit: Int)

    case identityProviderUnknown(RoleName)
    /// Its issuer cannot be another one.
    case identityProviderFixed(RoleName)
    /// Another provider has the issuer.
    case issuerTaken(by: RoleName)
    /// Rules admit its identities.
    case identityProviderInUse(RoleName)
    case tooManyIdentityProviders(limit: Int)
    case signInRuleUnknown(RoleName)
    /// It would admit the identities of everyone at a provider that is open to all.
    case signInRuleTooOpen(RoleName)
    case tooManySignInRules(limit: Int)
    case identityUnknown(String)
    /// It is another principal's.
    case identityTaken(String)
    case tooManyIdentities(limit: Int)
    /// It would be admitted if it were linked to a principal.
    case identityUnlinked(String)
    /// No rule admits the identity, or its principal is suspended.
    case signInDenied
    case identityTokenUsed
    /// A browser's session asks for something that needs a proof of who its person is from the last `seconds`.
    case proofNotRecent(seconds: Int64)
    /// It is unknown, used, over, or of a suspended principal.
    case codeInvalid

    /// Rules ask for approvals: it must be proposed.
    case approvalRequired([ApprovalRule])
    /// A freeze stands against it.
    case frozen(String, until: Timestamp)
    /// It cannot be part of a proposed change.
    case commandNotProposable
    case changeExists(String)
    case changeUnknown(String)
    case changeIsDraft(String)
    case changeClosed(String, ProposedChange.Status)
    /// Only those who wrote it do this.
    case changeOfOthers(String)
    /// Its content is another than the one that was looked at.
    case changeContentStale(String)
    /// Something else would happen now than was written down.
    case changeConflict(String)
    case changeWithoutEffect
    case changeNotDue(String, Timestamp)
    case changeNeedsNoReview(String)
    case approvalsMissing(String, [ApprovalNeed])
    case approverNotPerson
    case approvalUnsigned(String)
    case approvalKeyUnknown(String)
    /// It is another person's.
    case approvalKeyTaken(String)
    case tooManyApprovalKeys(limit: Int)
    case approvalOfOwnChange(String)
    /// Its author is a token that belongs to no person or service account.
    case proposerNotPrincipal
    case tooManyCommands(limit: Int)
    case tooManyChanges(limit: Int)
    case tooManyContributors(limit: Int)

    case webhookExists(String)
    case webhookUnknown(String)
    case tooManyWebhooks(limit: Int)

    /// The log has this name already.
    case logOpen(LogName)
    case logNotOpen
    case logKeyLast(String)
    case tooManyLogKeys(limit: Int)
    case witnessExists(String)
    case witnessUnknown(String)
    case tooManyWitnesses(limit: Int)
    /// More witnesses would have to cosign than there are.
    case quorumUnreachable(Int64, of: Int)

    /// The number of the epoch to begin is not above the present one's.
    case epochNotAhead(Int64, present: Int64)
    case raiseOutOfRange(Int64, limit: Int64)
    case featureLevelPassed(Int64, present: Int64)
    case featureLevelUnknown(Int64, known: Int64)
    /// An event of this type may be recorded only from a higher ``FeatureLevel`` on.
    case featureLevelTooLow(type: String, needed: Int64, present: Int64)

    case telemetryKeyExists(String)
    case telemetryKeyUnknown(String)
    case telemetryKeyRetired(String)
    case tooManyTelemetryKeys(limit: Int)

    case clientUnknown(AppID, ClientKind)
    case clientKeyInUse(ClientKind)
    case clientKeyUnfit(ClientKind, ClientKeyAlgorithm)
    /// Another app writes the parameter of the project.
    case firebaseParameterTaken(AppID, parameter: String, project: String)
}

extension Refusal {
    /// The guard rail that a refusal belongs to; nil where there is none, or it names its findings itself.
    package var rail: GuardRail? {
        switch self {
        case .publicSuffix: .wildcard
        case .pinPlaceholder: .placeholder
        case .tooFewPins: .twoPins
        case .noBackupPin, .lastBackupPin: .backupNotServed
        case .keyTooYoung, .keyStillTrusted: .signingKeyOverlap
        default: nil
        }
    }
}

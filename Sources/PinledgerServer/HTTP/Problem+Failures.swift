import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Postgres
import Publishing
import Secrets
import Webhooks
import Witnesses

// The one place where errors of the layers below become an answer. The switches are exhaustive: a new refusal does not
// compile until it has its problem.

extension Problem {
    /// Any error at all. An unforeseen one reveals nothing.
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let failure as WriteFailure: self = Problem(failure)
        case let refusal as Refusal: self = Problem(refusal)
        case let defect as JSONDefect: self = Problem(defect)
        case let error as JSONSyntaxError:
            self.init(
                .malformedJSON, "\(error.message), at byte \(error.offset).",
                errors: [JSONDefect(pointer: error.pointer, message: error.message)]
            )
        case is NIOTooManyBytesError: self.init(.bodyTooLarge, "The body exceeds this operation's limit.")
        case let unavailable as SigningKeys.Unavailable: self.init(.noKeyEncryptionKey, "\(unavailable).")
        case let unavailable as CheckpointSource.Unavailable: self.init(unavailable)
        case let unavailable as SecretUnavailable: self.init(.noKeyEncryptionKey, "\(unavailable).")
        case WebhookServices.TestUnavailable.noClient: self.init(.noKeyEncryptionKey, "This node sends no webhooks.")
        case WebhookServices.TestUnavailable.overloaded:
            self.init(.overloaded, "Too many webhook tests are running.")
        case let error as PostgresError:
            switch error.code {
            case .poolExhausted, .timeout: self.init(.overloaded, "Too many requests wait for the database.")
            case .server("PL007"):
                self.init(
                    .eventsPruned, "Messages carry entries from the database, and some of these events are pruned.")
            case .server(let state) where Self.isStrain(state):
                self.init(.overloaded, "The database is out of time or resources for this request.")
            case .connectionFailed, .connectionLost, .outcomeUnknown, .poolClosed, .cancelled:
                self.init(.databaseUnavailable, "The database is unreachable.")
            default: self.init(.internalError, "An unexpected error occurred.")
            }
        case let behind as LedgerReader.Behind: self.init(.databaseUnavailable, "Repeat the request: \(behind).")
        // Thrown by what reads old events. A node whose own fold needs them has halted.
        case LedgerFault.pruned(let position, _):
            self.init(.eventsPruned, "The event at position \(position) is pruned: this node does not have its entry.")
        case is BundleDirectory.Unreadable: self.init(.eventsPruned, "An entry bundle cannot be read.")
        case let fault as LedgerFault: self.init(fault)
        case let error as HTTPError where error.status == .contentTooLarge:
            self.init(.bodyTooLarge, "The body exceeds this operation's limit.")
        default: self.init(.internalError, "An unexpected error occurred.")
        }
    }

    /// Whether an SQLSTATE says that the statement took too long or waited too long for a lock, that resources are short, or that
    /// it lost a deadlock.
    private static func isStrain(_ state: String) -> Bool {
        ["57014", "55P03", "40P01"].contains(state) || state.hasPrefix("53")
    }

    init(_ failure: WriteFailure) {
        switch failure {
        case .refused(let refusal): self = Problem(refusal)
        case .stale(let stream, let expected, let actual, let epoch):
            self.init(
                .staleVersion, "\(stream) is at version \(actual), but your change is for version \(expected).")
            self.headers[.eTag] = StreamTag.text(of: actual, in: epoch)
            self.members["current_version"] = .integer(actual)
        case .planStale:
            self.init(
                .planStale, "The events that your change would record now differ from those of the plan you sent.")
            self.members["code"] = .string(GuardRail.stalePlan.code)
        case .keyReused: self.init(.idempotencyKeyReused, "This idempotency key was used for another request.")
        case .tooLarge(let bytes):
            self.init(.eventTooLarge, "One event would have \(bytes) bytes; the limit is 65535.")
        case .unreadable(let why):
            self.init(.internalError, "Nothing was recorded: an event could not be read again: \(why).")
        case .overloaded: self.init(.overloaded, "Too many changes wait to be recorded.")
        case .unavailable(let why): self.init(.databaseUnavailable, "The change was not recorded: \(why).")
        case .suspended(let why): self.init(.clockWrong, "Nothing was recorded: \(why).")
        case .noKey:
            self.init(
                .noKeyEncryptionKey,
                "This node has no key-encryption key, or another key-encryption key than the one that authenticates the ledger's events."
            )
        case .outcomeUnknown:
            self.init(.outcomeUnknown, "The database did not confirm in time whether it recorded the change.")
        case .halted(let fault): self.init(fault)
        }
    }

    init(_ fault: LedgerFault) {
        let type: ProblemType =
            switch fault {
            case .needsUpgrade: .upgradeNeeded
            case .unsigned: .eventsUnsigned
            case .unread, .unconfirmed: .starting
            default: .halted
            }
        self.init(type, "\(fault).")
        if type == .starting { self.headers[.retryAfter] = "5" }
    }

    init(_ refusal: Refusal) {
        self.init(of: refusal)
        // A refusal without a finding still names its rail.
        if let rail = refusal.rail { self.members["code"] = .string(rail.code) }
    }

    private init(of refusal: Refusal) {
        switch refusal {
        case .appExists(let app): self.init(.appExists, "The app \(app) already exists.")
        case .appUnknown(let app): self.init(.appUnknown, "The app \(app) does not exist.")
        case .appArchived(let id):
            self.init(.appArchived, "The app \(id) is archived: it pins nothing and takes no changes.")
        case .hostExists(let host): self.init(.hostExists, "The app already has the host \(host).")
        case .hostUnknown(let host): self.init(.hostUnknown, "The app has no host \(host).")
        case .publicSuffix(let host):
            self.init(.publicSuffix, "\(host.name) \(host.sharedNameReason).")
        case .tooManyHosts(let limit): self.init(.limitReached, "An app may have at most \(limit) hosts.")
        case .documentTooLarge(let bytes, let limit):
            self.init(
                .limitReached, "The app's document would have \(bytes) bytes; the limit is \(limit).")
        case .pinExists(let pin, let state):
            self.init(.pinExists, "\(pin) is already in the policy, with the state \(state.rawValue).")
        case .pinUnknown(let pin): self.init(.pinUnknown, "The policy has no pin \(pin).")
        case .pinNotStaged(let pin, let state): self.init(.pinState, "\(pin) is \(state.rawValue), not staged.")
        case .pinNotInUse(let pin, let state): self.init(.pinState, "\(pin) is already \(state.rawValue).")
        case .pinRevoked(let pin): self.init(.pinRevoked, "\(pin) was revoked and can never be used again.")
        case .pinPlaceholder(let pin, let placeholder): self.init(.pinPlaceholder, placeholder.sentence(about: pin))
        case .tooManyPins(let limit):
            self.init(.limitReached, "A policy has at most \(limit) pins, including retired ones.")
        case .tooFewPins(let host, let slot, let active):
            self.init(
                .tooFewPins,
                "The \(slot.rawValue) of \(host) would enforce with \(active) active pin\(active == 1 ? "" : "s"): "
                    + "the loss of one key would lock every client out. At least two active pins are required."
            )
        case .noBackupPin(let host, let slot):
            self.init(.noBackupPin, "The \(slot.rawValue) of \(host) would enforce without an active backup pin.")
        case .lastBackupPin(let host, let slot):
            self.init(.lastBackupPin, "The \(slot.rawValue) of \(host) would be left without an active backup pin.")
        case .guarded(let findings): self.init(findings)
        case .guardRailFixed(let rail):
            self.init(.guardRailFixed, "\(rail.code) (\(rail.entry.title)) always applies and cannot be lowered.")
        case .rotationExists(let id): self.init(.rotationExists, "The rotation \(id) already exists.")
        case .rotationUnknown(let id): self.init(.rotationUnknown, "The rotation \(id) does not exist.")
        case .rotationPhase(let id, let phase):
            self.init(.rotationState, "The rotation \(id) is in the phase \(phase.rawValue).")
        case .rotationUnderWay(let host, let id):
            self.init(.rotationState, "\(host) is already in the rotation \(id), which is still in progress.")
        case .rotationWithoutOldKey(let host):
            self.init(.rotationKey, "\(host) has no active primary pin to replace.")
        case .rotationWithoutNextKey(let host, let id):
            self.init(.rotationKey, "The next key of the rotation \(id) is no longer published for \(host).")
        case .tooManyRotations(let limit):
            self.init(.limitReached, "An app may have at most \(limit) rotations in progress.")
        case .tooManyEndpoints(let limit): self.init(.limitReached, "A host may have at most \(limit) endpoints.")
        case .keyNotPinned(let pin): self.init(.keyNotPinned, "The app has no pin \(pin).")
        case .notRevertible(let obstacle): self.init(.notRevertible, obstacle.sentence)
        case .changedSince(let parts):
            let shown = parts.prefix(10).map(\.description) + (parts.count > 10 ? ["\(parts.count - 10) more"] : [])
            self.init(.changedSince, "Changed again since: \(shown.joined(separator: "; ")).")
        case .baselineIsBuiltin(let host):
            self.init(
                .baselineIsBuiltin,
                "The baseline of \(host) consists of the pins built into the app; it has no pins here.")
        case .candidateExists(let host): self.init(.candidateExists, "\(host) already has a candidate policy.")
        case .candidateMissing(let host): self.init(.candidateMissing, "\(host) has no candidate policy.")
        case .rolloutPlanUnknown(let host): self.init(.rolloutPlanUnknown, "\(Self.rollout(of: host)) has no plan.")
        case .rolloutUnplannable(let host, let obstacle):
            self.init(.rolloutState, "\(Self.rollout(of: host)) \(obstacle.clause).")
        case .rolloutPlanState(let host, let state):
            self.init(.rolloutState, "The plan of \(Self.rollout(of: host, isFirst: false)) \(state.clause).")
        case .rolloutPlanned(let host):
            self.init(
                .rolloutPlanned,
                "\(Self.rollout(of: host)) follows a plan: pause the plan, jump to another step, or clear it before you edit the share by hand."
            )
        case .rolloutRolledBack(let host, let time):
            self.init(.rolloutRolledBack, "The candidate of \(host) was rolled back at \(time).")
        case .rolloutWithoutSalt(let host):
            self.init(
                .saltRequired,
                "\(Self.rollout(of: host)) is not sticky and lists ids: each edit would change the salt, so that no listed id matches."
            )
        case .reasonRequired(let why): self.init(.reasonRequired, "This change needs a reason, because \(why).")
        case .expiryNotAhead(let time): self.init(.invalidExpiry, "\(time) is not in the future.")
        case .expiryTooFar(let time, let limit):
            self.init(.invalidExpiry, "\(time) is too far ahead; the latest time allowed now is \(limit).")
        case .killSwitchNotEngaged(let scope):
            self.init(.killSwitchNotEngaged, "No kill switch for \(scope) is engaged.")
        case .tooManyKillSwitches(let limit):
            self.init(
                .limitReached,
                "An app may have at most \(limit) kill switches for versions. Release one, or engage the app's switch.")
        case .keyExists(let kid): self.init(.keyExists, "The key \(kid) already exists.")
        case .keyUnknown(let kid): self.init(.keyUnknown, "The key \(kid) does not exist.")
        case .keyNotAnnounced(let kid, let state): self.init(.keyState, "The key \(kid) is \(state.rawValue).")
        case .keyTooYoung(let kid, let until):
            self.init(.keyOverlap, "Clients may not know the key \(kid) yet; it may sign from \(until).")
        case .keyInUse(let kid): self.init(.keyState, "The key \(kid) is the active signing key.")
        case .keyStillTrusted(let kid, let until):
            self.init(.keyOverlap, "Documents signed by \(kid) may still be in use; it may be retired from \(until).")
        case .keyRetired(let kid): self.init(.keyState, "The key \(kid) is already retired.")
        case .rootVersion(let version, let expected):
            self.init(
                .rootVersion, "The root of trust has the version \(version); the next one is \(expected).")
        case .rootUnsigned(let version, let signatures, let needed):
            self.init(
                .rootUnsigned,
                "\(signatures) of \(needed) keys that the root of version \(version) asks for have signed the root of trust."
            )
        case .rootExpired(let end): self.init(.rootExpired, "The root of trust ended at \(end).")
        case .permissionMissing, .grantTooWide, .networksTooWide, .roleUnknown, .roleFixed, .roleInUse, .tooManyRoles,
            .principalExists, .principalUnknown, .principalSuspended, .tooManyPrincipals, .grantExists, .grantUnknown,
            .tooManyGrants, .tooManyPatterns, .tooManyTokens, .tokenExists, .tokenUnknown, .tokenRevoked:
            self.init(access: refusal)
        case .approvalRuleUnknown, .approvalRuleMisnamed, .tooManyApprovalRules, .tooFewApprovers, .freezeExists,
            .freezeUnknown,
            .tooManyFreezes,
            .approvalRequired, .frozen, .commandNotProposable, .changeExists, .changeUnknown, .changeIsDraft,
            .changeClosed, .changeOfOthers, .changeContentStale, .changeConflict, .changeWithoutEffect, .changeNotDue,
            .changeNeedsNoReview, .approvalsMissing, .approverNotPerson, .approvalUnsigned, .approvalKeyUnknown,
            .approvalKeyTaken, .tooManyApprovalKeys, .approvalOfOwnChange, .proposerNotPrincipal,
            .tooManyCommands, .tooManyChanges, .tooManyContributors:
            self.init(change: refusal)
        case .issuerTaken, .identityUnlinked, .identityProviderUnknown, .identityProviderFixed, .identityProviderInUse,
            .tooManyIdentityProviders,
            .signInRuleUnknown, .signInRuleTooOpen, .tooManySignInRules, .identityUnknown, .identityTaken,
            .tooManyIdentities, .signInDenied, .identityTokenUsed, .proofNotRecent, .codeInvalid:
            self.init(signIn: refusal)
        case .webhookExists(let id): self.init(.webhookExists, "The webhook \(id) already exists.")
        case .webhookUnknown(let id): self.init(.webhookUnknown, "The webhook \(id) does not exist.")
        case .logOpen(let origin): self.init(.logExists, "The log is open already, under the name \(origin).")
        case .logNotOpen: self.init(.logNotOpen, "The ledger is not published as a log: it has no name and no key.")
        case .logKeyLast(let kid):
            self.init(.keyState, "The key \(kid) is the only one that signs the log: add another one first.")
        case .tooManyLogKeys(let limit):
            self.init(.limitReached, "At most \(limit) keys sign the log at the same time: retire one first.")
        case .witnessExists(let id): self.init(.witnessExists, "The witness with the key \(id) is there already.")
        case .witnessUnknown(let id): self.init(.witnessUnknown, "There is no witness with the key \(id).")
        case .tooManyWitnesses(let limit):
            self.init(.limitReached, "The log may have at most \(limit) witnesses: remove one first.")
        case .quorumUnreachable(let quorum, let count):
            self.init(
                .quorumUnreachable,
                "\(quorum) witness\(quorum == 1 ? "" : "es") would have to cosign, and \(count) would be asked.")
        case .epochNotAhead(let epoch, let present):
            self.init(.staleVersion, "The history is in epoch \(present) already, so epoch \(epoch) cannot begin.")
        case .raiseOutOfRange(let raise, let limit):
            self.init(
                .limitReached, "Versions can be raised by 1 to \(max(limit, 0)) at this point, and not by \(raise).")
        case .featureLevelPassed(let level, let present):
            self.init(.staleVersion, "The feature level is \(present) already, and cannot be lowered to \(level).")
        case .featureLevelUnknown(let level, let known):
            self.init(.featureLevelUnknown, "This program knows feature levels up to \(known), and not \(level).")
        case .featureLevelTooLow(let type, let needed, let present):
            self.init(
                .featureLevelTooLow,
                "\(type) may be recorded from the feature level \(needed) on, and the ledger is at \(present).")
        case .telemetryKeyExists(let id): self.init(.keyExists, "The key \(id) already exists.")
        case .telemetryKeyUnknown(let id): self.init(.keyUnknown, "The key \(id) does not exist.")
        case .telemetryKeyRetired(let id): self.init(.keyState, "The key \(id) is already retired.")
        case .tooManyTelemetryKeys(let limit):
            self.init(.limitReached, "An app may have at most \(limit) active keys for reports.")
        case .clientUnknown(let app, let kind):
            self.init(.clientUnknown, "\(app) has no clients of the kind \(kind.rawValue).")
        case .clientKeyInUse(let kind):
            self.init(.clientKey, "Installs of the kind \(kind.rawValue) have the current key built in.")
        case .clientKeyUnfit(let kind, let algorithm):
            self.init(
                .clientKey, "Answers to \(kind.rawValue) with these settings are not signed with \(algorithm.rawValue)."
            )
        case .firebaseParameterTaken(_, let parameter, let project):
            // The other app is not named: who asks may not see it.
            let message = "is already used by another app in the Firebase project \(project)"
            self.init(
                .invalidValue,
                "The parameter \(parameter) \(message): give each app a `firebase_app` of its own, or another `parameter`.",
                errors: [JSONDefect(pointer: JSONPointer(["settings", "parameter"]), message: message)])
        case .tooManyWebhooks(let limit): self.init(.limitReached, "At most \(limit) webhooks are allowed.")
        }
    }
}

extension Problem {
    /// The owner of a rollout, as the subject of a sentence.
    private static func rollout(of host: HostPattern?, isFirst: Bool = true) -> String {
        host.map { "\(isFirst ? "The" : "the") rollout of \($0)" } ?? "\(isFirst ? "The" : "the") app's rollout"
    }

    /// The problem of guard rails that refuse a change.
    ///
    /// - Parameter findings: At least one, the most severe first.
    private init(_ findings: [Finding]) {
        let gravest = findings.first
        self.init(.guardRail, gravest.map { "\($0.rail.code): \($0.detail)" } ?? "A guard rail refuses the change.")
        self.members["guard_rail_findings"] = .array(findings.map(\.json))
    }
}

extension Pin.Placeholder {
    /// Why the pin is implausible, as a sentence.
    ///
    /// - Parameter pin: A pin, or its text as it was written.
    func sentence(about pin: some CustomStringConvertible) -> String {
        switch self {
        case .pattern: "\(pin) is a typed pattern, not the SHA-256 of a key."
        case .emptyInput: "\(pin) is the SHA-256 of empty input: the command that computed it read no key."
        case .documentation(let source): "\(pin) is an example from \(source) documentation."
        }
    }
}

extension Problem {
    /// Why a node shows no checkpoint of the log.
    init(_ unavailable: CheckpointSource.Unavailable) {
        switch unavailable {
        case .halted(let fault): self.init(fault)
        case .notOpen: self.init(Refusal.logNotOpen)
        case .ended:
            self.init(
                .logNotOpen,
                "Events were lost, and the log of this name has shown others in their place. `pinledger recover` gives it another name."
            )
        case .notCosigned:
            self.init(.notCosigned, "No checkpoint has the cosignatures that the log's quorum asks for.")
        }
    }
}

import HTTPTypes

/// Every kind of refusal the API knows: the one error table.
///
/// The raw value is the stable name: `type` in a problem (RFC 9457) is `/problems/<name>`, which the server explains.
enum ProblemType: String, CaseIterable, Sendable {
    // The request itself
    case malformedRequest = "malformed_request"
    case malformedJSON = "malformed_json"
    case invalidValue = "invalid_value"
    case unknownParameter = "unknown_parameter"
    case invalidCursor = "invalid_cursor"
    case positionAhead = "position_ahead"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case bodyTooLarge = "body_too_large"
    case headersTooLarge = "headers_too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case notAcceptable = "not_acceptable"

    // The caller
    case tokenMissing = "token_missing"
    case tokenMalformed = "token_malformed"
    case tokenInvalid = "token_invalid"
    case permissionDenied = "permission_denied"
    case grantTooWide = "grant_too_wide"
    case identityTokenInvalid = "identity_token_invalid"
    case identityTokenUsed = "identity_token_used"
    case proofNotRecent = "proof_not_recent"
    case crossOriginRequest = "cross_origin_request"
    case notASession = "not_a_session"
    case codeInvalid = "code_invalid"
    case signInDenied = "sign_in_denied"
    case identityUnlinked = "identity_unlinked"
    case identityProviderUnavailable = "identity_provider_unavailable"
    case signatureInvalid = "signature_invalid"

    // Concurrency
    case staleVersion = "stale_version"
    case idempotencyKeyReused = "idempotency_key_reused"
    case eventTooLarge = "event_too_large"

    // The rules
    case appExists = "app_exists"
    case appUnknown = "app_unknown"
    case appArchived = "app_archived"
    case noDocumentProof = "no_document_proof"
    case hostExists = "host_exists"
    case hostUnknown = "host_unknown"
    case publicSuffix = "public_suffix"
    case limitReached = "limit_reached"
    case pinExists = "pin_exists"
    case pinUnknown = "pin_unknown"
    case pinState = "pin_state"
    case pinRevoked = "pin_revoked"
    case pinPlaceholder = "pin_placeholder"
    case tooFewPins = "too_few_pins"
    case noBackupPin = "no_backup_pin"
    case lastBackupPin = "last_backup_pin"
    case guardRail = "guard_rail"
    case guardRailFixed = "guard_rail_fixed"
    case planStale = "plan_stale"
    case rotationExists = "rotation_exists"
    case rotationUnknown = "rotation_unknown"
    case rotationState = "rotation_state"
    case rotationKey = "rotation_key"
    case rolloutPlanUnknown = "rollout_plan_unknown"
    case rolloutState = "rollout_state"
    case rolloutPlanned = "rollout_planned"
    case rolloutRolledBack = "rollout_rolled_back"
    case saltRequired = "salt_required"
    case keyNotPinned = "key_not_pinned"
    case uploadRefused = "upload_refused"
    case eventUnknown = "event_unknown"
    case notRevertible = "not_revertible"
    case changedSince = "changed_since"
    case baselineIsBuiltin = "baseline_is_builtin"
    case candidateExists = "candidate_exists"
    case candidateMissing = "candidate_missing"
    case reasonRequired = "reason_required"
    case invalidExpiry = "invalid_expiry"
    case killSwitchNotEngaged = "kill_switch_not_engaged"
    case keyExists = "key_exists"
    case keyUnknown = "key_unknown"
    case keyState = "key_state"
    case keyOverlap = "key_overlap"
    case rootUnknown = "root_unknown"
    case rootVersion = "root_version"
    case rootUnsigned = "root_unsigned"
    case rootExpired = "root_expired"
    case logExists = "log_exists"
    case logNotOpen = "log_not_open"
    case witnessExists = "witness_exists"
    case witnessUnknown = "witness_unknown"
    case quorumUnreachable = "quorum_unreachable"
    case featureLevelTooLow = "feature_level_too_low"
    case featureLevelUnknown = "feature_level_unknown"
    case olderNodes = "older_nodes"
    case roleUnknown = "role_unknown"
    case roleFixed = "role_fixed"
    case roleInUse = "role_in_use"
    case principalExists = "principal_exists"
    case principalUnknown = "principal_unknown"
    case principalSuspended = "principal_suspended"
    case grantExists = "grant_exists"
    case grantUnknown = "grant_unknown"
    case tokenExists = "token_exists"
    case tokenUnknown = "token_unknown"
    case tokenRevoked = "token_revoked"
    case approvalRequired = "approval_required"
    case approvalsMissing = "approvals_missing"
    case approversMissing = "approvers_missing"
    case approvalNotCounted = "approval_not_counted"
    case approvalUnsigned = "approval_unsigned"
    case approvalSignatureInvalid = "approval_signature_invalid"
    case approvalKeyUnknown = "approval_key_unknown"
    case approvalKeyTaken = "approval_key_taken"
    case approvalRuleUnknown = "approval_rule_unknown"
    case approvalRuleMisnamed = "approval_rule_misnamed"
    case identityProviderUnknown = "identity_provider_unknown"
    case identityProviderFixed = "identity_provider_fixed"
    case issuerTaken = "issuer_taken"
    case identityProviderInUse = "identity_provider_in_use"
    case signInRuleUnknown = "sign_in_rule_unknown"
    case signInRuleTooOpen = "sign_in_rule_too_open"
    case identityUnknown = "identity_unknown"
    case identityTaken = "identity_taken"
    case freezeExists = "freeze_exists"
    case freezeUnknown = "freeze_unknown"
    case frozen = "frozen"
    case changeExists = "change_exists"
    case changeUnknown = "change_unknown"
    case changeState = "change_state"
    case changeOfOthers = "change_of_others"
    case changeContentStale = "change_content_stale"
    case changeConflict = "change_conflict"
    case changeWithoutEffect = "change_without_effect"
    case changeNotProposable = "change_not_proposable"
    case proposerUnknown = "proposer_unknown"
    case webhookExists = "webhook_exists"
    case webhookUnknown = "webhook_unknown"
    case deliveryUnknown = "delivery_unknown"
    case importRefused = "import_refused"
    case clientUnknown = "client_unknown"
    case clientKey = "client_key"
    case clientKeyMissing = "client_key_missing"
    case clientKeyless = "client_keyless"
    case nothingToExport = "nothing_to_export"

    // The server
    case notPublished = "not_published"
    case notCosigned = "not_cosigned"
    case noKeyEncryptionKey = "no_key_encryption_key"
    case readOnly = "read_only"
    case clockWrong = "clock_wrong"
    case overloaded = "overloaded"
    case tooManyReports = "too_many_reports"
    case tooManyRequests = "too_many_requests"
    case databaseUnavailable = "database_unavailable"
    case outcomeUnknown = "outcome_unknown"
    case halted = "halted"
    case upgradeNeeded = "upgrade_needed"
    case eventsUnsigned = "events_unsigned"
    case starting = "starting"
    case eventsPruned = "events_pruned"
    case internalError = "internal_error"

    /// Status, title, and what to do next.
    var entry: (status: HTTPResponse.Status, title: String, advice: String) {
        switch self {
        case .malformedRequest:
            (.badRequest, "The request is malformed", "Correct the value that is named. Nothing was changed.")
        case .malformedJSON:
            (.badRequest, "The body is not valid JSON", "Correct the body at the place that is named.")
        case .invalidValue:
            (
                .unprocessableContent, "A value is invalid",
                "Correct the values that are named. Nothing was changed."
            )
        case .unknownParameter:
            (
                .badRequest, "Unknown query parameter",
                "Remove it, or correct its spelling; the known ones are listed."
            )
        case .invalidCursor:
            (
                .badRequest, "The cursor does not belong to this list",
                "Start the list again; a cursor goes only with the filters it came with."
            )
        case .positionAhead:
            (
                .conflict, "The position is beyond the end of the ledger",
                "Start again without a position. If the ledger was longer before, it was restored from a backup: tell its operator."
            )
        case .notFound: (.notFound, "Path not found", "Compare the path with /openapi.yaml.")
        case .methodNotAllowed:
            (.methodNotAllowed, "Method not allowed", "Use one of the methods that the header `Allow` lists.")
        case .bodyTooLarge: (.contentTooLarge, "The body is too large", "Send less than the limit that is named.")
        case .headersTooLarge:
            (
                .requestHeaderFieldsTooLarge, "The request's header is too large",
                "Send fewer or shorter fields, or a shorter target, within the limits that are named."
            )
        case .unsupportedMediaType:
            (
                .unsupportedMediaType, "The body has the wrong media type",
                "Send the type that is named; for most operations that is JSON with `Content-Type: application/json`."
            )
        case .notAcceptable:
            (.notAcceptable, "The answer has no acceptable representation", "Ask for the type that is named.")
        case .tokenMissing:
            (
                .unauthorized, "A token is required",
                "Send a token with `Authorization: Bearer pk_…`. The first one comes from `pinledger token bootstrap`, further ones from `pinledger token create NAME --role ROLE --app APP`, or for some hours from `pinledger login`."
            )
        case .tokenMalformed:
            (
                .unauthorized, "The token is malformed",
                "Copy the complete token: pk_, two or three letters, _ and 36 letters and digits."
            )
        case .tokenInvalid:
            (
                .unauthorized, "The token is not accepted",
                "It is wrong, expired or revoked, comes from a network that it is not bound to, or belongs to a suspended principal: sign in again (`pinledger login`), or ask an administrator."
            )
        case .permissionDenied:
            (
                .forbidden, "Your token does not have the permission",
                "See what your token may do with `pinledger whoami`, and ask an administrator for a role that has the permission (`pinledger access role list`)."
            )
        case .grantTooWide:
            (
                .forbidden, "You cannot give more than you have",
                "Give a narrower role, fewer apps or a shorter time, or ask an administrator who holds what you want to give."
            )
        case .signatureInvalid:
            (
                .unauthorized, "The report's signature is invalid",
                "Sign the body as sent, with an active key of the app and the current time. Or send the report unsigned: it then counts as advisory."
            )
        case .staleVersion:
            (
                .preconditionFailed, "The resource has changed since you read it",
                "Read the resource again, review what changed, and send your change with the version that you read: `If-Match`."
            )
        case .idempotencyKeyReused:
            (
                .unprocessableContent, "The idempotency key belongs to another request",
                "Use a new key for a new request; repeat a request exactly to get its first answer."
            )
        case .eventTooLarge:
            (
                .contentTooLarge, "The change is too large for one event",
                "Split the change, or shorten its lists, such as a long whitelist."
            )
        case .appExists:
            (
                .conflict, "The app already exists",
                "Change it (`pinledger app update APP --name NAME`), or choose another id."
            )
        case .appUnknown: (.notFound, "App not found", "List the apps with `pinledger app list`, or create the app.")
        case .noDocumentProof:
            (
                .notFound, "There is no proof of this document",
                "If it is not in the log yet, ask again in a second. Operators turn proofs of documents on with `pinledger log update --document-proofs`."
            )
        case .appArchived:
            (
                .conflict, "The app is archived",
                "Run `pinledger app unarchive APP` first, if the app is to be used again. To get its hosts back too, revert the change that archived it: `pinledger app revert APP POSITION`."
            )
        case .hostExists:
            (
                .conflict, "The host already exists",
                "Change the host: `pinledger host update APP HOST --mode MODE`."
            )
        case .hostUnknown:
            (.notFound, "Host not found", "List the hosts with `pinledger host list APP`, or add the host.")
        case .publicSuffix:
            (
                .unprocessableContent, "The name is nobody's own",
                "Name a host that is yours, such as api.example.com: a pin for a name that others share would apply to their hosts, too."
            )
        case .limitReached:
            (.unprocessableContent, "A limit is reached", "Remove entries that you no longer need, or split the app.")
        case .pinExists:
            (
                .conflict, "The policy already has this pin",
                "Change its role or state: `pinledger pin set-role APP HOST PIN --role ROLE`."
            )
        case .pinUnknown:
            (
                .notFound, "Pin not found",
                "List the pins with `pinledger pin list APP HOST`, and check host and policy."
            )
        case .pinState:
            (
                .conflict, "The pin's state does not allow this",
                "Check the pin's state. Only staged pins can be activated; only staged and active pins can be retired."
            )
        case .pinRevoked:
            (.conflict, "The pin is revoked", "The pin's key is compromised. Make a new key and add its pin.")
        case .pinPlaceholder:
            (
                .unprocessableContent, "The pin is a placeholder",
                "Compute the pin of your real key: openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"
            )
        case .tooFewPins:
            (
                .unprocessableContent, "Too few pins to enforce",
                "Add a pin of a second key, or set the mode to report_only first."
            )
        case .noBackupPin:
            (
                .unprocessableContent, "The policy has no backup pin",
                "Add a pin of a reserve key with the role backup or emergency."
            )
        case .lastBackupPin:
            (
                .conflict, "The pin is the last backup",
                "Add another backup first. If that is impossible, repeat it with `force` and a `reason`."
            )
        case .guardRail:
            (
                .unprocessableContent, "A guard rail refuses the change",
                "Do what the findings advise; `pinledger explain CODE` explains a rule. Severity `override` can be overridden with `force` and a `reason`, which is recorded; `block` cannot."
            )
        case .guardRailFixed:
            (
                .unprocessableContent, "The guard rail cannot be lowered",
                "Only rails of severity `override` can be lowered to a warning; `pinledger guard-rail list` lists them."
            )
        case .planStale:
            (
                .conflict, "The change is no longer the one shown in the dry run",
                "Something has changed since the dry run. Run it again, review the result, and send its `plan_hash`."
            )
        case .rotationExists:
            (
                .conflict, "The rotation already exists",
                "Choose another name; `pinledger rotation status APP` lists them."
            )
        case .rotationUnknown:
            (.notFound, "Rotation not found", "List the app's rotations with `pinledger rotation status APP`.")
        case .rotationState:
            (
                .conflict, "The rotation is in another phase",
                "Check its phase with `pinledger rotation status APP`. Another operator may have advanced or aborted it."
            )
        case .rotationKey:
            (
                .conflict, "A key that the rotation needs is missing",
                "Check the host's pins: a rotation needs an active primary pin to replace, and its next key published."
            )
        case .rolloutPlanUnknown:
            (
                .notFound, "The rollout has no plan",
                "Set a plan with `pinledger rollout plan set APP HOST --step PERCENT:HOLD`."
            )
        case .rolloutState:
            (
                .conflict, "The rollout's state does not allow this",
                "Check its progress and what it waits for with `pinledger rollout status APP`."
            )
        case .rolloutPlanned:
            (
                .conflict, "A plan controls the rollout",
                "Pause the plan with `pinledger rollout pause APP HOST`, jump to another step with `pinledger rollout jump APP HOST --step N`, or clear the plan with `pinledger rollout plan clear APP HOST`, which keeps the current share."
            )
        case .rolloutRolledBack:
            (
                .conflict, "The candidate was rolled back",
                "See why with `pinledger history`. To roll it out again, set a new plan or a new rollout."
            )
        case .saltRequired:
            (
                .unprocessableContent, "The rollout needs its own salt",
                "Set `salt`, and hash the ids of `whitelist` and `exclusions` with it; or make the rollout sticky."
            )
        case .keyNotPinned:
            (
                .notFound, "The app has no pin of this key",
                "Add the key's pin first; facts about a key are stored with its pin."
            )
        case .uploadRefused:
            (
                .unprocessableContent, "No pin can be derived from this upload",
                "Do what is said. Nothing of the upload was stored."
            )
        case .eventUnknown:
            (
                .notFound, "The app has no event at this position",
                "Take the position of one of the app's events from `pinledger history APP`."
            )
        case .notRevertible:
            (
                .unprocessableContent, "The change cannot be reverted",
                "Do what is said, or make the opposite change by hand. Nothing was changed."
            )
        case .changedSince:
            (
                .conflict, "Later changes set the same things",
                "Find the later changes with `pinledger history APP`. Revert them first, the last one before the others, or make the opposite change by hand."
            )
        case .baselineIsBuiltin:
            (
                .conflict, "The baseline is the pins built into the app",
                "Start a candidate, or give the baseline a mode first."
            )
        case .candidateExists: (.conflict, "The host already has a candidate", "Promote or drop it first.")
        case .candidateMissing:
            (
                .conflict, "The host has no candidate",
                "Start one first: `pinledger rollout start APP HOST --percent SHARE`."
            )
        case .reasonRequired:
            (.unprocessableContent, "A reason is required", "Say why with `reason`; it is recorded permanently.")
        case .invalidExpiry:
            (
                .unprocessableContent, "The expiry is out of range",
                "Choose a time in the future, within the limit that is named."
            )
        case .killSwitchNotEngaged: (.conflict, "The kill switch is not engaged", "There is nothing to release.")
        case .keyExists: (.conflict, "The key already exists", "Create another one.")
        case .keyUnknown: (.notFound, "Key not found", "List the keys with `pinledger key list`.")
        case .keyState:
            (
                .conflict, "The key's state does not allow this",
                "Only announced keys can be activated; activate another key before retiring the active one."
            )
        case .keyOverlap:
            (
                .conflict, "Clients may not know the key yet, or still need it",
                "Wait until the time that is named. In an emergency, repeat it with `force` and a `reason`."
            )
        case .rootUnknown:
            (.notFound, "No root of trust of this version", "Show the published ones with `pinledger root list`.")
        case .rootVersion:
            (
                .conflict, "The root of trust is not the next one",
                "Draft the root after the newest one: `pinledger root draft FILE --after PREVIOUS`. Apps take no version twice and skip none."
            )
        case .rootUnsigned:
            (
                .unprocessableContent, "The root of trust lacks signatures",
                "Sign it with `pinledger root sign FILE --key-file KEY`, by enough keys of the root before it and of its own; `pinledger root check FILE --after PREVIOUS` shows who is missing."
            )
        case .rootExpired:
            (
                .unprocessableContent, "The root of trust has ended",
                "Draft it with a later `--expires`, and sign it again."
            )
        case .logExists:
            (.conflict, "The log is open already", "Add a key with `pinledger log key add`; a log keeps its name.")
        case .logNotOpen: (.conflict, "The log is not open", "Open it with `pinledger log open NAME`.")
        case .witnessExists:
            (.conflict, "The witness already exists", "Remove it first to give it another address.")
        case .witnessUnknown: (.notFound, "Witness not found", "List the witnesses with `pinledger log witness list`.")
        case .quorumUnreachable:
            (
                .conflict, "The quorum is larger than the number of witnesses",
                "Add a witness, or set a smaller quorum with `pinledger log witness set-quorum COUNT`."
            )
        case .featureLevelTooLow:
            (
                .conflict, "The ledger's feature level is too low for this change",
                "Finish the upgrade: once all nodes run the later program, run `pinledger node raise-feature-level LEVEL`."
            )
        case .featureLevelUnknown:
            (
                .conflict, "This program does not know the feature level",
                "Upgrade the nodes first. `pinledger node list` shows the highest level that this program knows."
            )
        case .olderNodes:
            (
                .conflict, "Nodes with an earlier program run",
                "Upgrade or stop these nodes first. A node that was killed is counted for another minute. `force` raises the level all the same: these nodes then pause."
            )
        case .roleUnknown: (.notFound, "Role not found", "List the roles with `pinledger access role list`.")
        case .roleFixed:
            (
                .conflict, "The role cannot be changed",
                "Define a role of your own with `pinledger access role set NAME PERMISSION`."
            )
        case .roleInUse:
            (
                .conflict, "The role is in use",
                "Revoke the grants and tokens that have it first; `pinledger access list` shows them."
            )
        case .principalExists: (.conflict, "The principal already exists", "Repeat the request.")
        case .principalUnknown:
            (.notFound, "Principal not found", "List the principals with `pinledger access list`.")
        case .principalSuspended:
            (
                .conflict, "The principal is suspended",
                "Reinstate it first (`pinledger access reinstate ID`), if that is right."
            )
        case .grantExists: (.conflict, "The grant already exists", "Repeat the request.")
        case .grantUnknown: (.notFound, "Grant not found", "List the grants with `pinledger access list`.")
        case .tokenExists: (.conflict, "The token already exists", "Repeat the request.")
        case .tokenUnknown: (.notFound, "Token not found", "List the tokens with `pinledger token list`.")
        case .tokenRevoked: (.conflict, "The token is revoked", "There is nothing to revoke.")
        case .approvalRequired:
            (
                .forbidden, "Other people must approve this",
                "Propose it with `change=new`. In an emergency, who has the permission approvals.bypass makes it at once with `bypass_approvals=true`, and another person reviews it."
            )
        case .approvalsMissing:
            (
                .conflict, "Approvals are missing",
                "Ask people who may approve it; `pinledger change show ID` says by which rules, and who approved so far."
            )
        case .approversMissing:
            (
                .conflict, "Too few people could approve",
                "Grant the role approver, or one that the rule asks for, to more people first (`pinledger access grant ID approver --app PATTERN`)."
            )
        case .approvalNotCounted:
            (
                .forbidden, "Your approval would not count",
                "Ask another person: who wrote a part of a change does not approve it. Use a token that belongs to you as a person (`pinledger token create NAME --principal ID`)."
            )
        case .approvalUnsigned:
            (
                .forbidden, "The approval is not signed",
                "Sign it with your approval key: `pinledger change approve ID --key-file FILE` or `--ssh-agent`. If you have none, ask for it to be added (`pinledger access approval-key add ID --key-file FILE`)."
            )
        case .approvalSignatureInvalid:
            (
                .unprocessableContent, "The signature of the approval does not verify",
                "Sign what `pinledger change approve ID --statement` prints, in the namespace pinledger-approval, with an Ed25519 key that is one of your approval keys."
            )
        case .approvalKeyUnknown:
            (.notFound, "The approval key does not exist", "`pinledger access show ID` lists a person's approval keys.")
        case .approvalKeyTaken:
            (
                .conflict, "The approval key is another person's",
                "Each person has keys of their own, so that a signature tells who gave it. Make another key (`ssh-keygen -t ed25519`)."
            )
        case .identityTokenInvalid:
            (
                .unauthorized, "The identity token is not accepted",
                "Get a new identity token from the provider, for this server's audience, and sign in at once. If that does not help, compare the token's claims with `pinledger access provider list`."
            )
        case .identityTokenUsed:
            (
                .conflict, "The identity token was used already",
                "Get a new identity token: each gives one session. Where a job has only one, sign in once and keep the session's token for the whole job."
            )
        case .proofNotRecent:
            (
                .unauthorized, "This needs you to prove again who you are",
                "Sign in again at the provider, which has to ask you and to say when it did (max_age of OpenID Connect), and exchange the new identity token. Nothing else of your session is lost."
            )
        case .notASession:
            (
                .conflict, "The token is not a session's",
                "Only what a sign-in gave ends by a sign-out. End another token with `pinledger token revoke ID`."
            )
        case .crossOriginRequest:
            (
                .forbidden, "A page of another origin asks with your session",
                "If you wrote the page, serve it from this server's own origin. If you did not, the page tries to act in your name: close it, and sign out."
            )
        case .codeInvalid:
            (
                .unauthorized, "The code is not accepted",
                "A code works once, and for some minutes. Ask for another one (`pinledger token bootstrap NAME --code` on the server)."
            )
        case .signInDenied:
            (
                .forbidden, "No rule admits you",
                "Ask who manages access to compare your token's claims with the sign-in rules (`pinledger access sign-in list`), which are matched to the character."
            )
        case .identityUnlinked:
            (
                .forbidden, "The identity is linked to no principal",
                "Ask who manages access to link it: `pinledger access identity link PRINCIPAL --issuer URL --subject TEXT`."
            )
        case .issuerTaken:
            (
                .conflict, "The issuer is another provider's",
                "Give that provider the further audiences instead (`pinledger access provider set NAME --issuer URL --audience TEXT`)."
            )
        case .identityProviderUnavailable:
            (
                .serviceUnavailable, "The identity provider's keys cannot be had",
                "Try again in a minute. `pinledger access provider list` says why. Until then, an API token works."
            )
        case .identityProviderUnknown:
            (
                .notFound, "Identity provider not found",
                "List the identity providers with `pinledger access provider list`."
            )
        case .identityProviderFixed:
            (
                .conflict, "The issuer cannot be changed",
                "Add the new issuer under another name, with rules of its own, and remove this one."
            )
        case .identityProviderInUse:
            (
                .conflict, "The identity provider is in use",
                "Remove its sign-in rules first (`pinledger access sign-in remove NAME`)."
            )
        case .signInRuleUnknown:
            (.notFound, "Sign-in rule not found", "List the rules with `pinledger access sign-in list`.")
        case .signInRuleTooOpen:
            (
                .unprocessableContent, "The rule would admit strangers",
                "Add a claim that says whose identities it admits, such as sub, repository_owner_id, namespace_id or hd."
            )
        case .identityUnknown:
            (.notFound, "Identity not found", "List the identities with `pinledger access identity list`.")
        case .identityTaken:
            (
                .conflict, "The identity is another principal's",
                "Unlink it there first (`pinledger access identity unlink ID`)."
            )
        case .approvalRuleMisnamed:
            (
                .unprocessableContent, "The rule's name is not of its apps",
                "Give the rule the name that this refusal says. Who manages the approvals of all apps may give any name."
            )
        case .approvalRuleUnknown:
            (.notFound, "Approval rule not found", "List the rules with `pinledger access rule list`.")
        case .freezeExists: (.conflict, "The freeze already exists", "Repeat the request.")
        case .freezeUnknown: (.notFound, "Freeze not found", "List the freezes with `pinledger access freeze list`.")
        case .frozen:
            (
                .conflict, "The apps are frozen",
                "Wait until the freeze is over, or ask who manages approvals to remove it. A proposed change can be applied afterwards. In an emergency, `bypass_approvals=true` makes it at once."
            )
        case .changeExists: (.conflict, "The change already exists", "Repeat the request.")
        case .changeUnknown: (.notFound, "Change not found", "List the changes with `pinledger change list`.")
        case .changeState:
            (
                .conflict, "The change is not in a state for this",
                "See its state with `pinledger change show ID`. A change that is over is not opened again: propose another."
            )
        case .changeOfOthers:
            (
                .forbidden, "The change is not yours",
                "Only those who wrote a part of it withdraw or propose it; to edit it, others need `changes.approve`. Propose a change of your own."
            )
        case .changeContentStale:
            (
                .conflict, "The change has another content now",
                "Look at it again (`pinledger change show ID`), and send the `content_sha256` that it has now."
            )
        case .changeConflict:
            (
                .conflict, "The change would do something else now",
                "Something that it builds on has changed since. Look at what it would do now, and propose it again from the present state."
            )
        case .changeWithoutEffect:
            (
                .conflict, "The change changes nothing",
                "Everything already is as requested: nothing needs to be proposed."
            )
        case .changeNotProposable:
            (
                .conflict, "This cannot be part of a proposed change",
                "Send it by itself, without `change` and `bypass_approvals`."
            )
        case .proposerUnknown:
            (
                .forbidden, "Nobody could tell who proposes this",
                "Approvals need to know who wrote a change. Use a token that belongs to a person or a service account (`pinledger token create NAME --principal ID`)."
            )
        case .webhookExists: (.conflict, "The webhook already exists", "Repeat the request.")
        case .webhookUnknown:
            (.notFound, "Webhook not found", "List the webhooks with `pinledger webhook list`.")
        case .deliveryUnknown:
            (
                .notFound, "Delivery not found",
                "List the deliveries with `pinledger webhook deliveries ID`. To send older events, or events that the filters excluded, replay a range."
            )
        case .clientUnknown:
            (
                .notFound, "The app has no clients of this kind",
                "List the kinds with `pinledger client list APP`, or declare this one with `pinledger client set APP KIND`."
            )
        case .clientKey:
            (
                .conflict, "Installs would not accept the answers",
                "Installs accept nothing that another key signed. To replace the key anyway, repeat it with `force` and a `reason`; to change the protocol, remove the kind and declare it again."
            )
        case .clientKeyMissing:
            (
                .conflict, "The key for these clients is not set",
                "Set it with `pinledger client set-key APP KIND`: import the key that installs have built in, or let the server make one for new installs."
            )
        case .clientKeyless:
            (
                .conflict, "Answers to these clients are not signed",
                "Declare this kind without a key."
            )
        case .nothingToExport:
            (
                .conflict, "No file can be exported",
                "The hosts that prevent it are named, or why each is left out. A file has the pins of hosts that enforce, and of hosts that report if the format supports it. TrustKit supports no enforcing host with a single pin. For PEM, upload the keys themselves (`pinledger pin describe APP FILE`). A template for Firebase must have room for all hosts' pins and for each range of versions that a kill switch names."
            )
        case .importRefused:
            (.unprocessableContent, "The file cannot be imported", "Correct what is named. Nothing was recorded.")
        case .notPublished:
            (
                .serviceUnavailable, "The document is not published yet",
                "Try again in a moment. If the problem persists, no node has the signing key: run `pinledger doctor`."
            )
        case .notCosigned:
            (
                .serviceUnavailable, "Too few witnesses have cosigned a checkpoint yet",
                "Try again in a moment. If the problem persists, `pinledger log witness list` shows which witness does not answer."
            )
        case .noKeyEncryptionKey:
            (
                .serviceUnavailable, "This node cannot handle private keys",
                "Ask a node that was started with the ledger's present key-encryption key (--kek-file or PINLEDGER_KEK_FILE)."
            )
        case .readOnly:
            (
                .serviceUnavailable, "This node is read-only",
                "Send changes to a node that was started without --read-only."
            )
        case .clockWrong:
            (
                .serviceUnavailable, "This node's clock and the database's differ",
                "Send the change to another node, and synchronize both clocks with NTP. Documents are served meanwhile."
            )
        case .overloaded:
            (
                .serviceUnavailable, "The server is overloaded",
                "Repeat it after `Retry-After` seconds, with the same `Idempotency-Key`."
            )
        case .tooManyRequests:
            (.tooManyRequests, "Too many requests", "Use your current copy, and try again after `Retry-After` seconds.")
        case .tooManyReports:
            (.tooManyRequests, "Too many reports", "Keep the reports and send them after `Retry-After` seconds.")
        case .databaseUnavailable:
            (
                .serviceUnavailable, "The database is unreachable",
                "Nothing was recorded. Try again after `Retry-After` seconds. Documents are served meanwhile."
            )
        case .outcomeUnknown:
            (
                .serviceUnavailable, "The outcome of the change is unknown",
                "Repeat it with the same `Idempotency-Key`: the server returns the recorded answer, or records the change now."
            )
        case .halted:
            (
                .serviceUnavailable, "This node has stopped following the ledger",
                "The ledger in the database is not the one this node knows. Investigate before you restart the node: it still serves the last verified documents."
            )
        case .eventsUnsigned:
            (
                .serviceUnavailable, "The newest events are not signed",
                "Ask a node that has the key-encryption key. This one serves documents, and accepts tokens again once it knows a key that has signed the events: its line `end_unsigned` says more."
            )
        case .eventsPruned:
            (
                .serviceUnavailable, "The events are pruned",
                "Ask for newer events, ask a node that was started with `--bundles`, or have an operator put the entries back with `pinledger bundles restore DIRECTORY`. A replay of webhooks needs the entries in the database."
            )
        case .starting:
            (
                .serviceUnavailable, "The node is starting",
                "Try again after `Retry-After` seconds, or ask another node. This one still reads the ledger, and only serves documents, or is an edge that still fetches its upstream's; `/readyz` shows operators how far a node has come."
            )
        case .upgradeNeeded:
            (
                .serviceUnavailable, "This node's program is too old for the ledger",
                "Ask another node, or start the later program on this one. It serves documents meanwhile."
            )
        case .internalError:
            (
                .internalServerError, "The server failed unexpectedly",
                "Try again. If the problem persists, give the server's operator the request id: `instance`."
            )
        }
    }
}

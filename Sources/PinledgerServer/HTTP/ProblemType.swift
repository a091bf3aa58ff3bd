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

    // Who asks
    case tokenMissing = "token_missing"
    case tokenMalformed = "token_malformed"
    case tokenInvalid = "token_invalid"
    case signatureInvalid = "signature_invalid"

    // Concurrency
    case staleVersion = "stale_version"
    case idempotencyKeyReused = "idempotency_key_reused"
    case eventTooLarge = "event_too_large"

    // The rules
    case appExists = "app_exists"
    case appUnknown = "app_unknown"
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
    case tokenExists = "token_exists"
    case tokenUnknown = "token_unknown"
    case tokenRevoked = "token_revoked"
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
    case noKeyEncryptionKey = "no_key_encryption_key"
    case readOnly = "read_only"
    case clockWrong = "clock_wrong"
    case overloaded = "overloaded"
    case tooManyReports = "too_many_reports"
    case tooManyRequests = "too_many_requests"
    case databaseUnavailable = "database_unavailable"
    case outcomeUnknown = "outcome_unknown"
    case halted = "halted"
    case internalError = "internal_error"

    /// Status, title, and what to do next.
    var entry: (status: HTTPResponse.Status, title: String, advice: String) {
        switch self {
        case .malformedRequest:
            (.badRequest, "The request cannot be read", "Correct the path, query or header that `detail` names.")
        case .malformedJSON:
            (.badRequest, "The body is not acceptable JSON", "Correct the text at the place that `errors` names.")
        case .invalidValue:
            (
                .unprocessableContent, "A value is not acceptable",
                "Correct the members that `errors` names; nothing was changed."
            )
        case .unknownParameter:
            (
                .badRequest, "There is no such query parameter",
                "Remove it, or correct its spelling; `detail` lists the known ones."
            )
        case .invalidCursor:
            (
                .badRequest, "The cursor is not one of this list",
                "Begin again without `cursor`; use a cursor only with the filters it came with."
            )
        case .positionAhead:
            (
                .conflict, "The ledger does not reach that far",
                "Begin again without a position. If the ledger was longer before, it was restored from a backup: tell its operator."
            )
        case .notFound: (.notFound, "There is nothing here", "Compare the path with /openapi.yaml.")
        case .methodNotAllowed:
            (.methodNotAllowed, "This cannot be done here", "Use one of the methods in the `Allow` header.")
        case .bodyTooLarge: (.contentTooLarge, "The body is too large", "Send less; `detail` names the limit.")
        case .headersTooLarge:
            (
                .requestHeaderFieldsTooLarge, "The head of the request is too large",
                "Send fewer or shorter fields, or a shorter target; `detail` names the limits."
            )
        case .unsupportedMediaType:
            (
                .unsupportedMediaType, "The body is of another type",
                "Send what `detail` asks for; nearly everywhere that is JSON with `Content-Type: application/json`."
            )
        case .notAcceptable:
            (.notAcceptable, "The answer has no such form", "Ask for the type that `detail` names.")
        case .tokenMissing:
            (
                .unauthorized, "A token is needed",
                "Send `Authorization: Bearer pk_…`; the first one comes from `pinledger token bootstrap`, further ones from `pinledger token create NAME`."
            )
        case .tokenMalformed:
            (
                .unauthorized, "This is not a token",
                "Copy the whole token: pk_, two or three letters, _ and 36 letters and digits."
            )
        case .tokenInvalid:
            (
                .unauthorized, "The token opens nothing",
                "It was revoked, has expired or never existed; ask for a new one."
            )
        case .signatureInvalid:
            (
                .unauthorized, "The report's signature is not right",
                "Sign the body as it is sent, with a key of the app that is in use and the present time; or leave `Pinledger-Signature` out, and the report counts as advisory."
            )
        case .staleVersion:
            (
                .preconditionFailed, "Somebody changed this since you read it",
                "Read it again, look at what changed, and send your change with the new `ETag` in `If-Match`."
            )
        case .idempotencyKeyReused:
            (
                .unprocessableContent, "The idempotency key stands for another request",
                "Use a new key for a new request; repeat a request exactly to get its first answer."
            )
        case .eventTooLarge:
            (
                .contentTooLarge, "The change is too large for one event",
                "Split it, for example a long whitelist into a shorter one."
            )
        case .appExists:
            (
                .conflict, "The app exists",
                "Change it (`pinledger app set APP --name NAME`, or PATCH), or choose another id."
            )
        case .appUnknown: (.notFound, "There is no such app", "List the apps with `pinledger app list`, or create it.")
        case .hostExists:
            (
                .conflict, "The app has this host",
                "Change the host: `pinledger host set APP HOST --mode MODE`, or PATCH."
            )
        case .hostUnknown:
            (.notFound, "The app has no such host", "List the hosts with `pinledger host list APP`, or add it.")
        case .publicSuffix:
            (
                .unprocessableContent, "The name is a public suffix",
                "Name a host below it that is your own: a pin for a public suffix would bind other people's hosts."
            )
        case .limitReached:
            (.unprocessableContent, "A limit is reached", "Remove what is no longer needed, or split the app.")
        case .pinExists:
            (
                .conflict, "The policy has this pin",
                "Change its role or state: `pinledger pin role APP HOST PIN --role ROLE`, or PATCH."
            )
        case .pinUnknown:
            (
                .notFound, "The policy has no such pin",
                "List the pins with `pinledger pin list APP HOST`; check host and policy."
            )
        case .pinState:
            (
                .conflict, "The pin is in another state",
                "Look at the pin's state; only staged pins can be activated, only staged and active ones retired."
            )
        case .pinRevoked:
            (.conflict, "The pin is revoked", "Its key is compromised: make a new key and add the new key's pin.")
        case .pinPlaceholder:
            (
                .unprocessableContent, "The pin is a placeholder",
                "Compute the pin of your real key: openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"
            )
        case .tooFewPins:
            (
                .unprocessableContent, "Too few pins to enforce",
                "Add a second pin of another key, or set the mode to report_only first."
            )
        case .noBackupPin:
            (.unprocessableContent, "No backup pin", "Add a pin of a key in reserve with the role backup or emergency.")
        case .lastBackupPin:
            (
                .conflict, "This is the last backup pin",
                "Add another backup first. If there is no other way, repeat with `force` and a `reason`."
            )
        case .guardRail:
            (
                .unprocessableContent, "A guard rail stands in the way",
                "Do what `remedy` of the findings says; `pinledger explain CODE` tells more. If the gravest has severity `override`, `force` and a `reason` pass it, which is recorded; `block` is never passed."
            )
        case .guardRailFixed:
            (
                .unprocessableContent, "This guard rail cannot be lowered",
                "Only rails of severity `override` can be lowered to a warning; GET /v1/guard-rails lists them."
            )
        case .planStale:
            (
                .conflict, "What would be recorded is not what you were shown",
                "Somebody changed something since the dry run: look at a new one, and send its `plan_hash`."
            )
        case .rotationExists:
            (
                .conflict, "There is a rotation of this name",
                "Choose another name; `pinledger rotation status APP` lists them."
            )
        case .rotationUnknown:
            (.notFound, "There is no such rotation", "List the app's rotations with `pinledger rotation status APP`.")
        case .rotationState:
            (
                .conflict, "The rotation is in another phase",
                "Look how far it is: `pinledger rotation status APP`. Somebody may have advanced or ended it."
            )
        case .rotationKey:
            (
                .conflict, "A key of the rotation is missing",
                "A rotation needs an active primary pin to replace, and its next key published; look at the host's pins."
            )
        case .rolloutPlanUnknown:
            (
                .notFound, "The rollout has no plan",
                "Make one: `pinledger rollout plan set APP HOST --step PERCENT:HOLD`."
            )
        case .rolloutState:
            (
                .conflict, "The rollout is in no state for this",
                "Look how far it is and what it waits for: `pinledger rollout status APP`."
            )
        case .rolloutPlanned:
            (
                .conflict, "A plan says how far the rollout goes",
                "Hold it with `pinledger rollout pause APP HOST`, go to another of its steps with `pinledger rollout jump APP HOST --step N`, or take it away with `pinledger rollout plan clear APP HOST`, which leaves the share where it is."
            )
        case .rolloutRolledBack:
            (
                .conflict, "The candidate was rolled back",
                "See why (`pinledger history`). It goes out again only by a new start: a new plan or a new rollout."
            )
        case .saltRequired:
            (
                .unprocessableContent, "The rollout needs a salt of its own",
                "Set `salt`, and hash the ids of `whitelist` and `exclusions` with it; or make the rollout sticky."
            )
        case .keyNotPinned:
            (.notFound, "The key is not pinned here", "Add its pin first; what is known of a key is kept with its pin.")
        case .uploadRefused:
            (
                .unprocessableContent, "This is nothing that pins can be made of",
                "Do what `detail` says; nothing of what was sent is kept."
            )
        case .baselineIsBuiltin:
            (
                .conflict, "The baseline is the pins built into the app",
                "Start a candidate, or give the baseline a mode first."
            )
        case .candidateExists: (.conflict, "There is a candidate already", "Promote or drop it first.")
        case .candidateMissing:
            (.conflict, "There is no candidate", "Start one first: `pinledger rollout start APP HOST --percent SHARE`.")
        case .reasonRequired:
            (.unprocessableContent, "A reason is required", "Say why in `reason`; it is recorded for ever.")
        case .invalidExpiry:
            (
                .unprocessableContent, "The time of expiry is not acceptable",
                "Choose a time ahead and within the limit that `detail` names."
            )
        case .killSwitchNotEngaged: (.conflict, "The kill switch is not engaged", "There is nothing to release.")
        case .keyExists: (.conflict, "The key exists", "Create another one.")
        case .keyUnknown: (.notFound, "There is no such key", "List the keys with `pinledger key list`.")
        case .keyState:
            (
                .conflict, "The key is in another state",
                "Only announced keys can be activated; activate another key before retiring the active one."
            )
        case .keyOverlap:
            (
                .conflict, "Clients may not be ready",
                "Wait until the time in `detail`. In an emergency, repeat with `force` and a `reason`."
            )
        case .tokenExists: (.conflict, "The token exists", "Repeat the request.")
        case .tokenUnknown: (.notFound, "There is no such token", "List the tokens with `pinledger token list`.")
        case .tokenRevoked: (.conflict, "The token is revoked", "There is nothing to revoke.")
        case .webhookExists: (.conflict, "The webhook exists", "Repeat the request.")
        case .webhookUnknown:
            (.notFound, "There is no such webhook", "List the webhooks with `pinledger webhook list`.")
        case .deliveryUnknown:
            (
                .notFound, "There is no such delivery",
                "List them with `pinledger webhook deliveries ID`. What is older, or did not pass the filters, is replayed by range."
            )
        case .clientUnknown:
            (
                .notFound, "The app has no such clients",
                "List its kinds with `pinledger client list APP`, or declare this one with `pinledger client set APP KIND`."
            )
        case .clientKey:
            (
                .conflict, "Installs would not understand the answers",
                "They take nothing that another key signed. With `force` and a `reason` the key is replaced all the same; for another protocol, remove the kind and declare it anew."
            )
        case .clientKeyMissing:
            (
                .conflict, "The key of these clients has not been set",
                "Set it with `pinledger client key APP KIND`: import the one that installs have built in, or have one made for new installs."
            )
        case .clientKeyless:
            (
                .conflict, "Answers to these clients are not signed",
                "There is no key to be set: declare this kind without one."
            )
        case .nothingToExport:
            (
                .conflict, "There is no file to make",
                "`detail` says which hosts stand in the way, or why each is left out. Pins are written of hosts that enforce, or only report where the format can say so; TrustKit takes none that enforces with one pin alone; for PEM, show the keys themselves (`pinledger pin describe APP FILE`). A template for Firebase has to have room for all hosts' pins and for each range of versions that a kill switch means."
            )
        case .importRefused:
            (.unprocessableContent, "The file cannot be imported", "Correct what `errors` names; nothing was recorded.")
        case .notPublished:
            (
                .serviceUnavailable, "The document is not published yet",
                "Try again in a moment. If it lasts, no node has the signing key: see `pinledger doctor`."
            )
        case .noKeyEncryptionKey:
            (
                .serviceUnavailable, "This node cannot handle private keys",
                "Ask a node that was started with a key-encryption key (--kek-file or PINLEDGER_KEK_FILE)."
            )
        case .readOnly:
            (
                .serviceUnavailable, "This node is read-only",
                "Send changes to a node that was started without --read-only."
            )
        case .clockWrong:
            (
                .serviceUnavailable, "This node's clock and the database's disagree",
                "Send the change to another node, and set both clocks by NTP. Documents are served meanwhile."
            )
        case .overloaded:
            (
                .serviceUnavailable, "Too much is going on",
                "Try again after `Retry-After` seconds, with the same idempotency key."
            )
        case .tooManyRequests:
            (.tooManyRequests, "Too much is asked", "Use what you have, and ask again after `Retry-After` seconds.")
        case .tooManyReports:
            (.tooManyRequests, "Too much is reported", "Keep the reports and send them after `Retry-After` seconds.")
        case .databaseUnavailable:
            (
                .serviceUnavailable, "The database cannot be reached",
                "Nothing was recorded. Try again after `Retry-After` seconds. Documents are served meanwhile."
            )
        case .outcomeUnknown:
            (
                .serviceUnavailable, "It is not known whether the change was recorded",
                "Repeat the request with the same `Idempotency-Key`: it is answered by what was recorded, or recorded now."
            )
        case .halted:
            (
                .serviceUnavailable, "This node has stopped following the ledger",
                "The ledger in the database is not the one this node knows. Do not restart it before somebody has looked: the last verified documents are still served."
            )
        case .internalError:
            (
                .internalServerError, "Something went wrong here",
                "Try again; if it lasts, give the operator of the server the request id in `instance`."
            )
        }
    }
}

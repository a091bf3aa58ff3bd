package import Logging

/// A line that the program writes to its log.
///
/// All lines are declared here, with their level, message and advice (``declaration``): a call site names a line and
/// adds details, and cannot make up a code. The raw value is the line's `code`, which scripts and alerts may rely on.
/// `Sources/CHandbook/pages/log-lines.md` lists all lines.
package enum LogLine: String, CaseIterable, Sendable {
    // The ledger and its database.
    case changeRecorded = "change_recorded"
    case changeStopped = "change_stopped"
    case databaseLost = "database_lost"
    case databaseBack = "database_back"
    case writesFailing = "writes_failing"
    case writesWorking = "writes_working"
    case batchNotRecorded = "batch_not_recorded"
    case batchOutcomeUnknown = "batch_outcome_unknown"
    case announcementFailed = "announcement_failed"
    case listenerLost = "listener_lost"
    case ledgerUnreadable = "ledger_unreadable"
    case endUnconfirmed = "end_unconfirmed"
    case writerHalted = "writer_halted"
    case followerHalted = "follower_halted"
    case upgradeNeeded = "upgrade_needed"
    case ledgerReplaced = "ledger_replaced"
    case ledgerDamaged = "ledger_damaged"
    case clockOff = "clock_off"
    case clockDrifting = "clock_drifting"
    case clockRight = "clock_right"
    case ledgerAhead = "ledger_ahead"
    case keyChanged = "key_changed"
    case keyInForce = "key_in_force"
    case endUnauthenticated = "end_unauthenticated"
    case endTrusted = "end_trusted"
    case memoryFirst = "memory_first"
    case memoryBegun = "memory_begun"
    case endVouched = "end_vouched"
    case vouchNotGiven = "vouch_not_given"
    case serviceManagerLost = "service_manager_lost"
    case memoryUnauthenticated = "memory_unauthenticated"
    case memoryContradicted = "memory_contradicted"
    case historyRestored = "history_restored"
    case memoryNotKept = "memory_not_kept"
    case endUnsigned = "end_unsigned"
    case endSigned = "end_signed"
    case readingLedger = "reading_ledger"
    case ledgerRead = "ledger_read"
    case standbyBehind = "standby_behind"
    case standbyLeft = "standby_left"
    case nodeNotReported = "node_not_reported"
    case tokenUsesNotKept = "token_uses_not_kept"
    case levelNotRaised = "level_not_raised"
    case witnessesNotAsked = "witnesses_not_asked"
    case witnessFailed = "witness_failed"
    case witnessContradicted = "witness_contradicted"
    case snapshotVerified = "snapshot_verified"
    case snapshotRefuted = "snapshot_refuted"
    case snapshotAuditDelayed = "snapshot_audit_delayed"
    case snapshotNotAudited = "snapshot_not_audited"
    case eventsPruned = "events_pruned"
    case bundlesMissing = "bundles_missing"
    case snapshotUnusable = "snapshot_unusable"
    case housekeepingFailed = "housekeeping_failed"

    // Documents.
    case documentsUnreadable = "documents_unreadable"
    case documentsBehind = "documents_behind"
    case documentsCurrent = "documents_current"
    case documentsNotSigned = "documents_not_signed"
    case publicationNotRecorded = "publication_not_recorded"
    case documentsNotStored = "documents_not_stored"
    case documentNotStored = "document_not_stored"
    case documentsLeftOver = "documents_left_over"
    case documentDamaged = "document_damaged"
    case documentMisnamed = "document_misnamed"
    case documentsRestored = "documents_restored"
    case keptDocumentsUnreadable = "kept_documents_unreadable"
    case documentClash = "document_clash"
    case documentsContradictLedger = "documents_contradict_ledger"
    case documentsForked = "documents_forked"
    case upstreamChanged = "upstream_changed"
    case upstreamLost = "upstream_lost"
    case upstreamBack = "upstream_back"
    case upstreamDocumentRefused = "upstream_document_refused"
    case keptDocumentRefused = "kept_document_refused"
    case documentsDropped = "documents_dropped"
    case rootTaken = "root_taken"
    case rootRefused = "root_refused"
    case reportsNotForwarded = "reports_not_forwarded"
    case retiredKeysNotErased = "retired_keys_not_erased"
    case signingKeyUnavailable = "signing_key_unavailable"
    case signingKeyNotStored = "signing_key_not_stored"

    // Adoption and client reports.
    case clientsNotCounted = "clients_not_counted"
    case clientsCountedInMemory = "clients_counted_in_memory"
    case clientsCountedAgain = "clients_counted_again"
    case clientsLost = "clients_lost"
    case trafficSurge = "traffic_surge"
    case reportsNotRecorded = "reports_not_recorded"
    case reportsRecordedAgain = "reports_recorded_again"
    case reportsLost = "reports_lost"
    case reportsUnreadable = "reports_unreadable"

    // Probes.
    case observationsUnreadable = "observations_unreadable"
    case observationNotRecorded = "observation_not_recorded"
    case renewalsUnknown = "renewals_unknown"

    // Webhooks and Firebase.
    case webhooksDelayed = "webhooks_delayed"
    case webhookDelayed = "webhook_delayed"
    case webhookMessageFailed = "webhook_message_failed"
    case webhookMessageDead = "webhook_message_dead"
    case webhookResultNotRecorded = "webhook_result_not_recorded"
    case webhookPaused = "webhook_paused"
    case webhookNotPaused = "webhook_not_paused"
    case webhookNotCleared = "webhook_not_cleared"
    case webhookSecretNotErased = "webhook_secret_not_erased"
    case firebaseUpdated = "firebase_updated"
    case firebaseBehind = "firebase_behind"
    case firebaseRolloutsWithheld = "firebase_rollouts_withheld"

    // Automatic changes.
    case planDelayed = "plan_delayed"
    case killSwitchNotReleased = "kill_switch_not_released"
    case changeNotApplied = "change_not_applied"
    case auditDepositUnreadable = "audit_deposit_unreadable"
    case auditNotRecorded = "audit_not_recorded"
    case reactionNotRecorded = "reaction_not_recorded"
    case warningNotRecorded = "warning_not_recorded"

    // Keys and secrets.
    case materialNotStored = "material_not_stored"
    case materialNotErased = "material_not_erased"
    case secretsNotErased = "secrets_not_erased"
    case secretUnavailable = "secret_unavailable"
    case signingKeyNotErased = "signing_key_not_erased"
    case reportKeyNotErased = "report_key_not_erased"

    // Requests and connections.
    case requestRefused = "request_refused"
    case requestFailed = "request_failed"
    case requestEnded = "request_ended"
    case connectionRefused = "connection_refused"
    case connectionsNotAccepted = "connections_not_accepted"
    case linesLeftOut = "lines_left_out"
    case accessLogFailing = "access_log_failing"
    case accessLogWorking = "access_log_working"
    case spansNotSent = "spans_not_sent"
    case spansSentAgain = "spans_sent_again"
    case expiredCertificatesKept = "expired_certificates_kept"
    case partOfChangeRefused = "part_of_change_refused"

    // The process.
    case connectionsReduced = "connections_reduced"
    case fileReloaded = "file_reloaded"
    case fileRefused = "file_refused"
    case settingsNeedRestart = "settings_need_restart"
    case serverStopping = "server_stopping"
    case serverDraining = "server_draining"
    case serverServing = "server_serving"
    case serverStopped = "server_stopped"
    case serverFailed = "server_failed"

    /// The declaration of each line.
    package struct Declaration: Sendable {
        package let level: Logger.Level
        /// What happened, for people. The text is always the same: what differs is in the line's metadata.
        package let message: Logger.Message
        /// What to do; nil where there is nothing to do.
        package let advice: String?

        init(_ level: Logger.Level, _ message: Logger.Message, advice: String? = nil) {
            self.level = level
            self.message = message
            self.advice = advice
        }
    }
}

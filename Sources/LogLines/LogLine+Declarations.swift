import Logging

extension LogLine {
    private static let repair =
        "Run `pinledger fsck`; it lists all damage. Repair or restore the database, then restart this node."
    private static let lostHistory =
        "Restore the missing events if you can. Otherwise run `pinledger recover`, and then restart the nodes: `pinledger handbook recovery` says how."
    private static let lostSigningKey =
        "Restore the key's row of pinledger.signing_secret from a backup: `pinledger handbook backup`, \"Lost keys\". Find out who erased it."
    private static let checkDatabase = "Read `error`. Check the database and the rights of the node's role."

    /// Level, message and advice.
    package var declaration: Declaration {
        switch self {
        case .changeRecorded: .init(.notice, "a change was recorded")
        case .changeStopped: .init(.notice, "a guard rail stopped a change")
        case .databaseLost:
            .init(
                .error, "the database cannot be reached",
                advice:
                    "Check that PostgreSQL runs and that this node can reach it. The node keeps trying, and serves what it has."
            )
        case .databaseBack: .init(.notice, "the database answers again")
        case .writesFailing:
            .init(
                .error, "changes cannot be recorded",
                advice: "Read `reason`. Check the database's disk, and whether it is a standby or waits for one.")
        case .writesWorking: .init(.notice, "changes are recorded again")
        case .batchNotRecorded: .init(.debug, "a batch of changes was not recorded")
        case .batchOutcomeUnknown: .init(.debug, "it is not known yet whether a batch of changes was recorded")
        case .announcementFailed:
            .init(.debug, "other nodes were not notified of new events; they find them within a second")
        case .listenerLost:
            .init(
                .warning, "the notification connection is lost; this node looks for changes every second",
                advice:
                    "If it happens again and again, check the connection to the database. The node reconnects by itself. A standby announces nothing: a read-only node that knows no primary looks every second for good. Name the primary in --database too."
            )
        case .endUnconfirmed:
            .init(
                .warning, "no standby confirms the ledger's last events; this node does not take them in yet",
                advice:
                    "Bring back a synchronous standby, and check that `synchronous_standby_names` names it. Cancel no commit that waits for one."
            )
        case .ledgerUnreadable:
            .init(.warning, "the ledger cannot be read; the node tries again", advice: Self.checkDatabase)
        case .writerHalted:
            .init(
                .critical, "the ledger in the database contradicts this node; the node records nothing more",
                advice: Self.repair)
        case .followerHalted:
            .init(
                .critical, "the ledger in the database contradicts this node; the node stops following it",
                advice: Self.repair)
        case .upgradeNeeded:
            .init(
                .critical,
                "the ledger needs a later program than this node's; the node serves documents, and records and signs nothing",
                advice: "Start the program that the other nodes run: `pinledger node list` shows its version.")
        case .ledgerReplaced:
            .init(
                .critical, "a new connection leads to another ledger; this node stops following it",
                advice:
                    "Check where --database leads, and whether the database was restored from a backup. If events are lost, run `pinledger recover`. Then restart this node."
            )
        case .ledgerDamaged:
            .init(
                .critical,
                "the ledger in the database is damaged; this node only serves the documents that are published",
                advice: Self.repair)
        case .clockOff:
            .init(
                .critical, "this node's clock and the database's differ too much; the node signs and records nothing",
                advice: "Synchronize the clocks of both machines with NTP.")
        case .clockDrifting:
            .init(
                .warning, "this node's clock and the database's differ",
                advice: "Synchronize the clocks of both machines with NTP.")
        case .clockRight: .init(.notice, "this node's clock and the database's agree again; the node signs and records")
        case .ledgerAhead:
            .init(
                .critical,
                "the ledger's last event lies in the future; events are recorded with its time until then, and decided with the present",
                advice:
                    "Find out whose clock was ahead, and follow `pinledger handbook recovery`, \"After a clock that was ahead\"."
            )
        case .keyChanged:
            .init(
                .critical,
                "the ledger's end is authenticated with another key-encryption key than this node's; the node records nothing, and serves",
                advice:
                    "If `pinledger key rewrap` was run: start this node with the new key. Otherwise find out who changed it: `pinledger handbook alerts#pinledgerotherkey`."
            )
        case .keyInForce:
            .init(
                .notice,
                "the key-encryption key that authenticates the ledger's end is this node's; the node works with it")
        case .endUnauthenticated:
            .init(
                .critical,
                "the ledger's end is not authenticated with this node's key-encryption key; this node only serves the documents that are published",
                advice:
                    "Follow `pinledger handbook backup`, \"Unauthenticated events\". If the key-encryption key was changed: start this node with the new one. If a node with a wrong key was started: stop all nodes, and start one with the right key once with --trust-database."
            )
        case .endTrusted:
            .init(
                .warning,
                "the ledger's end was not authenticated; it is now, because this start trusts the database",
                advice: "Start the node without --trust-database from now on.")
        case .memoryFirst: .init(.notice, "the ledger is empty, and this node begins its memory of it")
        case .memoryBegun:
            .init(
                .warning, "this node has no memory of a ledger that has events, and begins one",
                advice: "If the node is not new, find out who deleted its memory."
            )
        case .endVouched:
            .init(
                .notice,
                "this node remembers nothing; the ledger in the database goes on from the end that others vouch for")
        case .vouchNotGiven:
            .init(
                .warning, "this node cannot see or answer nodes that ask it to vouch for the ledger; it tries again",
                advice:
                    "Read `error`. A new node, or one with a new volume, waits for an answer, and does not start without one."
            )
        case .serviceManagerLost:
            .init(
                .warning, "the service manager that started this process cannot be told that it runs",
                advice:
                    "Read `error`, and check NOTIFY_SOCKET: with WatchdogSec, systemd restarts a process that gives no sign of life."
            )
        case .memoryUnauthenticated:
            .init(
                .notice,
                "another key-encryption key, or none, has authenticated this node's memory; the node compares it with the ledger all the same",
                advice: "Do nothing if the key was changed. Otherwise find out who wrote the file.")
        case .memoryContradicted:
            .init(
                .critical,
                "the database does not have the ledger that this node remembers; the node records and signs nothing, and serves only documents that it served before",
                advice: Self.lostHistory)
        case .historyRestored:
            .init(
                .warning,
                "events were lost, and `pinledger recover` has begun a new epoch since this node last ran; the node goes on with it",
                advice:
                    "Nothing, once `pinledger recover` has ended. If it was interrupted, run it again in the same way: what the node remembered stays in --state-directory, under names with `lost-in-epoch`."
            )
        case .memoryNotKept:
            .init(
                .error, "this node's memory cannot be written; the node tries again",
                advice: "Read `error`. Check the disk and the rights of --state-directory.")
        case .upstreamChanged:
            .init(
                .warning, "an address of the upstream gives no answer that can be used; this edge asks the next one",
                advice: "Read `error`, and check the address before `upstream` in the order of --upstream.")
        case .upstreamLost:
            .init(
                .error, "the upstream gives no answer that can be used; this edge serves what it has, and tries again",
                advice:
                    "Read `error`; `part` says what was asked for. Check --upstream, --upstream-token-file and --upstream-ca-file, and whether the upstream runs."
            )
        case .upstreamBack: .init(.notice, "the upstream answers again")
        case .upstreamDocumentRefused:
            .init(
                .error, "a document of the upstream is not served; what was served before stays",
                advice:
                    "Read `reason`. For an unknown key, publish a root of trust with it, or add the new key to the key set in --trusted-keys. Otherwise find out who runs the upstream: it was restored from a backup, or is not the server that it should be."
            )
        case .keptDocumentRefused:
            .init(
                .warning, "a document in the state directory is not served",
                advice:
                    "Read `reason`. For an unknown key, check --trusted-keys: the document is kept until its key is trusted. The edge takes the app's present document from its upstream."
            )
        case .rootTaken: .init(.notice, "the edge passes on the next root of trust")
        case .rootRefused:
            .init(
                .error, "a root of trust of the upstream is not taken",
                advice:
                    "Read `reason`. Find out who runs the upstream: its roots are not the ones that follow those of this edge. Clients refuse them too."
            )
        case .documentsDropped:
            .init(
                .warning, "documents are not served any more, because their key is no longer trusted",
                advice: "If that is not what you wanted, put the key back into --trusted-keys: the edge has kept them.")
        case .reportsNotForwarded:
            .init(
                .warning, "clients' reports cannot be passed on; the edge keeps them for ten minutes",
                advice: "Read `error`. Check the upstream.")
        case .readingLedger:
            .init(
                .notice,
                "the ledger takes long to read; the node serves documents meanwhile, and nothing else that needs it",
                advice: "Wait for `ledger_read`. If nodes often take long, see that the database has a recent snapshot."
            )
        case .ledgerRead:
            .init(.notice, "the ledger is read; the node serves everything", advice: "Nothing.")
        case .endUnsigned:
            .init(
                .warning,
                "no batch key that this node knows has signed the newest events; the node goes on without them, and refuses tokens",
                advice:
                    "If the key-encryption key was changed: give the node --batch-public-key for the new one too. Otherwise run `pinledger doctor` on a node with the key-encryption key: such a node halts at events that no node has recorded. Where it is well, record any change through it: that signs everything before."
            )
        case .endSigned:
            .init(
                .notice, "the ledger's end is signed again; the node has taken in everything and accepts tokens",
                advice: "Nothing.")
        case .standbyBehind:
            .init(
                .warning, "the database is a standby and behind what this node remembers; the node waits for it",
                advice: "If it lasts, check the standby's replication.")
        case .standbyLeft:
            .init(
                .warning,
                "a standby lacks what the primary has announced; this node reads from the primary until the standby has it",
                advice: "If it happens again and again, check the standby's replication.")
        case .nodeNotReported:
            .init(
                .warning, "this node cannot report itself to the other nodes; it tries again",
                advice:
                    "Read `error`. Operators see the node neither in `pinledger node list` nor when they end an upgrade."
            )
        case .tokenUsesNotKept:
            .init(
                .warning, "this node cannot keep which tokens are used from where; it tries again",
                advice: "Read `error`. Operators see later than usual that a token is used, and from where.")
        case .levelNotRaised:
            .init(
                .warning, "the feature level of the new ledger was not raised to the one that this program knows",
                advice: "Read `error`. Raise it with `pinledger node raise-feature-level LEVEL`.")
        case .witnessesNotAsked:
            .init(
                .error, "the log's witnesses cannot be asked to cosign a checkpoint; the node tries again",
                advice: "Read `error`. Check the database.")
        case .witnessFailed:
            .init(
                .warning, "a witness has not cosigned the log's checkpoint; the node asks again",
                advice:
                    "Read `error`. `pinledger log witness list` shows each witness's last answer. With a quorum, readers see no newer checkpoint until enough witnesses cosign."
            )
        case .witnessContradicted:
            .init(
                .critical,
                "the database does not have the ledger of which a witness has a checkpoint that this log has signed; the node records and signs nothing",
                advice: Self.lostHistory)
        case .snapshotVerified: .init(.info, "the ledger confirms the snapshot that this node started from")
        case .snapshotRefuted:
            .init(
                .critical,
                "the ledger contradicts the snapshot that this node started from; the node stops following it",
                advice: Self.repair)
        case .snapshotAuditDelayed:
            .init(
                .warning, "the check of the snapshot is delayed; the node tries again",
                advice: "If it lasts, check the connection to the database.")
        case .snapshotNotAudited:
            .init(
                .notice,
                "the snapshot is not checked against the ledger: events before it are pruned, and the node does not have their entries",
                advice:
                    "Start the node with `--bundles`, or run `pinledger fsck --bundles DIRECTORY` from time to time.")
        case .eventsPruned:
            .init(
                .critical,
                "entries of events that this node has to read are pruned; it only serves the documents that are published",
                advice:
                    "Start the node again: it starts from a snapshot behind them. If it does not, start it with `--bundles`, or put the entries back with `pinledger bundles restore DIRECTORY`."
            )
        case .bundlesMissing:
            .init(
                .warning,
                "the directory of entry bundles is not there; the node cannot read the entries of pruned events",
                advice: "Mount it, or correct `--bundles`.")
        case .snapshotUnusable:
            .init(
                .error, "a snapshot cannot be used; the node uses an older one, or reads the whole ledger",
                advice: "Run `pinledger fsck`; it tells whether the ledger is damaged.")
        case .housekeepingFailed:
            .init(.warning, "a housekeeping job failed; the node tries again", advice: Self.checkDatabase)
        case .documentsUnreadable:
            .init(.warning, "published documents cannot be read; the node tries again", advice: Self.checkDatabase)
        case .documentsBehind:
            .init(
                .warning, "published documents are older than the ledger",
                advice: "Run a node with the key-encryption key: it signs the missing documents.")
        case .documentsCurrent: .init(.notice, "published documents are up to date with the ledger")
        case .documentsNotSigned:
            .init(
                .error, "documents could not be signed; the node tries again",
                advice: "Read `error`. Check that --kek-file holds the key that seals the signing keys.")
        case .publicationNotRecorded:
            .init(
                .warning, "a published document is not recorded in the ledger; the node tries again",
                advice: "Read `error`. Until it is recorded, there is no proof of the document.")
        case .documentsNotStored:
            .init(.error, "documents could not be stored; the node tries again", advice: Self.checkDatabase)
        case .documentNotStored:
            .init(
                .error, "the database refuses one app's document; the node stores the others, and tries this one again",
                advice:
                    "Read `error`. Run `pinledger fsck`; a damaged index of pinledger.document or a foreign trigger refuses single rows."
            )
        case .documentsLeftOver:
            .init(
                .warning,
                "documents were signed but not stored before the node stopped; the next node signs them again",
                advice: "Start a node if none runs.")
        case .documentDamaged:
            .init(
                .critical, "a stored document is damaged and is not served",
                advice:
                    "Run `pinledger fsck` to see all damage. A node with the key-encryption key replaces the document.")
        case .documentsRestored:
            .init(
                .error, "stored documents are damaged; the node serves those that it has kept of the same apps",
                advice:
                    "Run `pinledger fsck` to see all damage. A node that can sign replaces them; if none can, read `signing_key_unavailable`."
            )
        case .keptDocumentsUnreadable:
            .init(
                .critical,
                "the documents in the state directory cannot be read; the node serves those that the database has",
                advice: "Read `error`. Check the file's owner and rights, and restart the node.")
        case .documentMisnamed:
            .init(
                .critical, "a stored document has no valid app id and is not served",
                advice: "Run `pinledger fsck` to see all damage.")
        case .documentClash:
            .init(
                .critical, "a signed document differs from the stored one of the same version",
                advice: "Run `pinledger fsck`, and check that only one ledger uses this database.")
        case .documentsContradictLedger:
            .init(
                .critical, "a published document contradicts the ledger; this node signs and records nothing more",
                advice: Self.repair)
        case .documentsForked:
            .init(
                .critical,
                "the database does not hold the events that documents were made from; this node stores nothing in it",
                advice:
                    "Check where --database leads, and whether the database was restored from a backup. Then restart this node."
            )
        case .retiredKeysNotErased:
            .init(
                .warning, "the private halves of retired signing keys are not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .signingKeyUnavailable:
            .init(
                .critical,
                "the private half of the active signing key cannot be had; this node serves documents, and signs none",
                advice: Self.lostSigningKey)
        case .signingKeyNotStored:
            .init(
                .critical,
                "the private half of the active signing key is in the database no more; this node signs with what it has in memory",
                advice: "Do not stop this node before. " + Self.lostSigningKey)
        case .clientsNotCounted:
            .init(
                .warning, "counts of clients could not be recorded; the node keeps them and tries again",
                advice: Self.checkDatabase)
        case .clientsCountedInMemory: .init(.notice, "this node may not write: it counts clients in its memory only")
        case .clientsCountedAgain: .init(.notice, "counts of clients are recorded again")
        case .clientsLost:
            .init(
                .warning, "some clients were not counted",
                advice: "Expect adoption figures that are too low for this hour. Add nodes if it happens often.")
        case .trafficSurge:
            .init(
                .warning, "an app gets far more requests or reports than in any hour of the week before",
                advice:
                    "Check whether a release explains it. If not, someone may be imitating clients: do not rely on the app's figures."
            )
        case .reportsNotRecorded:
            .init(
                .warning, "client reports could not be recorded; the node keeps them and tries again",
                advice: Self.checkDatabase)
        case .reportsRecordedAgain: .init(.notice, "client reports are recorded again")
        case .reportsLost:
            .init(
                .warning, "more client reports arrived than the node can take or keep",
                advice: "Check which networks send them. Lower --telemetry-rate, or add nodes.")
        case .reportsUnreadable:
            .init(
                .warning, "client reports cannot be read; figures older than a minute do not count",
                advice: Self.checkDatabase)
        case .observationsUnreadable:
            .init(
                .warning, "observations of other nodes cannot be read; the node tries again",
                advice: Self.checkDatabase)
        case .observationNotRecorded:
            .init(.warning, "an observation could not be recorded; only this node knows it", advice: Self.checkDatabase)
        case .renewalsUnknown:
            .init(
                .warning, "an authority does not say when to renew certificates; the node asks again in ten minutes",
                advice: "Read `error`, and check --acme-directory and the way there.")
        case .webhooksDelayed:
            .init(.warning, "webhook deliveries are delayed; the node tries again", advice: Self.checkDatabase)
        case .webhookDelayed:
            .init(.warning, "a webhook's deliveries are delayed; the node tries again", advice: Self.checkDatabase)
        case .webhookMessageFailed: .init(.debug, "a webhook message was not delivered; the node tries again")
        case .webhookMessageDead:
            .init(
                .warning, "a webhook message was given up after its last attempt",
                advice: "Fix the receiver, then send the event again: `pinledger webhook replay ID POSITION`.")
        case .webhookResultNotRecorded:
            .init(
                .warning, "the result of a webhook delivery could not be recorded; the message may be sent twice",
                advice: Self.checkDatabase)
        case .webhookPaused:
            .init(
                .notice, "a webhook was paused",
                advice: "Fix the receiver, then resume: `pinledger webhook resume ID`.")
        case .webhookNotPaused:
            .init(.warning, "a webhook could not be paused; the node tries again", advice: "Read `error`.")
        case .webhookNotCleared:
            .init(
                .warning, "the deliveries of a removed webhook are not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .webhookSecretNotErased:
            .init(
                .warning, "an unused webhook secret is not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .firebaseUpdated: .init(.notice, "a Firebase project was updated")
        case .firebaseBehind:
            .init(
                .warning, "a Firebase project is not up to date",
                advice: "Read `error`. `pinledger firebase APP` shows the project's state.")
        case .firebaseRolloutsWithheld:
            .init(
                .warning, "rollouts are left out of a Firebase project",
                advice: "Read `reason`. `pinledger firebase APP` shows the project's state.")
        case .planDelayed:
            .init(
                .warning, "a rollout plan could not move on; the node tries again",
                advice: "Read `error`. `pinledger rollout status APP` shows what the plan waits for.")
        case .killSwitchNotReleased:
            .init(
                .warning, "an expired kill switch could not be recorded as released; the node tries again",
                advice: "Read `error`. Clients already treat the kill switch as over.")
        case .changeNotApplied:
            .init(
                .warning, "a proposed change could not be applied at its time; the node tries again",
                advice: "Read `error`. `pinledger change show ID` shows what the change waits for.")
        case .auditDepositUnreadable:
            .init(
                .warning, "what a read-only node counted of requests cannot be read, and is left out",
                advice: "Find out who wrote to the table `audit_deposit`: the login of a read-only node can.")
        case .auditNotRecorded:
            .init(
                .warning, "refused requests and confidential reads could not be recorded; the node tries again",
                advice: "Read `error`. Until it succeeds, only the log has a line of what was refused.")
        case .reactionNotRecorded:
            .init(
                .warning, "failed to apply a reaction to client reports",
                advice: "Read `error`. `pinledger telemetry reactions APP` shows what is due.")
        case .warningNotRecorded:
            .init(
                .warning, "failed to record a warning; the node tries again",
                advice: "Read `error`. `pinledger attention APP` shows what is due.")
        case .materialNotStored:
            .init(
                .warning, "keys and certificates that a change showed may not be stored",
                advice: "If an export lacks them, store them: `pinledger pin describe APP FILE`.")
        case .materialNotErased:
            .init(
                .warning, "unused keys and certificates are not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .secretsNotErased:
            .init(.warning, "unused secrets are not erased yet; the node tries again", advice: Self.checkDatabase)
        case .secretUnavailable:
            .init(
                .error,
                "a secret that the ledger names cannot be opened; this node serves documents, and what takes the secret fails",
                advice:
                    "Restore its row from a backup, or make another one: `pinledger handbook backup`, \"Lost keys\". Find out who damaged it."
            )
        case .signingKeyNotErased:
            .init(
                .warning, "the private half of a signing key is not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .reportKeyNotErased:
            .init(
                .warning, "the secret of a report key is not erased yet; the node tries again",
                advice: Self.checkDatabase)
        case .requestRefused: .init(.notice, "request refused")
        case .requestFailed:
            .init(
                .error, "a request failed with an unforeseen error",
                advice:
                    "Report it with the line's `error` and `operation`; `request_id` is the one that the client got.")
        case .requestEnded:
            .init(
                .warning, "a request was ended: unfinished requests hold as much memory as they may",
                advice: "Look for clients that send or read slowly, or raise --request-memory.")
        case .connectionRefused: .init(.notice, "connection refused")
        case .connectionsNotAccepted:
            .init(
                .warning, "new connections cannot be accepted for a moment",
                advice: "Raise the limit on open files (ulimit -n, LimitNOFILE=), or lower --max-connections.")
        case .linesLeftOut: .init(.notice, "log lines were left out")
        case .accessLogFailing:
            .init(
                .warning, "the access log cannot be written; its lines are dropped",
                advice: "Read `error`. Check the file's disk and rights, or what reads the standard output.")
        case .accessLogWorking: .init(.notice, "the access log is written again")
        case .spansNotSent:
            .init(
                .warning, "the collector takes no traces; they are dropped after half a minute",
                advice:
                    "Read `error`. Check --otlp-endpoint, the fields of --otlp-headers-file, and that the collector takes OTLP over HTTP in JSON."
            )
        case .spansSentAgain: .init(.notice, "the collector takes traces again")
        case .expiredCertificatesKept: .init(.info, "expired certificates stay")
        case .partOfChangeRefused:
            .init(
                .warning, "the ledger refuses part of a change and records the rest",
                advice: "Read `why`. Make the refused part yourself if you want it.")
        case .connectionsReduced:
            .init(
                .notice, "fewer connections than configured are accepted: the process may open too few files",
                advice: "Raise the limit on open files (ulimit -n, LimitNOFILE=).")
        case .fileReloaded: .init(.notice, "a file was read again and is used from now on")
        case .fileRefused:
            .init(
                .error, "a file cannot be used; what was read before stays in use",
                advice: "Read `error` and repair the file. The node reads it again when it changes.")
        case .settingsNeedRestart:
            .init(
                .warning, "settings were changed that a running node does not take over",
                advice: "Restart the node to use them; `settings` names them.")
        case .serverStopping: .init(.notice, "told to stop (SIGTERM or SIGINT); /readyz answers 503 from now on")
        case .serverDraining: .init(.notice, "the listeners close and connections drain")
        case .serverServing: .init(.notice, "the server serves on these addresses")
        case .serverStopped: .init(.notice, "the server stopped")
        case .serverFailed:
            .init(
                .error, "the server ended with an error",
                advice: "Read `error`. Run `pinledger doctor` to find out more.")
        }
    }
}

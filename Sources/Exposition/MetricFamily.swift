/// A family of metrics that a node shows at `/metrics`.
///
/// All families are declared here, with their kind, help and labels (``declaration``): a call site names a family and gives numbers,
/// and cannot make up a name. The raw value is the family's name, which alerts and dashboards may rely on.
/// `Sources/CHandbook/pages/metrics.md` lists all families.
package enum MetricFamily: String, CaseIterable, Sendable {
    // The process
    case build = "pinledger_build"
    case startTime = "pinledger_start_time_seconds"
    case residentMemory = "pinledger_resident_memory_bytes"
    case processorTime = "pinledger_processor_seconds"
    case openFiles = "pinledger_open_files"

    // The node's own files
    case memoryUnkept = "pinledger_memory_unkept_seconds"
    case refusedFiles = "pinledger_refused_files"
    case ownCertificateExpiry = "pinledger_own_certificate_expiry_timestamp_seconds"
    case ownCertificateLifetime = "pinledger_own_certificate_lifetime_seconds"

    // What the node can do
    case nodeState = "pinledger_node_state"
    case nodeUse = "pinledger_node_use"

    // Requests
    case requests = "pinledger_requests"
    case requestDuration = "pinledger_request_duration_seconds"
    case preparedAnswers = "pinledger_prepared_answers"
    case clientStreams = "pinledger_client_streams"
    case connections = "pinledger_connections"
    case spans = "pinledger_trace_spans"
    case accessLines = "pinledger_access_log_lines"

    // The ledger
    case ledgerPosition = "pinledger_ledger_position"
    case ledgerEvents = "pinledger_ledger_events_behind"
    case ledgerAhead = "pinledger_ledger_ahead_seconds"
    case appendedBatches = "pinledger_append_batch_commands"
    case appendDuration = "pinledger_append_duration_seconds"
    case waitingCommands = "pinledger_append_waiting_commands"
    case followDuration = "pinledger_follow_duration_seconds"
    case snapshotDuration = "pinledger_snapshot_duration_seconds"
    case databaseConnections = "pinledger_database_connections"
    case databaseWaiting = "pinledger_database_waiting_requests"
    case databaseStandbys = "pinledger_database_standbys"
    case archiveFailing = "pinledger_database_archive_failing"

    // Documents
    case apps = "pinledger_apps"
    case documents = "pinledger_documents"
    case signedDocuments = "pinledger_signed_documents"
    case documentsBehind = "pinledger_documents_behind"
    case expiredDocuments = "pinledger_expired_documents"
    case documentExpiry = "pinledger_next_document_expiry_timestamp_seconds"
    case documentLifetime = "pinledger_next_document_lifetime_seconds"

    // What servers present, and what clients hold and report
    case probes = "pinledger_probes"
    case endpoints = "pinledger_endpoints"
    case certificateExpiry = "pinledger_next_certificate_expiry_timestamp_seconds"
    case sightings = "pinledger_client_sightings"
    case clientReports = "pinledger_client_reports"

    // What goes out
    case webhookAttempts = "pinledger_webhook_attempts"
    case webhookDeliveries = "pinledger_webhook_open_deliveries"
    case webhookOldest = "pinledger_webhook_oldest_delivery_timestamp_seconds"
    case firebaseApps = "pinledger_firebase_apps"

    // An edge and its upstream
    case upstreamStream = "pinledger_upstream_stream"
    case upstreamSync = "pinledger_upstream_sync_timestamp_seconds"
    case withheldDocuments = "pinledger_withheld_documents"
    case upstreamRefusals = "pinledger_upstream_refused_documents"
    case waitingReports = "pinledger_waiting_reports"
    case edgeReports = "pinledger_edge_reports"

    // What may need attention
    case killSwitches = "pinledger_kill_switches"
    case openChanges = "pinledger_open_changes"
    case signingKeys = "pinledger_signing_keys"
    case unusableSecrets = "pinledger_unusable_secrets"
    case rootExpiry = "pinledger_root_expiry_timestamp_seconds"
    case tokenExpiry = "pinledger_next_token_expiry_timestamp_seconds"
    case pausedWebhooks = "pinledger_paused_webhooks"
    case warnings = "pinledger_warnings"
    case unreviewedChanges = "pinledger_unreviewed_changes"

    package enum Kind: String, Sendable {
        case counter, gauge, histogram, info
    }

    package struct Declaration: Sendable {
        package var kind: Kind
        package var help: String
        /// The names of its labels, in the order of the values.
        package var labels: [String]
        /// The upper bounds of a histogram's buckets, without the last, which is infinite.
        package var bounds: [Double]

        init(_ kind: Kind, _ help: String, labels: [String] = [], bounds: [Double] = []) {
            self.kind = kind
            self.help = help
            self.labels = labels
            self.bounds = bounds
        }
    }

    private static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    package var declaration: Declaration {
        switch self {
        case .build: Declaration(.info, "The version of the program.", labels: ["version"])
        case .startTime: Declaration(.gauge, "When the process started, in seconds since 1970.")
        case .residentMemory: Declaration(.gauge, "Memory of the process that is in RAM, in bytes.")
        case .processorTime: Declaration(.counter, "Processor time of the process, user and system, in seconds.")
        case .openFiles: Declaration(.gauge, "Files and sockets that the process has open.")
        case .memoryUnkept:
            Declaration(
                .gauge,
                "For how long a node or edge with a state directory has not been able to keep there what it serves, in seconds; 0 where all is kept."
            )
        case .refusedFiles:
            Declaration(
                .gauge,
                "Files that were replaced and cannot be used: the configuration, the certificate, keys or tokens. What was read before stays in use."
            )
        case .ownCertificateExpiry:
            Declaration(.gauge, "When the TLS certificate of the node's listeners ends, in seconds since 1970.")
        case .ownCertificateLifetime:
            Declaration(.gauge, "How long that certificate is valid in all, in seconds.")
        case .nodeState:
            Declaration(
                .gauge,
                "1 for the state of the node: running, starting, draining, suspended, unsigned, other_key, upgrade_needed or halted.",
                labels: ["state"])
        case .nodeUse:
            Declaration(
                .gauge, "1 for each use that the node is ready for, as in /readyz, and 0 for the others.",
                labels: ["use"])
        case .requests:
            Declaration(
                .counter,
                "Requests that an operation of the contract answered. Those answered from prepared bytes, and those for paths without an operation, are not counted here. The caller is client, operator, or monitoring: health checks and scrapes.",
                labels: ["operation", "status", "caller"])
        case .requestDuration:
            Declaration(
                .histogram, "Time from the whole head of a request to its answer, in seconds.", labels: ["operation"],
                bounds: Self.seconds)
        case .preparedAnswers:
            Declaration(
                .counter, "Requests of clients that were answered from prepared bytes: 200 with a body, 304 without.",
                labels: ["status"])
        case .clientStreams: Declaration(.gauge, "Clients that wait for new documents on a stream.")
        case .connections:
            Declaration(
                .gauge,
                "Connections that are open, by what their listener is for: everything, client, admin or metrics.",
                labels: ["listener"])
        case .spans:
            Declaration(
                .counter,
                "Spans of traces, by what became of them: sent, refused by the collector, or dropped because it takes too few.",
                labels: ["outcome"])
        case .accessLines:
            Declaration(
                .counter,
                "Lines of the access log, by what became of them: written, or dropped because the file takes too few.",
                labels: ["outcome"])
        case .ledgerPosition: Declaration(.gauge, "Events of the ledger that the node has read.")
        case .ledgerEvents:
            Declaration(.gauge, "Events that the node knows of and has not read.")
        case .ledgerAhead:
            Declaration(
                .gauge,
                "How far the ledger's last event lies in the future, in seconds: more than a few after a clock that was ahead."
            )
        case .appendedBatches:
            Declaration(
                .histogram, "Commands that the node appended together, refused ones included.",
                bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500])
        case .appendDuration:
            Declaration(
                .histogram, "Time from the beginning of a batch to its commit or failure, in seconds.",
                bounds: Self.seconds)
        case .waitingCommands: Declaration(.gauge, "Commands that wait for the next batch.")
        case .followDuration:
            Declaration(
                .histogram,
                "Time to read a part of the ledger that other nodes recorded, and to take it in, in seconds.",
                bounds: Self.seconds)
        case .snapshotDuration:
            Declaration(
                .histogram, "Time to store a snapshot of the ledger's state, in seconds.",
                bounds: Self.seconds + [30, 60])
        case .databaseConnections:
            Declaration(.gauge, "Connections of the pool for reading, in use or idle.", labels: ["use"])
        case .databaseWaiting: Declaration(.gauge, "Requests that wait for a connection of the pool.")
        case .databaseStandbys:
            Declaration(.gauge, "Processes that receive the primary's log: standbys, and programs that archive it.")
        case .archiveFailing:
            Declaration(
                .gauge,
                "1 while the primary's archive command has failed since it last succeeded, or else 0. Nodes whose database archives nothing do not show it."
            )
        case .apps: Declaration(.gauge, "Apps, archived ones included.")
        case .documents: Declaration(.gauge, "Documents that the node serves.")
        case .signedDocuments: Declaration(.counter, "Documents that the node signed: new versions, and renewed ones.")
        case .documentsBehind:
            Declaration(
                .gauge, "Apps whose document is behind the ledger; on an edge, those of which the upstream has another."
            )
        case .expiredDocuments:
            Declaration(.gauge, "Documents that the node serves although clients take them no more.")
        case .documentExpiry:
            Declaration(.gauge, "When the first of the documents ends that the node serves, in seconds since 1970.")
        case .documentLifetime: Declaration(.gauge, "How long that document is valid in all, in seconds.")
        case .withheldDocuments:
            Declaration(
                .gauge, "Documents that an edge keeps and does not serve, because their key is not trusted now.")
        case .probes:
            Declaration(
                .counter,
                "Probes that the node made by itself or on request, by outcome: reached, failed, or unable where the node's own network is at fault.",
                labels: ["outcome"])
        case .endpoints:
            Declaration(
                .gauge,
                "Endpoints of hosts, by what the newest probes from each place saw within a day: reached at any, failing at all that have a name, or unprobed.",
                labels: ["state"])
        case .certificateExpiry:
            Declaration(
                .gauge,
                "When the first of the certificates ends that servers presented to probes within a day, in seconds since 1970."
            )
        case .sightings:
            Declaration(
                .counter,
                "Requests and reports that told which document a client holds, by outcome: counted, or lost because there were too many.",
                labels: ["outcome"])
        case .clientReports:
            Declaration(
                .counter,
                "Reports of clients about their connections, by outcome: taken, duplicate, refused, or lost after they were taken; and requests with reports that were turned_away because there were too many.",
                labels: ["outcome"])
        case .webhookAttempts:
            Declaration(
                .counter,
                "Attempts of the node to deliver messages of webhooks, by outcome: delivered, failed to be tried again, or dead for good.",
                labels: ["outcome"])
        case .webhookDeliveries:
            Declaration(
                .gauge,
                "Messages of webhooks that all nodes have still to deliver, by state: pending before the first attempt, or failed.",
                labels: ["state"])
        case .webhookOldest:
            Declaration(
                .gauge,
                "When the oldest message was taken in that is still to be delivered and whose webhook is not paused, in seconds since 1970."
            )
        case .firebaseApps:
            Declaration(
                .gauge,
                "Apps that the node pushes to Firebase projects, by state: in_step, behind, or troubled where the last push failed.",
                labels: ["state"])
        case .upstreamStream:
            Declaration(.gauge, "1 while an edge's stream of news from its upstream stands, or else 0.")
        case .upstreamSync:
            Declaration(
                .gauge, "When an edge last served all that its upstream listed, in seconds since 1970.")
        case .upstreamRefusals:
            Declaration(
                .counter,
                "Documents that an edge's upstream offered and the edge does not serve, by cause: malformed, unknown_key, wrong_signature, other_app, older, contradiction or expired.",
                labels: ["cause"])
        case .waitingReports: Declaration(.gauge, "Clients' reports that an edge has still to pass on.")
        case .edgeReports:
            Declaration(
                .counter,
                "What has become of the clients' reports that an edge got: forwarded, refused, expired, displaced (put off by the upstream, and given up for a new one) or turned_away.",
                labels: ["outcome"])
        case .killSwitches:
            Declaration(
                .gauge, "Kill switches in force, by scope: everything, app, app_versions or host.", labels: ["scope"])
        case .openChanges:
            Declaration(.gauge, "Proposed changes that wait for approvals, for their time or to be applied.")
        case .signingKeys: Declaration(.gauge, "Keys of documents, by state.", labels: ["state"])
        case .unusableSecrets:
            Declaration(
                .gauge,
                "Secrets that the ledger names and that this node cannot open, by kind; the active signing key aside.",
                labels: ["kind"])
        case .rootExpiry:
            Declaration(
                .gauge, "When the newest root of trust ends, in seconds since 1970; none where none was published.")
        case .tokenExpiry:
            Declaration(
                .gauge,
                "When the first of the tokens that operators and programs use expires, in seconds since 1970; sessions, codes and calendar feeds aside."
            )
        case .pausedWebhooks: Declaration(.gauge, "Webhooks that are paused, by operators or after failures.")
        case .warnings:
            Declaration(
                .gauge,
                "Warnings of apps that stand, by kind: those that webhooks bring and `pinledger attention` explains.",
                labels: ["kind"])
        case .unreviewedChanges:
            Declaration(.gauge, "Changes that bypassed their approvals and wait for another person's review.")
        }
    }
}

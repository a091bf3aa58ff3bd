import Configuration

/// A setting of a node or an edge, by its one name: `max_connections` is `--max-connections` as a flag, `PINLEDGER_MAX_CONNECTIONS` in the
/// environment, and the key `max_connections` in the configuration file.
enum Setting: String, CaseIterable, Sendable {
    case database, listen
    case adminListen = "admin_listen"
    case metricsListen = "metrics_listen"
    case kekFile = "kek_file"
    case nextKekFile = "next_kek_file"
    case batchPublicKey = "batch_public_key"
    case bundles
    case readOnly = "read_only"
    case writeQueue = "write_queue"
    case databaseTimeout = "database_timeout"
    case requireSynchronous = "require_synchronous"
    case documentLifetime = "document_lifetime"
    case documentMaxAge = "document_max_age"
    case staleIfError = "stale_if_error"
    case countryHeader = "country_header"
    case countryDatabase = "country_database"
    case logLevel = "log_level"
    case logFormat = "log_format"
    case accessLog = "access_log"
    case tlsCertificate = "tls_certificate"
    case tlsKey = "tls_key"
    case adminClientCAFile = "admin_client_ca_file"
    case adminBehindProxy = "admin_behind_proxy"
    case snapshotAudit = "snapshot_audit"

    case allowPrivateRange = "allow_private_range"
    case allowHTTPWebhooks = "allow_http_webhooks"
    case webhookTimeout = "webhook_timeout"
    case webhookCAFile = "webhook_ca_file"

    case firebaseCredentials = "firebase_credentials"
    case firebaseInterval = "firebase_interval"
    case firebaseEndpoint = "firebase_endpoint"

    case maxConnections = "max_connections"
    case clientStreams = "client_streams"
    case connectionsPerNetwork = "connections_per_network"
    case streamsPerNetwork = "streams_per_network"
    case requestsPerNetwork = "requests_per_network"
    case requestsPerOperator = "requests_per_operator"
    case requestMemory = "request_memory"
    case headerTimeout = "header_timeout"
    case idleTimeout = "idle_timeout"
    case bodyTimeout = "body_timeout"
    case writeTimeout = "write_timeout"
    case drainDelay = "drain_delay"
    case drainTimeout = "drain_timeout"

    case vantage
    case probeInterval = "probe_interval"
    case resolve
    case publicName = "public_name"
    case acmeDirectory = "acme_directory"

    case telemetryRetention = "telemetry_retention"
    case telemetryRate = "telemetry_rate"
    case trustedProxy = "trusted_proxy"

    case warnDays = "warn_days"

    case otlpEndpoint = "otlp_endpoint"
    case otlpHeadersFile = "otlp_headers_file"
    case otlpCAFile = "otlp_ca_file"
    case traceRatio = "trace_ratio"

    case stateDirectory = "state_directory"
    case expectCheckpoint = "expect_checkpoint"

    case upstream
    case upstreamTokenFile = "upstream_token_file"
    case upstreamCAFile = "upstream_ca_file"
    case upstreamInterval = "upstream_interval"
    case trustedKeys = "trusted_keys"
    case downstreamTokenFile = "downstream_token_file"

    /// What reads settings.
    enum Program: Sendable, CaseIterable {
        /// `pinledger serve`, and the commands that work on its database.
        case server
        /// `pinledger edge`.
        case edge
    }

    /// The settings of a program.
    static func all(of program: Program) -> [Setting] { Self.allCases.filter { $0.isOf(program) } }

    func isOf(_ program: Program) -> Bool {
        switch (self, program) {
        case (.upstream, _), (.upstreamTokenFile, _), (.upstreamCAFile, _), (.upstreamInterval, _), (.trustedKeys, _),
            (.downstreamTokenFile, _):
            program == .edge
        case (_, .server): true
        case (.listen, .edge), (.metricsListen, .edge), (.documentMaxAge, .edge), (.staleIfError, .edge),
            (.logLevel, .edge),
            (.logFormat, .edge), (.accessLog, .edge),
            (.tlsCertificate, .edge), (.tlsKey, .edge), (.maxConnections, .edge), (.clientStreams, .edge),
            (.connectionsPerNetwork, .edge), (.streamsPerNetwork, .edge), (.requestsPerNetwork, .edge),
            (.requestsPerOperator, .edge), (.requestMemory, .edge), (.headerTimeout, .edge), (.idleTimeout, .edge),
            (.bodyTimeout, .edge), (.writeTimeout, .edge), (.drainDelay, .edge), (.drainTimeout, .edge),
            (.trustedProxy, .edge), (.stateDirectory, .edge):
            true
        case (_, .edge): false
        }
    }

    /// The form of its value.
    enum Kind: String, Sendable {
        case text, list
        /// true or false; in the environment 1, true, yes or 0, false, no.
        case flag
    }

    var kind: Kind {
        switch self {
        case .readOnly, .requireSynchronous, .adminBehindProxy, .snapshotAudit, .allowHTTPWebhooks: .flag
        case .batchPublicKey, .allowPrivateRange, .firebaseCredentials, .resolve, .publicName, .acmeDirectory,
            .trustedProxy, .upstream:
            .list
        default: .text
        }
    }

    private enum Treatment {
        case secret, reloaded, fixed
    }

    // Without a default, so that each new setting is thought of here.
    private var treatment: Treatment {
        switch self {
        case .database, .kekFile, .nextKekFile, .tlsKey, .firebaseCredentials, .upstreamTokenFile, .downstreamTokenFile,
            .otlpHeadersFile:
            .secret
        case .logLevel, .trustedProxy, .connectionsPerNetwork, .requestsPerNetwork, .requestsPerOperator: .reloaded
        case .logFormat, .accessLog, .otlpEndpoint, .otlpCAFile, .traceRatio, .listen, .adminListen, .metricsListen,
            .batchPublicKey, .bundles, .readOnly, .writeQueue,
            .databaseTimeout,
            .requireSynchronous, .documentLifetime, .documentMaxAge, .staleIfError, .countryHeader, .countryDatabase,
            .tlsCertificate,
            .adminClientCAFile, .adminBehindProxy, .snapshotAudit, .allowPrivateRange, .allowHTTPWebhooks,
            .webhookTimeout, .webhookCAFile, .firebaseInterval, .firebaseEndpoint, .maxConnections, .clientStreams,
            .streamsPerNetwork, .requestMemory, .headerTimeout, .idleTimeout, .bodyTimeout, .writeTimeout, .drainDelay,
            .drainTimeout, .vantage, .probeInterval, .resolve, .publicName, .acmeDirectory, .telemetryRetention,
            .telemetryRate,
            .warnDays, .stateDirectory, .expectCheckpoint, .upstream, .upstreamCAFile, .upstreamInterval, .trustedKeys:
            .fixed
        }
    }

    /// Whether it names a file that only its owner may read, or holds a secret itself: what systemd passes as a credential.
    var isSecret: Bool { self.treatment == .secret }

    /// Whether a running node takes a new value. Every other setting needs a restart.
    var isReloaded: Bool { self.treatment == .reloaded }

    /// The flag; nil for a setting that has none.
    var flag: String? { self == .snapshotAudit ? nil : "--\(self.rawValue.replacing("_", with: "-"))" }

    var variable: String { "PINLEDGER_\(self.rawValue.uppercased())" }

    var key: ConfigKey { ConfigKey([self.rawValue]) }
}

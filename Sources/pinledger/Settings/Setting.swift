import Configuration

/// A setting of a node or an edge, by its one name: `max_connections` is `--max-connections` as a flag, `PINLEDGER_MAX_CONNECTIONS` in the
/// environment, and the key `max_connections` in the configuration file.
///
/// ``declared(in:)`` has all else of it. The order here is that of help texts.
enum Setting: String, CaseIterable, Sendable {
    case database, upstream
    case upstreamTokenFile = "upstream_token_file"
    case upstreamCAFile = "upstream_ca_file"
    case upstreamInterval = "upstream_interval"
    case trustedKeys = "trusted_keys"
    case downstreamTokenFile = "downstream_token_file"
    case stateDirectory = "state_directory"
    case listen
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
    case trustedProxy = "trusted_proxy"
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

    case warnDays = "warn_days"

    case otlpEndpoint = "otlp_endpoint"
    case otlpHeadersFile = "otlp_headers_file"
    case otlpCAFile = "otlp_ca_file"
    case traceRatio = "trace_ratio"

    case expectCheckpoint = "expect_checkpoint"

    /// A program that reads settings.
    enum Program: Sendable, CaseIterable {
        /// `pinledger serve`, and the commands that work on its database.
        case server
        /// `pinledger dev`, a server for trial and development that reads no file.
        case trial
        /// `pinledger edge serve`.
        case edge
        /// `pinledger edge export`, which reads an edge's file.
        case export
    }

    /// A part of a program's help.
    enum Section: String, Sendable, CaseIterable {
        case general = ""
        case outgoing = "Outgoing calls"
        case firebase = "Firebase projects"
        case limits = "Limits"
        case probes = "Probes"
        case reports = "Clients' reports"
        case announcements = "Announcements"
        case traces = "Traces"
        case memory = "Memory outside the database"
    }

    // The tables are made once: the argument parser asks for flags and their help thousands of times.
    private static let declarations: [Program: [Setting: SettingDeclaration]] = Dictionary(
        uniqueKeysWithValues: Program.allCases.map { program in
            (program, Dictionary(uniqueKeysWithValues: Setting.allCases.map { ($0, $0.declared(in: program)) }))
        })

    private static let settings: [Program: [Setting]] = Dictionary(
        uniqueKeysWithValues: Program.allCases.map { program in
            (program, Setting.allCases.filter { $0.declaration(in: program).programs.contains(program) })
        })

    private static let helps: [Program: [Setting: String]] = Dictionary(
        uniqueKeysWithValues: Program.allCases.map { program in
            let texts = Setting.allCases.map { ($0, $0.declaration(in: program).help($0.variable)) }
            return (program, Dictionary(uniqueKeysWithValues: texts))
        })

    /// The help of the flag.
    func help(in program: Program) -> String { Self.helps[program]?[self] ?? "" }

    func declaration(in program: Program) -> SettingDeclaration {
        Self.declarations[program]?[self] ?? self.declared(in: program)
    }

    /// The settings of a program.
    static func all(of program: Program) -> [Setting] { Self.settings[program] ?? [] }

    func isOf(_ program: Program) -> Bool { self.declaration(in: program).programs.contains(program) }

    /// The default; empty where there is none.
    func standard(in program: Program) -> [String] {
        if case .value(let text) = self.declaration(in: program).standard { [text] } else { [] }
    }

    /// The form of its value, the same in all programs.
    var form: SettingDeclaration.Form { self.declaration(in: .server).form }

    var isList: Bool {
        if case .list = self.form { true } else { false }
    }

    /// True for a setting that names a file which only its owner may read, or holds a secret itself: systemd passes it as a credential.
    var isSecret: Bool { self.declaration(in: .server).treatment == .secret }

    /// True where a running node takes a new value. Every other setting needs a restart.
    var isReloaded: Bool { self.declaration(in: .server).treatment == .reloaded }

    /// The flag; nil for a setting that has none.
    var flag: String? {
        self.declaration(in: .server).hasFlag ? "--\(self.rawValue.replacing("_", with: "-"))" : nil
    }

    var variable: String { "PINLEDGER_\(self.rawValue.uppercased())" }

    var key: ConfigKey { ConfigKey([self.rawValue]) }
}

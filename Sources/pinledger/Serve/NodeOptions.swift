import ArgumentParser
import Logging
import PinledgerServer

/// The flags of a node's settings.
struct NodeOptions: ParsableArguments {
    @OptionGroup var file: SettingsFileOption

    @Option(
        help: ArgumentHelp(
            "Connection string of the database, in libpq's form. May name several hosts. [env: PINLEDGER_DATABASE]",
            valueName: "conninfo"
        )
    )
    var database: String?

    @Option(help: ArgumentHelp("Address for clients. [env: PINLEDGER_LISTEN]", valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Address for operators. Default: the address for clients. [env: PINLEDGER_ADMIN_LISTEN]",
            valueName: "host:port"
        )
    )
    var adminListen: String?

    @Option(
        help: ArgumentHelp(
            "Address for monitoring systems, which read /metrics there without a token. Default: none; operators read it with theirs. [env: PINLEDGER_METRICS_LISTEN]",
            valueName: "host:port"
        )
    )
    var metricsListen: String?

    @Option(
        help: ArgumentHelp(
            "File with the 32-byte key (base64 or hex) that seals secrets in the database. [env: PINLEDGER_KEK_FILE]",
            valueName: "file"
        )
    )
    var kekFile: String?

    @Option(
        help: ArgumentHelp(
            "File with the key-encryption key that `pinledger key rewrap` is to change to: the node accepts both, and records with the one that the ledger has. [env: PINLEDGER_NEXT_KEK_FILE]",
            valueName: "file"
        )
    )
    var nextKekFile: String?

    @Option(
        help: ArgumentHelp(
            "For a node without the key-encryption key: the public key with which the other nodes' batches are signed, as `pinledger key batch-public-key` prints it. The node believes no event without such a signature. Repeat it for several. [env: PINLEDGER_BATCH_PUBLIC_KEY, separated by commas]",
            valueName: "key"
        )
    )
    var batchPublicKey: [String] = []

    @Option(
        help: ArgumentHelp(
            "Directory with entry bundles, as `pinledger bundles write DIRECTORY` writes them: the node reads the entries of pruned events there. [env: PINLEDGER_BUNDLES]",
            valueName: "directory"
        )
    )
    var bundles: String?

    @Flag(help: "Serve only: accept no changes and need no private key. [env: PINLEDGER_READ_ONLY=1]")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "Changes that may wait to be recorded. Further ones get 503. Default: 2000. [env: PINLEDGER_WRITE_QUEUE]",
            valueName: "count"
        )
    )
    var writeQueue: Int?

    @Option(
        help: ArgumentHelp(
            "How long a change may wait for the database before it gets 503. Default: 5. [env: PINLEDGER_DATABASE_TIMEOUT]",
            valueName: "seconds"
        )
    )
    var databaseTimeout: Double?

    @Flag(
        help:
            "Record changes only while the database has commits wait for a synchronous standby, and take in from a primary only what such a standby has. [env: PINLEDGER_REQUIRE_SYNCHRONOUS=1]"
    )
    var requireSynchronous = false

    @OptionGroup var documents: DocumentOptions

    @Option(
        help: ArgumentHelp(
            "Header field with the client's country, such as CF-IPCountry. A proxy must set or remove it in every request. [env: PINLEDGER_COUNTRY_HEADER]",
            valueName: "name"
        )
    )
    var countryHeader: String?

    @Option(
        help: ArgumentHelp(
            "MaxMind database of the countries of addresses. It is read again when it changes, and on SIGHUP. [env: PINLEDGER_COUNTRY_DATABASE]",
            valueName: "file"
        )
    )
    var countryDatabase: String?

    @Option(
        help: ArgumentHelp(
            "Lowest level to log. Default: notice. [env: PINLEDGER_LOG_LEVEL]", valueName: "level"))
    var logLevel: Logger.Level?

    @Option(
        help: ArgumentHelp(
            "Form of the log: text for people, or json, one object a line, for programs. Default: text. [env: PINLEDGER_LOG_FORMAT]",
            valueName: "form"))
    var logFormat: LogFormat?

    @OptionGroup var access: AccessLogOptions

    @Option(
        help: ArgumentHelp(
            "Certificate chain (PEM). With it, every address speaks HTTPS. [env: PINLEDGER_TLS_CERTIFICATE]",
            valueName: "file"
        )
    )
    var tlsCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The certificate's private key (PEM). Both files are read again when they change, and on SIGHUP. [env: PINLEDGER_TLS_KEY]",
            valueName: "file"
        )
    )
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "Certificate authorities (PEM) of operators: --admin-listen then takes no connection without a certificate of theirs, besides the token. [env: PINLEDGER_ADMIN_CLIENT_CA_FILE]",
            valueName: "file"
        )
    )
    var adminClientCAFile: String?

    @Flag(
        help:
            "A proxy in front of the operators' address speaks TLS: without a certificate of its own, the node may listen there on other addresses than this machine's. [env: PINLEDGER_ADMIN_BEHIND_PROXY=1]"
    )
    var adminBehindProxy = false

    @OptionGroup(title: "Outgoing calls") var outgoing: OutgoingOptions

    @OptionGroup(title: "Firebase projects") var firebase: FirebaseOptions

    @OptionGroup(title: "Limits") var limits: LimitOptions

    @OptionGroup(title: "Probes") var probing: ProbeNodeOptions

    @OptionGroup(title: "Clients' reports") var telemetry: TelemetryOptions

    @OptionGroup(title: "Announcements") var announcements: AnnouncementOptions

    @OptionGroup(title: "Traces") var traces: TraceOptions

    @OptionGroup(title: "Memory outside the database") var memory: MemoryOptions
}

extension LogFormat: ExpressibleByArgument {}

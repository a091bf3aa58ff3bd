import ArgumentParser
import Edge
import Foundation
import Logging
import PinledgerServer
import Publishing

/// The flags of an edge's settings.
struct EdgeOptions: ParsableArguments {
    @OptionGroup var file: SettingsFileOption
    @OptionGroup var upstream: UpstreamOptions

    @Option(
        help: ArgumentHelp(
            "How often to compare all documents with the upstream's, besides the stream of news. Default: 60. [env: PINLEDGER_UPSTREAM_INTERVAL]",
            valueName: "seconds"))
    var upstreamInterval: Int?

    @Option(
        help: ArgumentHelp(
            "Directory of this edge alone, in which it keeps its documents: with it, it starts without its upstream, and never serves anything older. [env: PINLEDGER_STATE_DIRECTORY]",
            valueName: "directory"))
    var stateDirectory: String?

    @Option(
        help: ArgumentHelp(
            "File with the tokens, one a line, of edges that may follow this one. Default: none may. It is read again when it changes, and on SIGHUP. [env: PINLEDGER_DOWNSTREAM_TOKEN_FILE]",
            valueName: "file"))
    var downstreamTokenFile: String?

    @Option(help: ArgumentHelp("Address for clients. [env: PINLEDGER_LISTEN]", valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Address for monitoring systems, which read /metrics there. Default: none. [env: PINLEDGER_METRICS_LISTEN]",
            valueName: "host:port"))
    var metricsListen: String?

    @Option(
        help: ArgumentHelp(
            "How long clients and caches may use a document before they ask again. Default: 60. [env: PINLEDGER_DOCUMENT_MAX_AGE]",
            valueName: "seconds"))
    var documentMaxAge: Int?

    @Option(
        help: ArgumentHelp(
            "How long caches may go on serving what they have while this edge fails, and a document no longer than it is valid; 0 for not at all. Default: 3600. [env: PINLEDGER_STALE_IF_ERROR]",
            valueName: "seconds"))
    var staleIfError: Int?

    @Option(
        help: ArgumentHelp(
            "Addresses of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8. May be repeated. [env: PINLEDGER_TRUSTED_PROXY, separated by commas]",
            valueName: "range"))
    var trustedProxy: [String] = []

    @Option(
        help: ArgumentHelp("Lowest level to log. Default: notice. [env: PINLEDGER_LOG_LEVEL]", valueName: "level"))
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
            valueName: "file"))
    var tlsCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The certificate's private key (PEM). Both files are read again when they change, and on SIGHUP. [env: PINLEDGER_TLS_KEY]",
            valueName: "file"))
    var tlsKey: String?

    @OptionGroup(title: "Limits") var limits: LimitOptions
}

/// The settings that an edge needs before it starts.
struct EdgeConfiguration: Sendable {
    let upstream: UpstreamAddress
    let keys: TrustedKeys
    let interval: Duration
    /// The absolute path; nil for an edge that keeps nothing.
    let stateDirectory: String?
    let downstream: DownstreamTokens
    let listen: ListenAddress
    let metricsListen: ListenAddress?
    let caching: ClientCaching
    let trustedProxies: TrustedProxies
    let logLevel: Logger.Level
    let logFormat: LogFormat
    /// Where a line for each request goes; nil for nowhere.
    let accessLog: String?
    /// Nil for plain HTTP.
    let certificate: ServerCertificate?
    let limits: Server.Limits
    /// Seconds from the order to stop to the closing of the listeners.
    let drainDelay: Int

    static let defaultListen = "127.0.0.1:8450"

    /// What keeps the settings of the file up to date; nil where there is no file.
    private(set) var renewal: SettingsRenewal?

    /// Reads the settings of an edge that is about to start.
    init(_ options: EdgeOptions) throws {
        let file = try options.file.read(of: .edge)
        let settings = try Settings(file: file)
        try self.init(options, settings)
        self.renewal = file.map { file in
            SettingsRenewal(of: file, in: .edge, settings) { settings in
                SettingsRenewal.Reloaded(
                    logLevel: try NodeConfiguration.logLevel(settings, options.logLevel),
                    limits: try options.limits.read(settings).0,
                    trustedProxies: try settings.networks(.trustedProxy, options.trustedProxy))
            }
        }
    }

    init(_ options: EdgeOptions, _ settings: Settings) throws {
        self.keys = try options.upstream.keys(settings)
        self.interval = .seconds(try settings.number(.upstreamInterval, options.upstreamInterval, or: 60, in: 1...3600))
        self.stateDirectory = settings.text(.stateDirectory, options.stateDirectory).map {
            URL(fileURLWithPath: $0).standardizedFileURL.path
        }
        let tokens = settings.text(.downstreamTokenFile, options.downstreamTokenFile)
        self.downstream = try settings.locating(.downstreamTokenFile) {
            do throws(DownstreamTokens.Unusable) { return try DownstreamTokens(file: tokens) } catch {
                throw CommandFailure(error.description, advice: error.advice, status: .usage)
            }
        }
        self.listen = try settings.address(
            .listen, settings.text(.listen, options.listen, default: Self.defaultListen) ?? Self.defaultListen)
        self.metricsListen = try settings.text(.metricsListen, options.metricsListen).map {
            try settings.address(.metricsListen, $0)
        }
        self.caching = try settings.caching(options.documentMaxAge, options.staleIfError)
        self.trustedProxies = TrustedProxies(try settings.networks(.trustedProxy, options.trustedProxy))
        self.logLevel = try NodeConfiguration.logLevel(settings, options.logLevel)
        self.logFormat = try NodeConfiguration.logFormat(settings, options.logFormat)
        self.accessLog = try options.access.read(settings)
        self.certificate = try settings.certificate(
            options.tlsCertificate, options.tlsKey, operatorAuthorities: nil, isApart: false)
        (self.limits, self.drainDelay) = try options.limits.read(settings)
        self.upstream = try options.upstream.address(settings)
    }
}

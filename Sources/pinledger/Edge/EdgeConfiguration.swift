import Edge
import Logging
import PinledgerServer
import Publishing

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

    /// The watch on the configuration file; nil where there is none.
    private(set) var renewal: SettingsRenewal?

    /// Reads the settings of an edge that is about to start, from flags and from the file that they or a variable name.
    init(_ options: EdgeOptions) throws {
        let settings = try options.settings()
        try self.init(settings)
        self.renewal = settings.file.map { file in
            SettingsRenewal(of: file, settings) { settings in
                SettingsRenewal.Reloaded(
                    logLevel: try settings.word(.logLevel), limits: try Server.Limits(settings),
                    trustedProxies: try settings.networks(.trustedProxy))
            }
        }
    }

    init(_ settings: Settings) throws {
        try settings.check()
        self.keys = try settings.trustedKeys
        self.interval = .seconds(try settings.integer(.upstreamInterval))
        self.stateDirectory = MemoryConfiguration.directory(settings)
        let tokens = settings.text(.downstreamTokenFile)
        self.downstream = try settings.locating(.downstreamTokenFile) {
            do throws(DownstreamTokens.Unusable) { return try DownstreamTokens(file: tokens) } catch {
                throw CommandFailure(error.description, advice: error.advice, status: .usage)
            }
        }
        self.listen = try settings.address(.listen)
        self.metricsListen = try settings.address(ifGiven: .metricsListen)
        self.caching = try settings.caching
        self.trustedProxies = TrustedProxies(try settings.networks(.trustedProxy))
        self.logLevel = try settings.word(.logLevel)
        self.logFormat = try settings.word(.logFormat)
        self.accessLog = try settings.accessLogPath
        self.certificate = try settings.certificate(isApart: false)
        self.limits = try Server.Limits(settings)
        self.drainDelay = try settings.integer(.drainDelay)
        self.upstream = try UpstreamAddress(settings)
    }
}

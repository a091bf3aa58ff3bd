import ArgumentParser
import Countries
import EventStore
import Foundation
import HTTPTypes
import Keys
import Logging
import PinWire
import PinledgerServer
import Pinning
import Postgres

/// An address to listen on.
struct ListenAddress: Sendable {
    var host: String
    var port: Int

    init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw CommandFailure("\(text) is not an address of the form host:port", status: .usage) }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty else { throw CommandFailure("\(text) names no host", status: .usage) }
        self.host = host
        self.port = port
    }

    /// The same host, with the port that the system gave where none was asked for.
    func with(port: Int) -> ListenAddress {
        var address = self
        address.port = port
        return address
    }

    /// Whether it is reached from this machine alone.
    var isLoopback: Bool { LoopbackHost.contains(self.host) }

    var text: String { self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)" }
}

/// The environment, read once.
enum Environment {
    static subscript(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The names of all variables.
    static var names: [String] { Array(ProcessInfo.processInfo.environment.keys) }

    static func isSet(_ name: String) -> Bool { ["1", "true", "yes"].contains(Self[name]?.lowercased() ?? "") }
}

/// The settings that a node needs before it starts.
struct NodeConfiguration: Sendable {
    var database: String
    /// Whether it is for trial and development: who started it gets a token, and a file with it, once it serves.
    var isTrial: Bool
    var listen: ListenAddress
    var adminListen: ListenAddress?
    /// Nil for none.
    var metricsListen: ListenAddress?
    /// The key-encryption keys; nil on a node that has none.
    var keyEncryptionKeys: KeyEncryptionKeys?
    /// By whose signatures a node without ``keyEncryptionKeys`` follows the ledger; none where it believes what it reads.
    var batchPublicKeys: [Ed25519PublicKey]
    var requiresSynchronousStandby: Bool
    /// Where the entries of pruned events are.
    var bundles: BundleDirectory?
    var isReadOnly: Bool
    /// The number of changes that may wait.
    var writeQueue: Int
    /// How long a change may take, from its arrival to its answer.
    var databaseTimeout: Duration
    var documentLifetime: Int64
    var caching: ClientCaching
    /// The field in which a trusted proxy states a client's country.
    var countryHeader: HTTPField.Name?
    /// The database of addresses' countries.
    var countryDatabase: CountryDatabase?
    /// Whether the snapshot that the node starts from is checked against the ledger in the background; not with
    /// PINLEDGER_SNAPSHOT_AUDIT=0.
    var auditsSnapshot: Bool
    var logLevel: Logger.Level
    var logFormat: LogFormat
    /// Where a line for each request goes; nil for nowhere.
    var accessLog: String?
    /// Nil to record no traces.
    var traces: TraceConfiguration?
    /// Nil for plain HTTP.
    var certificate: ServerCertificate?
    var limits: Server.Limits
    var outgoing: OutgoingConfiguration
    var firebase: FirebaseConfiguration
    /// Seconds from the order to stop to the closing of the listeners.
    var drainDelay: Int
    var probing: ProbeConfiguration
    var telemetry: TelemetryConfiguration
    /// Whether a proxy in front of the operators' address speaks TLS.
    var isAdminBehindProxy: Bool
    /// How long before the end of a certificate or pin it is announced.
    var horizons: Horizons
    var memory: MemoryConfiguration
    /// What keeps the settings of the file up to date; nil where there is no file.
    var renewal: SettingsRenewal?

    static let defaultListen = "127.0.0.1:8440"

    /// Reads the settings of a node that is about to start.
    init(_ options: NodeOptions) throws {
        let file = try options.file.read()
        let settings = try Settings(file: file)
        try self.init(options, settings)
        self.renewal = file.map { file in
            SettingsRenewal(of: file, in: .server, settings) { settings in
                SettingsRenewal.Reloaded(
                    logLevel: try Self.logLevel(settings, options.logLevel),
                    limits: try options.limits.read(settings).0,
                    trustedProxies: try options.telemetry.read(settings).trustedProxies)
            }
        }
    }

    /// - Parameter isTrial: Whether it is for trial and development: documents may be valid for less than any client needs.
    init(_ options: NodeOptions, _ settings: Settings, isTrial: Bool = false) throws {
        guard let database = settings.text(.database, options.database) else {
            throw CommandFailure(
                "no database is given",
                advice: "Give --database, set PINLEDGER_DATABASE or name it in --config, or try `pinledger dev`.",
                status: .usage
            )
        }
        guard PostgresConfiguration(connectionString: database).isWellFormed else {
            throw settings.failure(
                .database, "is no connection string of libpq",
                advice:
                    "Write it like `host=db dbname=pinledger user=pinledger`, or `postgresql://pinledger@db/pinledger`."
            )
        }
        self.database = database
        self.isTrial = isTrial
        self.listen = try settings.address(
            .listen, settings.text(.listen, options.listen, default: Self.defaultListen) ?? Self.defaultListen)
        self.adminListen = try settings.text(.adminListen, options.adminListen).map {
            try settings.address(.adminListen, $0)
        }
        self.metricsListen = try settings.text(.metricsListen, options.metricsListen).map {
            try settings.address(.metricsListen, $0)
        }
        self.isReadOnly = try settings.isOn(.readOnly, options.readOnly)
        self.keyEncryptionKeys = try Self.keyEncryptionKeys(options, settings)
        do {
            self.batchPublicKeys = try Self.readBatchPublicKeys(
                settings.list(.batchPublicKey, options.batchPublicKey))
        } catch let failure as CommandFailure {
            throw settings.failure(.batchPublicKey, "cannot be used: \(failure.message)", advice: failure.advice)
        }
        self.bundles = settings.text(.bundles, options.bundles).map(BundleDirectory.init)
        self.requiresSynchronousStandby = try settings.isOn(.requireSynchronous, options.requireSynchronous)
        self.writeQueue = try settings.number(.writeQueue, options.writeQueue, or: 2000, in: 1...1_000_000_000)
        self.databaseTimeout = .seconds(
            try settings.number(.databaseTimeout, options.databaseTimeout, or: 5, in: 0.5...86_400))
        self.documentLifetime = try settings.number(
            .documentLifetime, options.documents.documentLifetime, or: 86_400, in: (isTrial ? 1 : 300)...31_536_000)
        self.caching = try settings.caching(options.documents.documentMaxAge, options.documents.staleIfError)
        // A document is renewed at a quarter of its lifetime: a document that a cache holds longer than the rest has
        // expired.
        guard isTrial || Int64(self.caching.maxAge) <= self.documentLifetime / 2 else {
            throw settings.failure(
                .documentMaxAge, "must be at most half of \(settings.name(of: .documentLifetime))")
        }
        self.countryHeader = try settings.text(.countryHeader, options.countryHeader).map { text in
            guard let name = HTTPField.Name(text) else {
                throw settings.failure(.countryHeader, "must be the name of a header field, and is \(text)")
            }
            return name
        }
        self.countryDatabase = try settings.text(.countryDatabase, options.countryDatabase).map { file in
            try settings.locating(.countryDatabase) {
                do throws(CountryDatabase.Failure) { return try CountryDatabase(file: file) } catch {
                    throw CommandFailure(error.description, advice: error.advice)
                }
            }
        }
        self.auditsSnapshot = try settings.isOn(.snapshotAudit, default: true)
        // On a terminal, what is to be read is what is wrong.
        self.logLevel = try Self.logLevel(settings, options.logLevel, or: isTrial ? .warning : .notice)
        self.logFormat = try Self.logFormat(settings, options.logFormat)
        self.accessLog = try options.access.read(settings)
        self.traces = try options.traces.read(settings)
        self.certificate = try settings.certificate(
            options.tlsCertificate, options.tlsKey, operatorAuthorities: options.adminClientCAFile,
            isApart: self.adminListen != nil)
        self.isAdminBehindProxy = try settings.isOn(.adminBehindProxy, options.adminBehindProxy)
        self.outgoing = try options.outgoing.read(settings)
        self.firebase = try options.firebase.read(settings)
        guard !self.isReadOnly || self.firebase.accounts.isEmpty else {
            let readOnly = settings.name(of: .readOnly, as: .firebaseCredentials)
            throw settings.failure(
                .firebaseCredentials, "and \(readOnly) cannot be combined: a read-only node pushes nothing",
                advice: "Give the service account to a node that runs without \(readOnly).")
        }
        (self.limits, self.drainDelay) = try options.limits.read(settings)
        self.probing = try options.probing.read(settings)
        self.telemetry = try options.telemetry.read(settings)
        self.horizons = try options.announcements.read(settings)
        self.memory = try options.memory.read(settings)
        guard !self.memory.trustsDatabase || self.memory.directory != nil || self.keyEncryptionKeys != nil else {
            throw CommandFailure(
                "--trust-database needs --state-directory or --kek-file: without them there is nothing that it would overrule",
                status: .usage)
        }
    }

    /// Refuses to have tokens come in over plain HTTP from other machines.
    func checkOperatorsAddress() throws {
        let address = self.adminListen ?? self.listen
        guard self.certificate == nil, !address.isLoopback, !self.isAdminBehindProxy else { return }
        throw CommandFailure(
            "operators would send their tokens to \(address.text) over plain http, where all on the way can read them",
            advice:
                "Give --tls-certificate and --tls-key, or keep operators on this machine with --admin-listen 127.0.0.1:8441. Where a proxy in front speaks TLS, say so with --admin-behind-proxy.",
            status: .usage)
    }

    /// - Parameter usual: The level where nothing names one.
    static func logLevel(
        _ settings: Settings, _ flag: Logger.Level?, or usual: Logger.Level = .notice
    ) throws -> Logger.Level {
        let text = settings.text(.logLevel, flag?.rawValue, default: usual.rawValue) ?? ""
        guard let level = Logger.Level(argument: text) else {
            throw settings.failure(
                .logLevel, "is \(String(shown: text.utf8)), which is not a log level",
                advice: "Use one of: \(Logger.Level.allValueStrings.joined(separator: ", ")).")
        }
        return level
    }

    static func logFormat(_ settings: Settings, _ flag: LogFormat?) throws -> LogFormat {
        let text = settings.text(.logFormat, flag?.rawValue, default: LogFormat.text.rawValue) ?? ""
        guard let form = LogFormat(rawValue: text) else {
            throw settings.failure(.logFormat, "must be text or json, and is \(String(shown: text.utf8))")
        }
        return form
    }

    private static func keyEncryptionKeys(_ options: NodeOptions, _ settings: Settings) throws -> KeyEncryptionKeys? {
        func key(_ setting: Setting, _ flag: String?) throws -> KeyEncryptionKey? {
            try settings.text(setting, flag).map { file in try settings.locating(setting) { try Self.readKey(file) } }
        }
        let (key, next) = (try key(.kekFile, options.kekFile), try key(.nextKekFile, options.nextKekFile))
        guard let key else {
            guard next == nil else {
                throw settings.failure(
                    .nextKekFile, "needs the present key-encryption key beside it",
                    advice: "Give \(settings.name(of: .kekFile, as: .nextKekFile)) too.")
            }
            return nil
        }
        return KeyEncryptionKeys(key, beside: next)
    }

    /// Reads a key-encryption key from a file that only its owner may read.
    static func readKey(_ path: String) throws -> KeyEncryptionKey {
        let data: [UInt8]
        do throws(PrivateFile.Failure) { data = try PrivateFile.read(path) } catch {
            throw CommandFailure(error, "the key-encryption key", path)
        }
        do { return try KeyEncryptionKey(text: data) } catch {
            throw CommandFailure(
                "\(path) does not hold a key-encryption key",
                advice: "It must hold 32 bytes in base64 or hex: openssl rand -base64 32 > \(path)"
            )
        }
    }

    /// Reads public keys as `pinledger key batch-public-key` prints them.
    static func readBatchPublicKeys(_ texts: [String]) throws -> [Ed25519PublicKey] {
        try texts.map { text in
            guard let bytes = Base64.decode(text), let key = Ed25519PublicKey(bytes) else {
                throw CommandFailure(
                    "\(text) is not a batch public key",
                    advice: "Give the 44 characters that `pinledger key batch-public-key` prints.", status: .usage)
            }
            return key
        }
    }
}

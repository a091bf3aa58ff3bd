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
    /// True where the snapshot that the node starts from is checked against the ledger in the background.
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
    /// The watch on the configuration file; nil where there is none.
    var renewal: SettingsRenewal?

    /// Reads the settings of a node that is about to start, from flags and from the file that they or a variable name.
    init(_ options: NodeOptions) throws {
        let settings = try options.settings()
        try self.init(settings, trustsDatabase: options.trust.trustDatabase)
        self.renewal = settings.file.map { file in
            SettingsRenewal(of: file, settings) { settings in
                SettingsRenewal.Reloaded(
                    logLevel: try settings.word(.logLevel), limits: try Server.Limits(settings),
                    trustedProxies: try settings.networks(.trustedProxy))
            }
        }
    }

    init(_ settings: Settings, trustsDatabase: Bool) throws {
        try settings.check()
        guard let database = settings.text(.database) else {
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
        self.isTrial = settings.program == .trial
        self.listen = try settings.address(.listen)
        self.adminListen = try settings.address(ifGiven: .adminListen)
        self.metricsListen = try settings.address(ifGiven: .metricsListen)
        self.isReadOnly = try settings.isOn(.readOnly)
        self.keyEncryptionKeys = try Self.keyEncryptionKeys(settings)
        do {
            self.batchPublicKeys = try Self.readBatchPublicKeys(settings.list(.batchPublicKey))
        } catch let failure as CommandFailure {
            throw settings.failure(.batchPublicKey, "cannot be used: \(failure.message)", advice: failure.advice)
        }
        self.bundles = settings.text(.bundles).map(BundleDirectory.init)
        self.requiresSynchronousStandby = try settings.isOn(.requireSynchronous)
        self.writeQueue = try settings.integer(.writeQueue)
        self.databaseTimeout = .seconds(try settings.number(.databaseTimeout))
        self.documentLifetime = Int64(try settings.integer(.documentLifetime))
        self.caching = try settings.caching
        // A document is renewed at a quarter of its lifetime: a document that a cache holds longer than the rest has
        // expired.
        guard self.isTrial || Int64(self.caching.maxAge) <= self.documentLifetime / 2 else {
            throw settings.failure(
                .documentMaxAge, "must be at most half of \(settings.name(of: .documentLifetime))")
        }
        self.countryHeader = try settings.text(.countryHeader).map { text in
            guard let name = HTTPField.Name(text) else {
                throw settings.failure(.countryHeader, "must be the name of a header field, and is \(text)")
            }
            return name
        }
        self.countryDatabase = try settings.text(.countryDatabase).map { file in
            try settings.locating(.countryDatabase) {
                do throws(CountryDatabase.Failure) { return try CountryDatabase(file: file) } catch {
                    throw CommandFailure(error.description, advice: error.advice)
                }
            }
        }
        self.auditsSnapshot = try settings.isOn(.snapshotAudit)
        self.logLevel = try settings.word(.logLevel)
        self.logFormat = try settings.word(.logFormat)
        self.accessLog = try settings.accessLogPath
        self.traces = try TraceConfiguration(settings)
        self.certificate = try settings.certificate(isApart: self.adminListen != nil)
        self.isAdminBehindProxy = try settings.isOn(.adminBehindProxy)
        self.outgoing = try OutgoingConfiguration(settings)
        self.firebase = try FirebaseConfiguration(settings)
        guard !self.isReadOnly || self.firebase.accounts.isEmpty else {
            let readOnly = settings.name(of: .readOnly, as: .firebaseCredentials)
            throw settings.failure(
                .firebaseCredentials, "and \(readOnly) cannot be combined: a read-only node pushes nothing",
                advice: "Give the service account to a node that runs without \(readOnly).")
        }
        self.limits = try Server.Limits(settings)
        self.drainDelay = try settings.integer(.drainDelay)
        self.probing = try ProbeConfiguration(settings)
        self.telemetry = try TelemetryConfiguration(settings)
        self.horizons = try Horizons(settings)
        self.memory = try MemoryConfiguration(settings, trustsDatabase: trustsDatabase)
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

    private static func keyEncryptionKeys(_ settings: Settings) throws -> KeyEncryptionKeys? {
        func key(_ setting: Setting) throws -> KeyEncryptionKey? {
            try settings.text(setting).map { file in try settings.locating(setting) { try Self.readKey(file) } }
        }
        let (key, next) = (try key(.kekFile), try key(.nextKekFile))
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

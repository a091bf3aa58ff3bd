/// How to reach a database and how long to wait for it.
///
/// The connection string may hold everything that libpq understands (several hosts, `sslmode`, `target_session_attrs`,
/// `service`, `passfile`), as `key=value` pairs or as a URI; its settings win over the values here. Descriptions and
/// reflections of this value never show a password.
package struct PostgresConfiguration: Sendable {
    /// How the timeouts are set on the server.
    package enum SessionSettings: Sendable, Hashable {
        /// In the session's start-up options: no extra round trip.
        case startup
        /// By SET LOCAL at the start of each transaction: for a transaction pooler (PgBouncer), which refuses start-up
        /// options. Only this process limits the time of statements outside a transaction.
        case perTransaction
        /// Not at all: only this process limits the time.
        case none
    }

    /// The role of the server to use, in libpq's words.
    package enum PreferredServer: String, Sendable, Hashable {
        case any
        /// The primary, and no standby.
        case readWrite = "read-write"
        /// A standby, or the primary where no standby answers.
        case preferStandby = "prefer-standby"
    }

    /// Contains the password, if it was given here: never log it.
    package var connectionString: String
    package var applicationName: String
    /// The time for each host of the connection string.
    package var connectTimeout: Duration
    /// The time for each statement, limited by the server; this process gives up `answerGrace` later and drops the
    /// connection.
    package var statementTimeout: Duration?
    /// How long a statement waits for a lock (SQLSTATE 55P03 after it); nil for no limit of its own.
    package var lockTimeout: Duration?
    /// How long a transaction may be idle before the server ends the session; nil for no limit.
    package var idleInTransactionTimeout: Duration?
    /// How long to wait for a server's answer beyond the statement timeout, and after a cancellation.
    package var answerGrace: Duration
    package var sessionSettings: SessionSettings
    /// Whether the session asks the server for commits that a synchronous standby confirms: it sets
    /// `pinledger.require_synchronous`, which the functions that record changes obey.
    package var requiresSynchronousStandby = false
    /// Which of several hosts to use, where the connection string does not say it (`target_session_attrs`).
    package var preferredServer: PreferredServer
    /// Whether statements may stay prepared on the server: not behind a transaction pooler.
    package var preparesStatements: Bool

    package init(
        connectionString: String,
        applicationName: String = "pinledger",
        connectTimeout: Duration = .seconds(5),
        statementTimeout: Duration? = .seconds(30),
        lockTimeout: Duration? = .seconds(5),
        idleInTransactionTimeout: Duration? = .seconds(30),
        answerGrace: Duration = .seconds(5),
        sessionSettings: SessionSettings = .startup,
        preferredServer: PreferredServer = .any,
        preparesStatements: Bool = true
    ) {
        self.connectionString = connectionString
        self.applicationName = applicationName
        self.connectTimeout = connectTimeout
        self.statementTimeout = statementTimeout
        self.lockTimeout = lockTimeout
        self.idleInTransactionTimeout = idleInTransactionTimeout
        self.answerGrace = answerGrace
        self.sessionSettings = sessionSettings
        self.preferredServer = preferredServer
        self.preparesStatements = preparesStatements
    }

    /// Whether the server is a primary, as a condition in SQL. Where it is, the commit of the statement's transaction waits for no
    /// synchronous standby: for what may be lost, and has to come while none answers.
    package static let isPrimaryAndWaitsForNone =
        "NOT pg_is_in_recovery() AND set_config('synchronous_commit', 'local', true) IS NOT NULL"

    /// The same with the primary preferred; nil where that changes nothing: the connection string names one server, says itself
    /// which to use, or standbys are not preferred.
    package var ofPrimary: PostgresConfiguration? {
        guard self.preferredServer == .preferStandby,
            (try? ConnectionParameters(parsing: self.connectionString))?.choosesByPreference ?? false
        else { return nil }
        var configuration = self
        configuration.preferredServer = .readWrite
        return configuration
    }

    /// Whether a commit of the session waits until a standby has it.
    package static let commitsWait = """
        SELECT current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
        """
    private static let requirement = "pinledger.require_synchronous"
    /// Asks for a setting that only this program's start-up options make: NULL where something in between drops them.
    static let ownSetting = "SELECT nullif(current_setting('\(requirement)', true), '')"

    /// The settings of the session, under the server's names: the timeouts in milliseconds, and what is required.
    var serverSettings: [(name: String, value: String)] {
        let timeouts = [
            ("statement_timeout", self.statementTimeout),
            ("lock_timeout", self.lockTimeout),
            ("idle_in_transaction_session_timeout", self.idleInTransactionTimeout),
        ].compactMap { name, timeout in timeout.map { (name, "\($0.wholeMilliseconds)") } }
        return timeouts + [(Self.requirement, self.requiresSynchronousStandby ? "on" : "off")]
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The connection string's parts without passwords.
    package var redactedDescription: String {
        guard let parameters = try? ConnectionParameters(parsing: self.connectionString) else {
            return "(malformed connection string)"
        }
        return parameters.redactedDescription
    }

    /// True where the connection string names more than one server.
    package var namesSeveralServers: Bool {
        (try? ConnectionParameters(parsing: self.connectionString))?.hasSeveralHosts ?? false
    }

    /// Whether libpq can read the connection string.
    package var isWellFormed: Bool { (try? ConnectionParameters(parsing: self.connectionString)) != nil }

    package var description: String { self.redactedDescription }
    package var debugDescription: String { self.redactedDescription }
    package var customMirror: Mirror { Mirror(self, children: ["connection": self.redactedDescription]) }
}

extension Duration {
    /// Rounded up, and at least 1: to the server 0 means "no limit".
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let partial = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, seconds.multipliedReportingOverflow(by: 1000).partialValue &+ partial)
    }
}

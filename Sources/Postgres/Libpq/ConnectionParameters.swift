import CPostgres

/// A connection string parsed by libpq, so that defaults can be added and passwords removed.
struct ConnectionParameters {
    private(set) var values: [(keyword: String, value: String)] = []
    private var secretKeywords: Set<String> = []

    /// Throws `.usage`, without libpq's text: it quotes the string.
    init(parsing string: String) throws(PostgresError) {
        var message: UnsafeMutablePointer<CChar>? = nil
        defer { unsafe PQfreemem(message) }
        guard let options = unsafe PQconninfoParse(string, &message) else {
            throw PostgresError(.usage, "the connection string is malformed")
        }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                let name = unsafe String(cString: keyword)
                unsafe self.values.append((name, String(cString: value)))
                if let display = unsafe option.pointee.dispchar, unsafe display[0] == CChar(UInt8(ascii: "*")) {
                    self.secretKeywords.insert(name)
                }
            }
            unsafe option += 1
        }
    }

    subscript(keyword: String) -> String? {
        get { self.values.first { $0.keyword == keyword }?.value }
        set {
            self.values.removeAll { $0.keyword == keyword }
            if let newValue { self.values.append((keyword, newValue)) }
        }
    }

    var redactedDescription: String {
        self.values
            .map { "\($0.keyword)=\(self.secretKeywords.contains($0.keyword) ? "(hidden)" : $0.value)" }
            .joined(separator: " ")
    }

    /// Adds the configuration's values as defaults for those of the string.
    mutating func complete(with configuration: PostgresConfiguration) {
        let userTimeout = configuration.statementTimeout.map { $0 + configuration.answerGrace } ?? .seconds(30)
        let defaults = [
            ("fallback_application_name", configuration.applicationName),
            ("keepalives_idle", "5"),
            ("keepalives_interval", "2"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", String(userTimeout.wholeMilliseconds)),
        ]
        for (keyword, value) in defaults where self[keyword] == nil {
            self[keyword] = value
        }
        if self.choosesByPreference {
            self["target_session_attrs"] = configuration.preferredServer.rawValue
        }
        self["client_encoding"] = "UTF8"
        if configuration.sessionSettings == .startup {
            // Later options win, so the operator's stand last.
            let ours = configuration.serverSettings.map { "-c \($0.name)=\($0.value)" }
            let fixed = Self.fixedSettings.map { "-c \($0)=\($1)" }
            let keepalives = Self.serverKeepalives.map { "-c \($0)=\($1)" }
            self["options"] = (fixed + ours + keepalives + [self["options"] ?? ""]).joined(separator: " ")
        }
    }

    /// Settings on which sessions rely, whatever the role or the database has for theirs: a login may change those of its role.
    private static let fixedSettings = [
        ("default_transaction_read_only", "off"), ("default_transaction_deferrable", "off"),
        ("default_transaction_isolation", #"read\ committed"#), ("idle_session_timeout", "0"), ("jit", "off"),
        ("plan_cache_mode", "auto"), ("enable_indexscan", "on"), ("enable_bitmapscan", "on"),
    ]

    /// How soon the server ends a session, and releases its locks, whose client's host has lost power: after eleven
    /// seconds, where the system's own settings take two hours. Without effect on Unix sockets.
    private static let serverKeepalives = [
        ("tcp_keepalives_idle", 5), ("tcp_keepalives_interval", 2), ("tcp_keepalives_count", 3),
        ("tcp_user_timeout", 11_000),
    ]

    /// One set of parameters for each attempt to connect, in order.
    ///
    /// libpq walks through several hosts by itself, but in non-blocking mode it limits no time for each of them: a host
    /// that drops packets would use up the whole wait. So each host is tried alone.
    var attempts: [ConnectionParameters] {
        let hosts = self.list("host")
        let addresses = self.list("hostaddr")
        let ports = self.list("port")
        let count = max(hosts.count, addresses.count)
        guard count > 1 else { return [self] }
        let single = (0..<count).map { index in
            var copy = self
            copy["host"] = index < hosts.count ? hosts[index] : nil
            copy["hostaddr"] = index < addresses.count ? addresses[index] : nil
            copy["port"] = ports.count == 1 ? ports[0] : (index < ports.count ? ports[index] : nil)
            return copy
        }
        guard self["target_session_attrs"] == "prefer-standby" else { return single }
        return ["standby", "any"].flatMap { wanted in
            single.map { parameters in
                var copy = parameters
                copy["target_session_attrs"] = wanted
                return copy
            }
        }
    }

    /// True where there are several servers, and nothing here says which of them to use.
    var choosesByPreference: Bool { self.hasSeveralHosts && self["target_session_attrs"] == nil }

    var hasSeveralHosts: Bool { max(self.list("host").count, self.list("hostaddr").count) > 1 }

    private func list(_ keyword: String) -> [String] {
        guard let value = self[keyword] else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
}

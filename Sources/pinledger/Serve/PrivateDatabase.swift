import Foundation

/// A PostgreSQL server of our own, in a data directory, reached over a Unix socket that only this user can open.
///
/// PostgreSQL refuses to run as root: started by root, it runs as the system's account `postgres`, in a directory that
/// this account can reach.
struct PrivateDatabase: Sendable {
    /// The directories of the data and the socket.
    let directory: String
    private let programs: String
    private let account: String?

    private var data: String { "\(self.directory)/data" }
    private var log: String { "\(self.directory)/postgresql.log" }

    /// - Parameter home: The directory of the installation; where the server's account cannot reach it, the database is
    ///   kept under `/var/lib/pinledger` instead.
    init(home: String) async throws {
        guard let programs = Self.findPrograms() else {
            throw CommandFailure(
                "no PostgreSQL server is installed",
                advice: "apt-get install postgresql, or use `pinledger serve` with a database."
            )
        }
        self.programs = programs
        if getuid() == 0 {
            let account = "postgres"
            self.account = account
            let wanted = "\(home)/postgresql"
            try FileManager.default.createDirectory(atPath: wanted, withIntermediateDirectories: true)
            let reachable = try await Subprocess.run([
                "setpriv", "--reuid=\(account)", "--regid=\(account)", "--clear-groups", "test", "-x", wanted,
            ])
            if reachable.status == 0, wanted.utf8.count < 80 {
                self.directory = wanted
            } else {
                try? FileManager.default.removeItem(atPath: wanted)
                self.directory = "/var/lib/pinledger/\(Self.fingerprint(of: home))"
                try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
            }
            try await Subprocess.require(["chown", account, self.directory])
        } else {
            self.account = nil
            // A socket's path has at most 107 bytes.
            let wanted = "\(home)/postgresql"
            self.directory =
                wanted.utf8.count < 80 ? wanted : "/tmp/pinledger-\(getuid())-\(Self.fingerprint(of: home))"
            try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
        }
        try await Subprocess.require(["chmod", "700", self.directory])
    }

    /// The connection string for an account of the database.
    func connectionString(user: String) -> String {
        "host='\(self.directory)' port=5432 dbname=pinledger user=\(user)"
    }

    /// Creates the cluster if there is none, and starts it unless it runs.
    func start() async throws {
        let isNew = try await self.server(["test", "-f", "\(self.data)/PG_VERSION"]).status != 0
        if isNew {
            try await self.requireServer([
                "\(self.programs)/initdb", "--pgdata=\(self.data)", "--username=postgres", "--auth=trust",
                "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-sync",
            ])
        }
        if try await self.server(["\(self.programs)/pg_ctl", "-D", self.data, "status"]).status != 0 {
            let settings =
                "-c listen_addresses='' -c unix_socket_directories='\(self.directory)' -c port=5432 -c max_connections=200"
            try await self.requireServer([
                "\(self.programs)/pg_ctl", "-D", self.data, "-l", self.log, "-w", "-t", "60", "-o", settings, "start",
            ])
        }
        if isNew {
            try await self.psql("postgres", "CREATE DATABASE pinledger")
        }
    }

    /// Runs SQL as the superuser.
    func psql(_ database: String, _ sql: String) async throws {
        try await self.requireServer([
            "\(self.programs)/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.directory, "-U", "postgres",
            "-d", database, "-c", sql,
        ])
    }

    /// Stops the server; remaining connections are closed.
    func stop() async {
        _ = try? await self.server(["\(self.programs)/pg_ctl", "-D", self.data, "-m", "fast", "-w", "-t", "60", "stop"])
    }

    private func server(_ arguments: [String]) async throws -> Subprocess.Outcome {
        guard let account else { return try await Subprocess.run(arguments) }
        return try await Subprocess.run(
            ["setpriv", "--reuid=\(account)", "--regid=\(account)", "--init-groups"] + arguments,
            environment: ["HOME": self.directory]
        )
    }

    private func requireServer(_ arguments: [String]) async throws {
        let outcome = try await self.server(arguments)
        guard outcome.status == 0 else {
            let log = FileManager.default.contents(atPath: self.log).map {
                String(decoding: $0.suffix(2000), as: UTF8.self)
            }
            throw CommandFailure("\(arguments[0]) failed:\n\(outcome.output)\(log.map { "\n" + $0 } ?? "")")
        }
    }

    /// The newest of Debian's PostgreSQL versions, or the one on the PATH.
    private static func findPrograms() -> String? {
        let base = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
        let newest = versions.compactMap { Double($0).map { ($0, "\(base)/\($0.formatted)/bin") } }.max { $0.0 < $1.0 }?
            .1
        if let newest, FileManager.default.isExecutableFile(atPath: "\(newest)/initdb") { return newest }
        return Subprocess.path(of: "initdb").map { String($0.dropLast("/initdb".count)) }
    }

    private static func fingerprint(of path: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325  // FNV-1a: a short name for a path, nothing secret
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 36)
    }
}

extension Double {
    /// Without a fraction that is zero: 15, 9.6.
    fileprivate var formatted: String { self == self.rounded() ? String(Int(self)) : String(self) }
}

import Fixtures
import Testing

@testable import Postgres

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct ConfigurationTests {
    @Test(arguments: [
        "postgresql://user:s3cret@db.example:5433/pins?sslmode=verify-full&sslpassword=s3cret",
        "host=db.example port=5433 user=user password=s3cret sslpassword=s3cret dbname=pins sslmode=verify-full",
    ])
    func `no description of a configuration shows a password`(_ string: String) {
        let configuration = PostgresConfiguration(connectionString: string)
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped, configuration.redactedDescription] {
            #expect(!text.contains("s3cret"))
            #expect(text.contains("host=db.example"))
            #expect(text.contains("password=(hidden)"))
        }
    }

    @Test func `a malformed connection string is misuse and is not quoted`() async {
        let configuration = PostgresConfiguration(connectionString: "password=s3cret host")
        let error = await failure { try await PostgresConnection.connect(configuration) }
        #expect(error?.code == .usage)
        #expect(error.map { "\($0)" }?.contains("s3cret") == false)
        #expect(!"\(configuration)".contains("s3cret"))
    }

    @Test func `the operator's settings win over the defaults`() throws {
        let string = "host=a keepalives_idle=60 application_name=mine options='-c lock_timeout=7'"
        var parameters = try ConnectionParameters(parsing: string)
        parameters.complete(with: PostgresConfiguration(connectionString: string))
        #expect(parameters["keepalives_idle"] == "60")
        #expect(parameters["keepalives_count"] == "3")
        #expect(parameters["application_name"] == "mine")
        #expect(
            parameters["options"] == "-c default_transaction_read_only=off -c default_transaction_deferrable=off "
                + #"-c default_transaction_isolation=read\ committed -c idle_session_timeout=0 -c jit=off "#
                + "-c plan_cache_mode=auto -c enable_indexscan=on -c enable_bitmapscan=on "
                + "-c statement_timeout=30000 -c lock_timeout=5000 "
                + "-c idle_in_transaction_session_timeout=30000 -c pinledger.require_synchronous=off "
                + "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=11000 -c lock_timeout=7"
        )
    }

    @Test func `no options are sent behind a pooler`() throws {
        var parameters = try ConnectionParameters(parsing: "host=a")
        parameters.complete(with: PostgresConfiguration(connectionString: "", sessionSettings: .perTransaction))
        #expect(parameters["options"] == nil)
    }

    @Test func `the server notices a client whose host is gone after seconds, not hours`() async throws {
        let port = try TestServer.environment("PINLEDGER_TEST_PGPORT")
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(connectionString: "host=127.0.0.1 port=\(port) user=postgres dbname=postgres"))
        let names = ["tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"]
        var shown: [String] = []
        for name in names { shown.append(try await connection.query("SHOW \(name)").only.text(0)) }
        #expect(shown == ["5", "2", "3", "11000"])
        await connection.close()
    }

    @Test func `several hosts are tried one after the other`() throws {
        let parameters = try ConnectionParameters(parsing: "host=a,b port=1,2 target_session_attrs=prefer-standby")
        let attempts = parameters.attempts.map {
            "\($0["host"] ?? "")\($0["port"] ?? "")\($0["target_session_attrs"] ?? "")"
        }
        #expect(attempts == ["a1standby", "b2standby", "a1any", "b2any"])
        #expect(try ConnectionParameters(parsing: "host=a,b port=5").attempts.map { $0["port"] } == ["5", "5"])
        #expect(try ConnectionParameters(parsing: "").attempts.count == 1)
    }

    @Test func `the role of one of several hosts is that of the string, else that of the configuration`() throws {
        func attrs(_ string: String, _ preferred: PostgresConfiguration.PreferredServer) throws -> String? {
            var configuration = PostgresConfiguration(connectionString: string)
            configuration.preferredServer = preferred
            var parameters = try ConnectionParameters(parsing: string)
            parameters.complete(with: configuration)
            return parameters["target_session_attrs"]
        }
        #expect(try attrs("host=a,b", .readWrite) == "read-write")
        #expect(try attrs("postgresql://a,b/x", .preferStandby) == "prefer-standby")
        #expect(try attrs("hostaddr=127.0.0.1,127.0.0.2", .readWrite) == "read-write")
        #expect(try attrs("host=a,b target_session_attrs=any", .readWrite) == "any")
        // A single server is used whatever it is.
        #expect(try attrs("host=a", .readWrite) == nil)
    }

    @Test func `milliseconds are rounded up and never to nothing`() {
        #expect(Duration.zero.wholeMilliseconds == 1)
        #expect(Duration.microseconds(1500).wholeMilliseconds == 2)
        #expect(Duration.seconds(3).wholeMilliseconds == 3000)
    }
}

import Exposition
import Fixtures
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import PinWire
import Pinning
import Testing
import Traces

@testable import PinledgerServer

/// The rights to every operation, asked by callers of every kind. The responder is a listener's, and so are the routes; only their
/// handlers are others, which say that they were reached. The contract says what is right.
@Suite struct `The permissions of operations` {
    /// An operation as the contract describes it.
    private struct Described: Sendable {
        var permission: Permission?
        /// Where the permission must be held, in the contract's words; nil for an operation that needs none.
        var place: String?
        var needsToken: Bool
    }

    private static let mine = "com.example.mine"
    private static let others = "org.example.theirs"
    private static let verdict = HTTPField.Name.constant("Verdict")
    private static let allowed = "allowed"
    private static let now = Timestamp(seconds: 1_800_000_000)

    /// The operations by their ids, read once for all tests.
    private static let all = Result { try Self.described() }

    private static func described() throws -> [String: Described] {
        let contract = try ContractTests.contract()
        let paths = try #require(contract["paths"] as? [String: [String: Any]])
        let general = contract["security"] as? [[String: Any]] ?? []
        var described: [String: Described] = [:]
        for case let operation as [String: Any] in paths.values.flatMap(\.values) {
            guard let id = operation["operationId"] as? String else { continue }
            let security = operation["security"] as? [[String: Any]] ?? general
            let permission = operation["x-permission"] as? String
            described[id] = Described(
                permission: try permission.map { try #require(Permission(rawValue: $0), "\(id)") },
                place: operation["x-permission-on"] as? String,
                needsToken: !security.isEmpty && !security.contains { $0.isEmpty })
        }
        return described
    }

    // MARK: Callers

    /// The rights of a token whose role has these permissions.
    private static func rights(_ permissions: Set<Permission>, on apps: AppPattern = .all) throws -> Rights {
        var access = Access()
        let role = try RoleName("own-role")
        access.evolve(.roleDefined(role, permissions), at: Self.now)
        let terms = AccessToken.Terms(kind: .general, grants: [Grant(role: role, apps: [apps])])
        access.evolve(
            .tokenIssued(
                NewToken(
                    id: "tok_1", name: "test", digest: [], expiresAt: Self.now.adding(seconds: 3_600), terms: terms)),
            at: Self.now)
        return access.rights(of: Actor(kind: .token, id: "tok_1", name: "test"), at: Self.now)
    }

    private static func rights(_ role: BuiltInRole, on apps: AppPattern = .all) throws -> Rights {
        try Self.rights(role.permissions, on: apps)
    }

    /// Takes every request for one of the same caller, or of nobody.
    private struct KnownCaller: CallerAuthenticator {
        var rights: Rights?

        func caller(
            of request: Request, from peer: SocketAddress?, acceptsPassword: Bool, acceptsCookie: Bool
        ) throws(Problem) -> Caller {
            guard let rights else { throw Problem(.tokenMissing, "The request has no Authorization header.") }
            return Caller(actor: Actor(kind: .token, id: "tok_1", name: "test"), rights: rights)
        }
    }

    // MARK: Requests

    /// Every operation's route with a handler that does nothing. A refusal's type, and the permission that it asks for, are in a field.
    private static let table = RouteTable(
        ExampleServer.routes.all.map { route in
            Route(
                route.operationID, route.method, route.path, surface: route.surface, access: route.access,
                acceptsPassword: route.acceptsPassword, isPrepared: route.isPrepared, takesRest: route.takesRest,
                query: route.query, isForeign: route.isForeign,
                subtree: Route.Subtree(path: "/") { problem in
                    let permission = problem.members["permission"]?.stringValue.map { " \($0)" } ?? ""
                    let text = problem.type.rawValue + permission
                    return Response(status: problem.type.entry.status, headers: [Self.verdict: text])
                }
            ) { _ in Response(status: .noContent, headers: [Self.verdict: Self.allowed]) }
        })

    /// The path of an operation whose ids name nothing, except for the app.
    private static func target(_ route: Route, _ described: Described, app: String) -> String {
        let segments = route.path.split(separator: "/").map { segment in
            segment == "{app}" ? app[...] : segment.hasPrefix("{") ? "x" : segment
        }
        let isInQuery = described.place == "app" && !route.path.contains("{app}")
        return "/" + segments.joined(separator: "/") + (isInQuery ? "?app=\(app)" : "")
    }

    /// Asks every operation.
    ///
    /// - Parameters:
    ///   - rights: The caller's; a request without a token has none.
    ///   - expect: The right verdict for an operation, or nil where it does not count.
    private static func ask(
        _ name: String, _ rights: Rights?, app: String = mine, isLogPublic: Bool = false,
        expect: (Described) throws -> String?
    ) async throws {
        try await Self.ask(name, { _ in rights }, app: app, isLogPublic: isLogPublic, expect: expect)
    }

    private static func ask(
        _ name: String, _ rights: (Described) throws -> Rights?, app: String = mine, isLogPublic: Bool = false,
        expect: (Described) throws -> String?
    ) async throws {
        let all = try Self.all.get()
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        var count = 0
        for route in Self.table.routes {
            let described = try #require(all[route.operationID], "\(route.operationID)")
            guard let expected = try expect(described) else { continue }
            let rights = try rights(described)
            let responder = Responder(
                table: Self.table, authenticator: KnownCaller(rights: rights), isLogPublic: { isLogPublic },
                unread: { nil }, content: .everything, places: Self.places, rates: Self.rates,
                operatorRates: Self.rates, log: Self.log, trustedProxies: TrustedProxies(), auditCounter: Self.audit,
                isSecure: false, metrics: Self.metrics, notes: nil, tracer: Self.tracer, clock: { Self.now })
            let head = HTTPRequest(
                method: route.method, scheme: "http", authority: "localhost",
                path: Self.target(route, described, app: app),
                headerFields: rights == nil ? [:] : [.authorization: "Bearer x"])
            let response = try await responder.respond(
                to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
                context: ExchangeContext(source: ApplicationRequestContextSource(channel: channel, logger: Self.logger))
            )
            let found = response.headers[Self.verdict] ?? "\(response.status.code)"
            #expect(found == expected, "\(name): \(route.operationID)")
            count += 1
        }
        #expect(count > 0, "\(name) asks no operation")
    }

    /// A request's logger, which has the request's id; it writes nothing.
    private static let logger = {
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        logger[metadataKey: "hb.request.id"] = "1"
        return logger
    }()

    private static let places = ConnectionPlaces(limits: .init(connections: 10))
    private static let rates = RequestRates(rate: 0)
    private static let log = LimitedLog(logger: .silent)
    private static let audit = AuditCounter()
    private static let metrics = RequestMetrics(registry: MetricRegistry())
    private static let tracer = NodeTracer()

    // MARK: Verdicts

    /// The answer to a caller that sees every app and lacks the permission of the operation.
    private static func denied(_ permission: Permission) -> String { "permission_denied \(permission.rawValue)" }

    @Test func `an operation is refused to a token that lacks only its permission`() async throws {
        try await Self.ask("all but its permission") { described in
            try Self.rights(Set(Permission.allCases).subtracting([described.permission].compactMap(\.self)))
        } expect: { described in
            guard let permission = described.permission else { return Self.allowed }
            // Without it there is no app.
            return permission == .readApps && described.place == "app" ? "app_unknown" : Self.denied(permission)
        }
    }

    @Test func `an operation is not refused to a token that has only its permission`() async throws {
        try await Self.ask("only its permission") { described in
            try Self.rights(Set([described.permission].compactMap(\.self)))
        } expect: { _ in
            Self.allowed
        }
    }

    @Test(arguments: BuiltInRole.allCases)
    func `a role may call what its permissions say and nothing else`(role: BuiltInRole) async throws {
        try await Self.ask("\(role)", try Self.rights(role)) { described in
            guard let permission = described.permission, !role.permissions.contains(permission) else {
                return Self.allowed
            }
            return Self.denied(permission)
        }
    }

    @Test(arguments: BuiltInRole.allCases)
    func `an app outside of a token's scope does not exist for any operation on it`(role: BuiltInRole) async throws {
        let rights = try Self.rights(role, on: .one(try AppID(Self.mine)))
        try await Self.ask("\(role) of one app", rights, app: Self.others) { described in
            described.place == "app" ? "app_unknown" : nil
        }
    }

    @Test(arguments: BuiltInRole.allCases)
    func `a token of one app may call what its role says on this app`(role: BuiltInRole) async throws {
        let rights = try Self.rights(role, on: .one(try AppID(Self.mine)))
        try await Self.ask("\(role) of one app", rights) { described in
            guard described.place == "app" || described.place == "any_app", let permission = described.permission else {
                return nil
            }
            return role.permissions.contains(permission) ? Self.allowed : Self.denied(permission)
        }
    }

    @Test(arguments: BuiltInRole.allCases)
    func `an operation on everything is refused to a token of one app`(role: BuiltInRole) async throws {
        let rights = try Self.rights(role, on: .one(try AppID(Self.mine)))
        try await Self.ask("\(role) of one app", rights) { described in
            guard described.place == "everywhere", let permission = described.permission else { return nil }
            return Self.denied(permission)
        }
    }

    @Test func `an operation is refused without a token unless the contract says that it needs none`() async throws {
        try await Self.ask("nobody", nil, isLogPublic: true) { $0.needsToken ? "token_missing" : Self.allowed }
        // The log needs a token where it is not public.
        try await Self.ask("nobody", nil) { described in
            described.needsToken || described.permission == .readLog ? "token_missing" : Self.allowed
        }
    }
}

import HTTPTypes
import Hummingbird
import Pinning

/// One operation of the API: a line of the route table, and an operation of `openapi/openapi.yaml`.
struct Route: Sendable {
    /// The listener of an operation.
    enum Surface: Sendable {
        /// `/client`, `/healthz` and everything else that is public.
        case client
        /// `/v1`.
        case admin
        /// `/metrics`: operators read it with a token. The listener for monitoring systems asks for none.
        case metrics
        /// On every listener.
        case both
    }

    /// The allowed callers.
    enum Access: Hashable, Sendable {
        case everybody
        /// Everyone; operators get more.
        case optionalToken
        /// Everyone where the log is public, or else who may read it; on a listener for clients, nobody then.
        case log
        /// Every valid token, whatever it may do. The handler, or the command, sees to the rest.
        case anyToken
        /// Who holds a permission on the app that the path names, or else the query. For others who do not see the app
        /// it does not exist.
        case app(Permission)
        /// Who holds a permission on any app; the handler leaves out the others.
        case somewhere(Permission)
        /// Who holds a permission on everything.
        case everywhere(Permission)

        /// Whether nobody may call it without a token.
        var needsToken: Bool {
            switch self {
            case .everybody, .optionalToken, .log: false
            case .anyToken, .app, .somewhere, .everywhere: true
            }
        }

        /// The permission that the operation needs, as the contract names it; nil for operations that need none.
        var permission: Permission? {
            switch self {
            case .everybody, .optionalToken, .anyToken: nil
            case .log: .readLog
            case .app(let permission), .somewhere(let permission), .everywhere(let permission): permission
            }
        }
    }

    /// Paths below which problems have another server's form, which its clients expect.
    struct Subtree: Sendable {
        /// As far as the paths are the same, with parameters in braces.
        let path: String
        /// The answer with a problem: of a route's handler, of a method that its path lacks, or of a path without
        /// routes; nil for the form of RFC 9457.
        let refusal: @Sendable (Problem) -> Response?
    }

    /// The callers of an operation, by its path: failures for clients are another matter than those for a health check.
    enum Caller: String, Sendable {
        case client, `operator`, monitoring
    }

    let operationID: String
    let method: HTTPRequest.Method
    /// The path with its parameters in braces.
    let path: String
    let surface: Surface
    let access: Access
    /// Whether the token may also come as the password of HTTP's Basic scheme. Browsers send a password with every
    /// request that a foreign page causes: so only for operations that change nothing, or whose requests no page can
    /// send to another site, which are those with a body declared as JSON, and DELETE.
    let acceptsPassword: Bool
    /// Whether a browser's session opens it: not what other servers' programs ask for, or what is public too.
    var acceptsCookie: Bool { self.access.needsToken && !self.acceptsPassword }
    /// Whether its successful answers are ``PreparedAnswer``s: the same bytes for all, without a request id.
    let isPrepared: Bool
    /// Whether one request costs the node more than other public ones: a signature, or an answer of its own.
    let isCostly: Bool
    var caller: Caller {
        if ["/healthz", "/readyz", "/metrics"].contains(self.path) { return .monitoring }
        let isOfClients = self.path.hasPrefix("/client/") || self.path.hasPrefix("/compat/")
        return isOfClients && !self.path.hasPrefix("/compat/wultra/admin/") ? .client : .operator
    }
    /// Whether the ledger is told who read its answer: who has access, keys, histories, receivers and the log.
    var isConfidential: Bool {
        switch self.access {
        case .everybody, .optionalToken, .app(.readApps), .somewhere(.readApps), .everywhere(.readApps): false
        case .anyToken: ["listTokens", "getToken"].contains(self.operationID)
        case .log: true
        case .app(let permission), .somewhere(let permission), .everywhere(let permission):
            self.method == .get
                && [.readAccess, .readKeys, .readHistory, .readWebhooks, .readLog, .readAudit].contains(permission)
        }
    }
    /// Whether a part of its path is a secret, which no log may show.
    var takesSecret: Bool { self.path.hasPrefix("/calendars/") }
    /// Whether the ledger is told of requests without a token that it refuses.
    let isAudited: Bool
    /// Whether it is answered while the node still reads the ledger.
    let needsNoLedger: Bool
    /// Whether the last parameter of its path takes all segments that follow, with the slashes between them.
    let takesRest: Bool
    /// The query parameters it knows.
    let query: [String]
    /// Whether it is another server's operation: unknown parameters of its query are ignored, and none is refused
    /// before the handler has read it.
    let isForeign: Bool
    /// Bytes its body may have.
    let bodyLimit: Int
    /// The subtree with its own form for problems; nil for that of RFC 9457.
    let subtree: Subtree?
    let handler: @Sendable (Exchange) async throws -> Response

    init(
        _ operationID: String, _ method: HTTPRequest.Method, _ path: String, surface: Surface = .admin,
        access: Access, acceptsPassword: Bool = false, isPrepared: Bool = false,
        isCostly: Bool = false, isAudited: Bool = false, needsNoLedger: Bool = false, takesRest: Bool = false,
        query: [String] = [],
        isForeign: Bool = false,
        bodyLimit: Int = 64 * 1024,
        subtree: Subtree? = nil,
        _ handler: @escaping @Sendable (Exchange) async throws -> Response
    ) {
        self.operationID = operationID
        self.method = method
        self.path = path
        self.surface = surface
        self.access = access
        self.acceptsPassword = acceptsPassword
        self.isPrepared = isPrepared
        self.isCostly = isCostly
        self.isAudited = isAudited
        self.needsNoLedger = needsNoLedger
        self.takesRest = takesRest
        self.query = query
        self.isForeign = isForeign
        self.bodyLimit = bodyLimit
        self.subtree = subtree
        self.handler = handler
    }
}

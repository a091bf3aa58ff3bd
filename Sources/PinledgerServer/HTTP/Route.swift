import HTTPTypes
import Hummingbird

/// One operation of the API: a line of the route table, and an operation of `openapi/openapi.yaml`.
struct Route: Sendable {
    /// Which listener an operation belongs to.
    enum Surface: Sendable {
        /// `/client`, `/healthz` and what else the whole world may ask.
        case client
        /// `/v1`.
        case admin
        /// On every listener.
        case both
    }

    /// Who may call.
    enum Access: Sendable {
        case everybody
        /// Everybody; operators are told more.
        case optionalToken
        case token
    }

    /// Paths below which problems are told in another server's form, by what its clients look for.
    struct Subtree: Sendable {
        /// As far as the paths are the same, with parameters in braces.
        let path: String
        /// The answer that tells a problem: of a route's handler, of a method that its path lacks, or of a path without
        /// routes; nil for what is told as RFC 9457 has it.
        let refusal: @Sendable (Problem) -> Response?
    }

    let operationID: String
    let method: HTTPRequest.Method
    /// The path with its parameters in braces.
    let path: String
    let surface: Surface
    let access: Access
    /// Whether the token may also come as the password of HTTP's Basic scheme. Browsers send a password along with
    /// whatever a foreign page makes them ask: only where nothing is changed, or by requests that no page can make them
    /// send to another site, which are those with a body declared as JSON, and DELETE.
    let acceptsPassword: Bool
    /// Whether its good answers are ``PreparedAnswer``s: the same bytes for everybody, without a request id.
    let isPrepared: Bool
    /// Whether one request costs the node more than others do that everybody may make: a signature, or an answer of its own.
    let isCostly: Bool
    /// The query parameters it knows.
    let query: [String]
    /// Whether it is another server's operation: what else stands in its query is passed over, and nothing of it is
    /// refused before the handler has looked at it.
    let isForeign: Bool
    /// Bytes its body may have.
    let bodyLimit: Int
    /// What it is a part of that has its own form for problems; nil for that of RFC 9457.
    let subtree: Subtree?
    let handler: @Sendable (Exchange) async throws -> Response

    init(
        _ operationID: String, _ method: HTTPRequest.Method, _ path: String, surface: Surface = .admin,
        access: Access = .token, acceptsPassword: Bool = false, isPrepared: Bool = false,
        isCostly: Bool = false, query: [String] = [], isForeign: Bool = false, bodyLimit: Int = 64 * 1024,
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
        self.query = query
        self.isForeign = isForeign
        self.bodyLimit = bodyLimit
        self.subtree = subtree
        self.handler = handler
    }
}

import Addresses
import ClientFormats
import EventStore
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PinWire
import Pinning
import Postgres
import Signals
import Traces
import Tracing

/// Answers every request of one listener: looks the route up, authenticates the caller, reads the query, turns every
/// error into a problem.
struct Responder: HTTPResponder {
    let table: RouteTable
    let authenticator: any CallerAuthenticator
    let isLogPublic: @Sendable () -> Bool
    /// Why the node answers only requests that need no ledger; nil once it has read it.
    let unread: @Sendable () -> LedgerFault?
    let content: Server.Listener.Content
    let places: ConnectionPlaces
    /// The limits of clients' networks, and of operators.
    let rates: RequestRates
    let operatorRates: RequestRates
    let log: LimitedLog
    /// The addresses of proxies whose statement of clients' addresses is trusted.
    let trustedProxies: TrustedProxies
    /// Takes the requests that the ledger is to know of.
    let auditCounter: AuditCounter
    /// Whether the listener speaks TLS.
    let isSecure: Bool
    let metrics: RequestMetrics
    /// The access log; nil for none.
    let notes: RequestNotes?
    let tracer: NodeTracer
    let clock: @Sendable () -> Timestamp

    func respond(to request: Request, context: ExchangeContext) async throws -> Response {
        let begun = ContinuousClock.now
        let answer = await self.answer(request, context)
        if let route = answer.route, !answer.isCancelled {
            self.metrics.note(route, answer.response.status.code, since: begun)
        }
        let response = self.finished(answer, request, context)
        if self.notes != nil, !answer.isCancelled { self.note(answer, response, to: request, context, since: begun) }
        return response
    }

    /// The response with the fields that all have, and without a body where a head was asked for.
    private func finished(_ answer: Answer, _ request: Request, _ context: ExchangeContext) -> Response {
        var response = answer.response
        for (name, value) in answer.standing?.fields("operator") ?? [] { response.headers[name] = value }
        if answer.isPrepared {
            guard request.method == .head, response.status != .notModified else { return response }
            return response.createHeadResponse()
        }
        response.headers[.requestID] = context.id
        response.headers[.contentTypeOptions] = "nosniff"
        // RFC 6797, for browsers that read the handbook or the API here. Clients' programs have their own rules.
        if self.isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// Writes the request's line of the access log.
    private func note(
        _ answer: Answer, _ response: Response, to request: Request, _ context: ExchangeContext,
        since begun: ContinuousClock.Instant
    ) {
        let path = (request.head.path ?? "/").prefix { $0 != "?" }
        self.notes?.log.note(
            AccessEntry(
                time: self.clock(),
                address: ClientAddress.of(request, from: context.peer, trusted: self.trustedProxies.networks),
                method: request.method.rawValue.printable,
                path: AccessEntry.shownPath(path, of: answer.route, status: response.status.code),
                operation: answer.route?.operationID, status: response.status.code,
                bytes: request.method == .head ? 0 : response.body.contentLength, duration: .now - begun,
                requestID: context.id, traceID: answer.traceID.map { "\($0)" }, actor: answer.actor,
                app: response.status.code < 400 ? answer.app.flatMap { try? AppID($0) } : nil))
    }

    /// Logs an unforeseen error, and a request that its sender or its network may not make. The line has no text of the
    /// sender except the address.
    private func note(
        _ error: any Error, as problem: Problem, in route: Route, _ request: Request, _ context: ExchangeContext
    ) {
        // The client has given the request up, or the node stops: there is no answer to give, and no error.
        if error is CancellationError { return }
        if problem.type == .internalError {
            return self.log.log(
                .unforeseenError,
                ["request_id": "\(context.id)", "operation": "\(route.operationID)", "error": "\(error)"])
        }
        let status = problem.type.entry.status
        guard status == .unauthorized || status == .forbidden || status == .tooManyRequests else { return }
        self.log.log(
            .refusedRequest,
            [
                "request_id": "\(context.id)", "operation": "\(route.operationID)", "status": "\(status.code)",
                "cause": "\(problem.type.rawValue)",
                "address": "\(ClientAddress.of(request, from: context.peer, trusted: self.trustedProxies.networks))",
            ])
    }

    /// Methods that an application's interface answers itself, in its own form. All others, such as TRACE, are left to
    /// the server around it.
    private static let interfaceMethods: Set<HTTPRequest.Method> = [
        .get, .head, .post, .put, .patch, .delete, .options,
    ]

    private struct Answer {
        var response: Response
        /// Whether the answer is the same for all, and complete.
        var isPrepared = false
        /// What the caller's limit leaves it; nil for clients, and where there is no limit.
        var standing: RequestRates.Standing?
        /// Nil for a path, or a method, that no operation has.
        var route: Route?
        var actor: Actor?
        /// The app that the path names.
        var app: String?
        /// Why it is not what was asked for.
        var problem: ProblemType?
        var traceID: TraceID?
        /// The client has given the request up, or the node stops: nobody gets it.
        var isCancelled = false

        init(_ response: Response) { self.response = response }

        /// A refusal, in the form of its subtree.
        init(_ problem: Problem, in subtree: Route.Subtree?, _ context: ExchangeContext) {
            self.response = subtree?.refusal(problem) ?? problem.response(requestID: context.id)
            self.problem = problem.type
        }
    }

    private func answer(_ request: Request, _ context: ExchangeContext) async -> Answer {
        // The target's raw text: nothing is decoded before it is split.
        let target = request.head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let match: RouteTable.Match
        do { match = try self.table.match(request.method, String(parts[0])) } catch {
            return Answer(Problem(error), in: nil, context)
        }
        switch match {
        case .nothing(let subtree):
            let problem = Problem(.notFound, "There is nothing at \(parts[0].printable).")
            self.audit(problem, of: request, context, nil, [:], by: nil)
            return Answer(problem, in: subtree, context)
        case .methods(let methods, let subtree):
            let allow = methods.map(\.rawValue).joined(separator: ", ")
            if request.method == .options {
                return Answer(Response(status: .noContent, headers: [.allow: allow]))
            }
            var problem = Problem(
                .methodNotAllowed, "\(request.method.rawValue.printable) cannot be done here; \(allow) can.")
            problem.headers[.allow] = allow
            self.audit(problem, of: request, context, nil, [:], by: nil)
            return Answer(problem, in: Self.interfaceMethods.contains(request.method) ? subtree : nil, context)
        case .route(let route, let parameters):
            let place = self.place(of: request, route, context.id)
            let query = parts.count > 1 ? parts[1] : ""
            var answer: Answer
            if let inner = place.context {
                answer = await InstrumentationContext.withValue(inner) {
                    await self.answer(request, context, route, parameters, query: query)
                }
                answer.traceID = inner.trace?.traceID
            } else {
                answer = await self.answer(request, context, route, parameters, query: query)
            }
            (answer.route, answer.app) = (route, parameters["app"])
            if answer.isCancelled {
                place.span?.discard()
            } else {
                self.end(
                    place, status: answer.response.status.code, problem: answer.problem, actor: answer.actor,
                    app: answer.app)
            }
            return answer
        }
    }

    /// The answer of an operation.
    private func answer(
        _ request: Request, _ context: ExchangeContext, _ route: Route, _ parameters: [String: String],
        query: Substring
    ) async -> Answer {
        var caller: Caller?
        do {
            if !route.needsNoLedger, let fault = self.unread() { throw fault }
            caller = try self.caller(of: request, context, route)
            let standing = try self.admit(caller, route)
            let exchange = try self.exchange(
                of: request, context, route, parameters, query, by: caller)
            // Requests that wait for a locked table leave connections to other operations.
            let response = try await PostgresPool.$kind.withValue(route.operationID) {
                try await route.handler(exchange)
            }
            self.audit(readOf: route, response, of: request, context, parameters, by: caller)
            var answer = Answer(response)
            (answer.isPrepared, answer.standing, answer.actor) = (route.isPrepared, standing, caller?.actor)
            return answer
        } catch {
            let problem = Problem(error)
            self.note(error, as: problem, in: route, request, context)
            var answer = Answer(problem, in: route.subtree, context)
            answer.isCancelled = error is CancellationError
            if !answer.isCancelled { self.audit(problem, of: request, context, route, parameters, by: caller) }
            answer.actor = caller?.actor
            return answer
        }
    }

    /// A handler's input: the caller, and the query as the route reads it.
    private func exchange(
        of request: Request, _ context: ExchangeContext, _ route: Route, _ parameters: [String: String],
        _ query: Substring, by caller: Caller?
    ) throws(Problem) -> Exchange {
        if let caller { try Self.authorize(caller, route, parameters, query) }
        try self.admit(request, context, route, isOperators: caller != nil)
        return Exchange(
            request: request, requestID: context.id, parameters: parameters,
            query: route.isForeign ? [:] : try Self.query(query, of: route),
            foreignQuery: route.isForeign ? URIDecoding.decodableParameters(query) : [], actor: caller?.actor,
            rights: caller?.rights ?? .nothing,
            isOperators: caller != nil || self.content == .admin, bodyLimit: route.bodyLimit, peer: context.peer
        )
    }

    private func caller(
        of request: Request, _ context: ExchangeContext, _ route: Route
    ) throws(Problem) -> Caller? {
        func authenticate() throws(Problem) -> Caller {
            try self.authenticator.caller(
                of: request, from: context.peer, acceptsPassword: route.acceptsPassword,
                acceptsCookie: route.acceptsCookie)
        }
        // Monitoring systems have no token, and must be answered also when the node cannot tell a good one.
        if self.content == .metrics, route.surface == .metrics { return nil }
        switch route.access {
        case .everybody: return nil
        case .optionalToken:
            guard self.content.takesTokens, request.headers[.authorization] != nil else { return nil }
            // A node that cannot tell whether the token is valid gives the public answer.
            do { return try authenticate() } catch {
                guard [.halted, .upgradeNeeded, .eventsUnsigned, .starting].contains(error.type) else { throw error }
                return nil
            }
        case .log:
            // Only operators' listeners take tokens.
            if self.isLogPublic(), !self.content.takesTokens || request.headers[.authorization] == nil { return nil }
            guard self.content.takesTokens else { throw Problem(.notFound, "There is nothing at this path.") }
            return try authenticate()
        case .anyToken, .app, .somewhere, .everywhere: return try authenticate()
        }
    }

    /// Refuses a caller that does not hold the route's permission. What a change needs beyond it is asked where it is decided.
    private static func authorize(
        _ caller: Caller, _ route: Route, _ parameters: [String: String], _ query: Substring
    ) throws(Problem) {
        let rights = caller.rights
        switch route.access {
        case .everybody, .optionalToken, .anyToken: return
        case .app(let permission):
            // A text that is no app's id is refused by the handler, whose the rule is.
            let text = parameters["app"] ?? URIDecoding.parameters(query)?.first { $0.name == "app" }?.value
            guard let app = text.flatMap({ try? AppID($0) }) else { return }
            // Hosts are known to the command.
            guard !rights.allows(permission, on: app, hosts: []) else { return }
            throw Problem(rights.sees(app) ? Refusal.permissionMissing(permission, .app(app)) : Refusal.appUnknown(app))
        case .somewhere(let permission):
            guard rights.allowsSomewhere(permission) else {
                throw Problem(Refusal.permissionMissing(permission, .anyApp))
            }
        case .everywhere(let permission):
            guard rights.allowsEverywhere(permission) else {
                throw Problem(Refusal.permissionMissing(permission, .everywhere))
            }
        case .log:
            guard rights.allowsEverywhere(.readLog) else {
                throw Problem(Refusal.permissionMissing(.readLog, .everywhere))
            }
        }
    }

    /// Refuses a request of an operator who makes too many: one must not take the others' share. Kill switches are engaged all the same.
    private func admit(
        _ caller: Caller?, _ route: Route
    ) throws(Problem) -> RequestRates.Standing? {
        guard let caller else { return nil }
        let isUrgent =
            route.access.permission == .engageKillSwitches && caller.rights.allowsSomewhere(.engageKillSwitches)
        let standing = self.operatorRates.admit(caller.actor.party, isUrgent: isUrgent)
        guard let standing, let wait = standing.wait else { return standing }
        throw Self.tooMany("You have sent too many requests.", standing, wait, "operator")
    }

    private static func tooMany(
        _ detail: String, _ standing: RequestRates.Standing, _ wait: Double, _ policy: String
    ) -> Problem {
        var problem = Problem(.tooManyRequests, detail)
        problem.headers[.retryAfter] = String(Int(min(wait, 3600).rounded(.up)))
        for (name, value) in standing.fields(policy) { problem.headers[name] = value }
        return problem
    }

    /// Refuses requests without a place, and those that one network makes too often.
    private func admit(
        _ request: Request, _ context: ExchangeContext, _ route: Route, isOperators: Bool
    ) throws(Problem) {
        if let trial = self.places.trial(among: context.channels) {
            if isOperators {
                self.places.confirm(trial)
            } else if route.surface != .both || route.access.permission == .readLog, !self.places.promote(trial) {
                var problem = Problem(.overloaded, "All connections are taken, or all that your network may have.")
                problem.headers[.retryAfter] = String(Int.random(in: 5...30))
                throw problem
            }
        }
        guard route.isCostly, !isOperators,
            let network = ClientNetwork(
                of: context.peer, forwardedFor: PreparedAnswer.joined(request.headers, .forwardedFor),
                trusted: self.trustedProxies.networks),
            let standing = self.rates.admit(network), let wait = standing.wait
        else { return }
        throw Self.tooMany("Your network has asked too often.", standing, wait, "network")
    }

    private static func query(_ text: Substring, of route: Route) throws(Problem) -> [String: String] {
        guard let given = URIDecoding.parameters(text) else {
            throw Problem(.malformedRequest, "The query has a broken percent escape or \(URIDecoding.notText).")
        }
        var query: [String: String] = [:]
        for (name, value) in given {
            guard route.query.contains(name) else {
                let known = route.query.isEmpty ? "none" : route.query.joined(separator: ", ")
                throw Problem(
                    .unknownParameter, "There is no query parameter `\(name.printable)` here. Known: \(known).")
            }
            guard query.updateValue(value, forKey: name) == nil else {
                throw Problem(.malformedRequest, "The query parameter `\(name)` is given twice.")
            }
        }
        return query
    }
}

extension HTTPField.Name {
    // The names are constants of valid characters.
    static let requestID = Self.constant("Request-Id")
    static let contentTypeOptions = Self.constant("X-Content-Type-Options")
    static let link = Self.constant("Link")
    static let ledgerPosition = Self.constant("Pinledger-Position")
    static let idempotencyKey = Self.constant("Idempotency-Key")
    static let idempotencyReplayed = Self.constant("Idempotency-Replayed")
    static let lastEventID = Self.constant("Last-Event-ID")
    static let pinledgerSignature = Self.constant(ReportSignature.fieldName)
    static let forwardedFor = Self.constant("X-Forwarded-For")
    static let pinledgerClient = Self.constant(ClientReport.fieldName)

    static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not a field name") }
        return name
    }
}

extension Response {
    /// A JSON answer.
    static func json(_ json: JSON, status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
        return Response(
            status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.canonicalBytes))
        )
    }
}

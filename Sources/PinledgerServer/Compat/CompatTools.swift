import EventStore
import Formats
import HTTPTypes
import Hummingbird
import Keys
import NIOCore
import Observing
import PinWire
import Pinning
import Publishing

/// What the handlers of deployed clients' formats share.
struct CompatTools: Sendable {
    let services: Services
    let answers: CompatAnswers

    /// An app's clients of one kind, as they are declared.
    struct Declared: Sendable {
        var app: App
        var kind: ClientKind
        var client: Client
    }

    /// - Throws: ``Problem`` where the app or its clients are not there; ``LedgerFault`` where the ledger was not read to
    ///   its end, so that nobody knows.
    func declared(_ kind: ClientKind, of id: AppID) throws -> Declared {
        if let fault = self.services.ledger.partialFault { throw fault }
        guard let app = self.services.ledger.view.state.apps[id] else {
            throw Self.cached(Problem(Refusal.appUnknown(id)))
        }
        guard let client = app.clients[kind] else { throw Self.cached(Problem(Refusal.clientUnknown(id, kind))) }
        return Declared(app: app, kind: kind, client: client)
    }

    /// Long enough to spare the server, short enough for an app that is just being made.
    private static func cached(_ problem: Problem) -> Problem {
        var problem = problem
        problem.headers[.cacheControl] = "public, max-age=5"
        return problem
    }

    /// The private half of what answers are signed with, and its public half.
    func key(of declared: Declared) async throws -> (secret: ClientSigningKey, key: ClientKey) {
        guard let key = declared.client.key else {
            throw Problem(
                .clientKeyMissing,
                "No key has been set that answers to \(declared.kind.rawValue) of \(declared.app.id) are signed with.")
        }
        return (try await self.services.clientKeys.privateKey(of: key, declared.app.id), key)
    }

    /// What an app's clients see.
    func view(of declared: Declared, device: Device = Device()) throws -> ClientView {
        guard let view = self.services.clientView(of: declared.app, device: device) else {
            throw try self.services.missing(declared.app.id)
        }
        return view
    }

    /// Answers with what is the same for everybody, out of what was made before, or made now.
    func answer(
        _ exchange: Exchange, _ declared: Declared, contentType: String = "application/json",
        _ make: (ClientView) async throws -> [UInt8]
    ) async throws -> Response {
        let target = exchange.request.head.path ?? ""
        if let known = self.answers.ready(target) { return try known.response(to: exchange.request) }
        let revision = self.services.observations.revision
        let view = try self.view(of: declared)
        let answer = PreparedAnswer(
            contentType: contentType, cacheControl: "public, max-age=\(CompatAnswers.seconds)",
            body: PreparedBody(try await make(view)))
        self.answers.keep(answer, to: target, from: view, at: revision)
        return try answer.response(to: exchange.request)
    }
}

extension Services {
    /// What an app's clients see now that know nothing of rollouts; nil where there is no such app.
    func clientView(of app: App, device: Device = Device()) -> ClientView? {
        let view = self.ledger.view
        guard let document = view.state.document(of: app.id) else { return nil }
        // What is recorded has happened, also for a node whose clock lags a little.
        let now = max(self.clock(), view.head.lastTime)
        return ClientView(document, of: app, served: self.served(of: app, at: now), device: device, at: now)
    }

    /// The keys that servers were last seen to use as their own, by host.
    func served(of app: App, at now: Timestamp) -> [HostPattern: Set<Pin>] {
        var served: [HostPattern: Set<Pin>] = [:]
        for (pattern, host) in app.hosts {
            for endpoint in host.probed(of: pattern) {
                for chain in self.observations.facts(of: endpoint)?.live(at: now) ?? [] {
                    if let pin = chain.pins.first { served[pattern, default: []].insert(pin) }
                }
            }
        }
        return served
    }
}

extension Exchange {
    /// An answer in a client's own format that is nobody else's: it is not to be kept.
    func reply(_ reply: FormatReply, headers: HTTPFields = HTTPFields()) -> Response {
        self.reply(status: reply.status, reply.body, headers: headers)
    }

    func reply(status: Int, _ body: [UInt8], headers: HTTPFields = HTTPFields()) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        headers[.requestID] = self.requestID
        headers[.contentTypeOptions] = "nosniff"
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

import ClientFormats
import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import Keys
import NIOCore
import NIOPosix
import PinWire
import Pinning
import Publishing
import Secrets
import Signals

/// What the handlers of deployed clients' formats share.
struct CompatServices: Sendable {
    let services: Services
    let answers: CompatAnswers
    /// How many answers are being made at a time: each takes up to milliseconds.
    private let limiter = ConcurrencyLimiter<AppID>(limit: 64) { _ in 32 }

    init(services: Services, answers: CompatAnswers) {
        self.services = services
        self.answers = answers
    }

    /// An app's clients of one kind, as they are declared at one position of the ledger.
    struct Declared: Sendable {
        var ledger: LedgerView
        var app: App
        var kind: ClientKind
        var client: Client

        /// The request target in its one spelling: a route's path with the app, and what else it takes, filled in.
        func target(_ path: String, _ parameters: KeyValuePairs<String, String> = [:]) -> String {
            // Called before the cache is asked: no search for each parameter.
            var (target, rest) = ("", path[...])
            while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")),
                let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}"))
            {
                let name = rest[rest.utf8.index(after: open)..<close]
                target += rest[..<open]
                target += name == "app" ? self.app.id.text : parameters.first { $0.key == name }?.value ?? ""
                rest = rest[rest.utf8.index(after: close)...]
            }
            return target + rest
        }
    }

    /// - Throws: ``Problem`` where the app or its clients are not there; ``LedgerFault`` where the ledger was not read to
    ///   its end, so that nobody knows.
    func declared(_ kind: ClientKind, of id: AppID) throws -> Declared {
        if let fault = self.services.ledger.partialFault { throw fault }
        let ledger = self.services.ledger.view
        guard let app = ledger.state.apps[id] else { throw Self.cached(Problem(Refusal.appUnknown(id))) }
        guard let client = app.clients[kind] else { throw Self.cached(Problem(Refusal.clientUnknown(id, kind))) }
        return Declared(ledger: ledger, app: app, kind: kind, client: client)
    }

    /// Long enough to spare the server, short enough for an app that is just being made.
    private static func cached(_ problem: Problem) -> Problem {
        var problem = problem
        problem.headers[.cacheControl] = "public, max-age=5"
        return problem
    }

    /// What answers are signed with.
    ///
    /// - Throws: ``LedgerFault`` or ``Problem`` where nothing is signed for now, as for native documents.
    func key(of declared: Declared) async throws -> ClientSigningKey {
        try self.checkSigning()
        guard let key = declared.client.key else {
            throw Problem(
                .clientKeyMissing,
                "The key that signs answers to \(declared.kind.rawValue) of \(declared.app.id) is not set.")
        }
        return try await self.services.clientKeys.privateKey(of: key, declared.app.id)
    }

    /// Refuses while the ledger is damaged or the clock is wrong: what is signed says when, and that it is current.
    func checkSigning() throws {
        if let fault = self.services.ledger.fault { throw fault }
        if let why = self.services.ledger.suspension { throw Problem(.clockWrong, "Nothing is signed: \(why).") }
    }

    /// What an app's clients see.
    func view(of declared: Declared, device: Device = Device()) throws -> ClientView {
        guard let view = self.services.clientView(of: declared.app, in: declared.ledger, device: device) else {
            throw try self.services.missing(declared.app.id)
        }
        return view
    }

    /// Answers with bytes that are the same for all clients, made before or now.
    ///
    /// - Parameters:
    ///   - name: The request target in its one spelling (``Declared/target(_:_:)``), without what plays no part in the answer: of many who ask for the
    ///     same in other words, one has it made.
    ///   - make: Makes the body of an app's clients as they are declared by then, and of what they see.
    func answer(
        _ exchange: Exchange, _ declared: Declared, as name: String,
        _ make: (Declared, ClientView) async throws -> [UInt8]
    ) async throws -> Response {
        try await self.answer(exchange, declared, as: name, with: { _ in ((), true) }) { declared, view, _ in
            try await make(declared, view)
        }
    }

    /// The same with what has to be got from elsewhere first.
    ///
    /// - Parameter gather: Gets it, and says whether it is all there is: what is made without something is kept by nobody.
    ///   While it waits it takes no place from other answers, and so it MUST NOT wait for long.
    func answer<Gathered>(
        _ exchange: Exchange, _ declared: Declared, as name: String,
        with gather: (ClientView) async throws -> (Gathered, isWhole: Bool),
        _ make: (Declared, ClientView, Gathered) async throws -> [UInt8]
    ) async throws -> Response {
        let answer = try await self.answers.answer(as: name) {
            await self.made(declared.kind, of: declared.app.id, with: gather, make)
        }
        return try answer.response(to: exchange.request)
    }

    /// Makes an answer of what is known now.
    private func made<Gathered>(
        _ kind: ClientKind, of id: AppID,
        with gather: (ClientView) async throws -> (Gathered, isWhole: Bool),
        _ make: (Declared, ClientView, Gathered) async throws -> [UInt8]
    ) async -> CompatAnswers.Made {
        let revision = self.services.observations.revision
        var version: Int64?
        do {
            let declared = try self.declared(kind, of: id)
            version = declared.ledger.state.documentVersion(of: id)
            let view = try await self.making(of: declared) { try self.view(of: declared) }
            let (gathered, isWhole) = try await gather(view)
            return try await self.making(of: declared) {
                let body = PreparedBody(try await make(declared, view, gathered))
                let seconds = isWhole ? CompatAnswers.seconds(of: view) : 0
                let answer = PreparedAnswer(
                    contentType: "application/json",
                    cacheControl: seconds > 0 ? "public, max-age=\(seconds)" : "no-store", body: body)
                return CompatAnswers.Made(
                    answer: .success(answer), app: id, version: version, revision: revision, served: view.served,
                    changesAt: view.changesAt, until: seconds > 0 ? .now + .seconds(seconds) : nil)
            }
        } catch {
            return CompatAnswers.Made(answer: .failure(error), app: id, version: version, revision: revision)
        }
    }

    /// Makes something of an app's that takes its time, unless too much is being made already.
    func making<Result>(of declared: Declared, _ make: () async throws -> Result) async throws -> Result {
        guard let place = self.limiter.take(for: [declared.app.id]) else {
            throw Problem(.overloaded, "Too many answers for deployed clients are in progress.")
        }
        defer { place.release() }
        return try await make()
    }

    /// Signs on a thread of its own kind: what takes up to milliseconds must not hold those that requests are read on.
    static func signing<Result: Sendable>(_ sign: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(sign)
    }
}

extension Services {
    /// What an app's clients see now that know nothing of rollouts; nil where there is no such app.
    ///
    /// - Parameter view: The ledger's view that contains the app.
    func clientView(of app: App, in view: LedgerView, device: Device = Device()) -> ClientView? {
        guard let document = view.state.document(of: app.id) else { return nil }
        let now = view.head.present(by: self.clock())
        return ClientView(document, of: app, chains: self.chains(of: app, at: now), device: device, at: now)
    }

    /// The keys that servers were last seen to use as their own, by host.
    func served(of app: App, at now: Timestamp) -> [HostPattern: Set<Pin>] {
        ClientView.ownKeys(of: self.chains(of: app, at: now))
    }

    /// What servers were last seen to present, by host.
    private func chains(of app: App, at now: Timestamp) -> [HostPattern: [ObservedChain]] {
        app.chains(at: now) { self.observations.facts(of: $0) }
    }
}

extension Exchange {
    /// An answer in a client's own format that is nobody else's: it is not to be kept.
    func reply(_ reply: FormatReply, headers: HTTPFields = HTTPFields()) -> Response {
        self.reply(status: reply.status, reply.body, headers: headers)
    }

    func reply(status: Int, _ body: [UInt8], headers: HTTPFields = HTTPFields()) -> Response {
        var headers = headers
        // What may be answered out of what is prepared is told whole.
        headers[.requestID] = self.requestID
        return .foreign(status: status, body, headers: headers)
    }
}

extension Response {
    /// An answer in another server's form, not to be kept.
    static func foreign(status: Int, _ body: [UInt8], headers: HTTPFields) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        headers[.contentTypeOptions] = "nosniff"
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

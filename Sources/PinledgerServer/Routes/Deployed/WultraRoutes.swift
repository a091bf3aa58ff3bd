import ClientFormats
import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning

/// Wultra's mobile utility server as its SDKs see it: `/compat/wultra`.
struct WultraRoutes: Sendable {
    let tools: CompatServices
    private let templates: WultraTemplates

    init(tools: CompatServices) {
        self.tools = tools
        self.templates = WultraTemplates(tools: tools)
    }

    private static let base = "/compat/wultra"
    private static let file = "/static/{app}/fingerprints.json"

    var routes: [Route] {
        func route(
            _ id: String, _ path: String, isPrepared: Bool = false, isCostly: Bool = false, query: [String] = [],
            _ handler: @escaping @Sendable (Exchange) async throws -> Response
        ) -> Route {
            Route(
                id, .get, Self.base + path, surface: .client, access: .everybody, isPrepared: isPrepared,
                isCostly: isCostly, query: query, isForeign: true, handler)
        }
        return [
            route(
                "getWultraInit", "/app/init", isCostly: true,
                query: ["appName", "appVersion", "osVersion", "platform"], self.initialise),
            route("getWultraPublicKey", "/app/init/public-key", query: ["appName"], self.publicKey),
            route("getWultraStatic", Self.file, isPrepared: true, self.file),
        ]
    }

    /// Every answer is signed where the challenge is sound and the app is known, errors too.
    private func initialise(_ exchange: Exchange) async throws -> Response {
        let challenge = Result { () throws(WultraError) in
            try WultraChallenge(PreparedAnswer.joined(exchange.request.headers, .wultraChallenge))
        }
        let query = exchange.foreignParameters
        var prepared: WultraTemplates.Prepared?
        var status = 200
        var body: [UInt8]
        do {
            // First the app: what is wrong with the rest is told under its signature.
            let app = try WultraInitRequest(appName: query["appName"]).app
            let asked = Result { () throws(WultraError) in
                try WultraInitRequest(
                    appName: query["appName"], appVersion: query["appVersion"], osVersion: query["osVersion"],
                    platform: query["platform"],
                    acceptLanguage: PreparedAnswer.joined(exchange.request.headers, .acceptLanguage))
            }
            let own = try await self.prepared(app, try? asked.get())
            prepared = own
            let request = try asked.get()
            _ = try challenge.get()
            body = own.template.body(for: request, at: self.tools.services.clock())
        } catch let error as WultraError {
            (status, body) = (error.status, error.body)
        }
        var headers = HTTPFields()
        if let prepared, let challenge = try? challenge.get() {
            let signature = try prepared.secret.sign(challenge.signingInput(of: body))
            headers[.wultraSignature] = Base64.encode(signature.der)
        }
        return exchange.reply(status: status, body, headers: headers)
    }

    private func prepared(_ app: AppID, _ request: WultraInitRequest?) async throws -> WultraTemplates.Prepared {
        do { return try await self.templates.prepared(for: app, request) } catch let problem as Problem
            where problem.type == .appUnknown || problem.type == .clientUnknown
        {
            throw WultraError.appNotFound(app.text)
        }
    }

    private func publicKey(_ exchange: Exchange) async throws -> Response {
        guard let name = exchange.foreignParameters["appName"] else {
            let error = WultraError.missing("appName")
            return exchange.reply(status: error.status, error.body)
        }
        if let fault = self.tools.services.ledger.partialFault { throw fault }
        guard let id = try? AppID(name), let declared = try? self.tools.declared(.wultra, of: id),
            let key = declared.client.key, let publicKey = P256PublicKey(subjectPublicKeyInfo: key.publicKey)
        else {
            let error = WultraError.publicKeyNotFound(name.printable)
            return exchange.reply(status: error.status, error.body)
        }
        return exchange.reply(status: 200, WultraPublicKey.body(publicKey.x963))
    }

    private func file(_ exchange: Exchange) async throws -> Response {
        let declared = try self.tools.declared(.wultra, of: try exchange.app)
        let name = declared.target(Self.base + Self.file)
        return try await self.tools.answer(exchange, declared, as: name) { declared, view in
            try await self.tools.wultraFile(of: declared, view).bytes
        }
    }
}

extension CompatServices {
    /// The static file, each entry signed, and what it leaves out.
    func wultraFile(of declared: Declared, _ view: ClientView) async throws -> (bytes: [UInt8], notes: [String]) {
        let file = WultraStaticFile(view, declared.client.settings)
        guard case .es256(let secret) = try await self.key(of: declared) else {
            throw Problem(.clientKeyMissing, "The key for \(declared.app.id)'s clients is not a P-256 key.")
        }
        // Some hundredths of a millisecond for each of as many as an app has certificates.
        let signatures = try await Self.signing { try file.entries.map { try secret.sign($0.signingInput).der } }
        guard let bytes = file.bytes(signatures: signatures) else { throw KeyFault.signing }
        return (bytes, file.notes)
    }
}

/// The answers to `GET /app/init`, but for what is each request's own, with what they are signed with.
private final class WultraTemplates: Sendable {
    struct Prepared: Sendable {
        var template: WultraInitTemplate
        var secret: P256PrivateKey
        var version: Int64
        var until: ContinuousClock.Instant
    }

    private struct Name: Hashable {
        var app: AppID
        /// What clients say of themselves, where it matters.
        var appVersion: String?
    }

    private let tools: CompatServices
    /// Bounded, since clients may make versions up.
    private let cache = SingleFlightCache<Name, Prepared>(entries: 500)

    init(tools: CompatServices) {
        self.tools = tools
    }

    /// - Parameter request: Nil where no more than the app is known.
    func prepared(for id: AppID, _ request: WultraInitRequest?) async throws -> Prepared {
        try self.tools.checkSigning()
        let ledger = self.tools.services.ledger
        let app = ledger.view.state.apps[id]
        let isByVersion = app.map { $0.versionGate != nil || !$0.versionKillSwitches.isEmpty } ?? false
        let name = Name(app: id, appVersion: isByVersion ? request?.appVersion?.text : nil)
        return try await self.cache.value(for: name) { known, isKept in
            (!isKept || .now < known.until) && ledger.partialFault == nil
                && ledger.view.state.documentVersion(of: id) == known.version
        } make: { () async throws -> (value: Prepared, size: Int?) in
            (try await self.make(for: id, request), 0)
        }
    }

    private func make(for id: AppID, _ request: WultraInitRequest?) async throws -> Prepared {
        let declared = try self.tools.declared(.wultra, of: id)
        guard case .es256(let secret) = try await self.tools.key(of: declared) else {
            throw Problem(.clientKeyMissing, "The key for \(id)'s clients is not a P-256 key.")
        }
        let view = try self.tools.view(of: declared, device: request?.facts ?? Device())
        let template = WultraInitTemplate(view, declared.client.settings)
        let seconds = template.changesAt.map { min(CompatAnswers.seconds, max(0, $0.seconds - view.now.seconds)) }
        return Prepared(
            template: template, secret: secret, version: view.document.version,
            until: .now + .seconds(seconds ?? CompatAnswers.seconds))
    }
}

extension HTTPField.Name {
    fileprivate static let wultraChallenge = Self.constant(WultraChallenge.requestHeader)
    fileprivate static let wultraSignature = Self.constant(WultraChallenge.signatureHeader)
}

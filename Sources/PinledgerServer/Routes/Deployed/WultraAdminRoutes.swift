import ClientFormats
import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing
import Secrets

/// The administrative interface of Wultra's mobile utility server: `/compat/wultra/admin`. Its apps are those with clients
/// of this kind.
struct WultraAdminRoutes: Sendable {
    let services: Services
    var changes: WultraAdminChanges { WultraAdminChanges(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let certificates = "/apps/{app}/certificates"
        let versions = "/apps/{app}/versions"
        let text = "/texts/{key}/{language}"
        return [
            self.posting("createWultraApp", "/apps", .somewhere(.createApps)) { (body) throws(WultraAdminError) in
                try .createApp(body)
            },
            self.route("listWultraApps", .get, "/apps", .somewhere(.readApps), self.listApps),
            self.route("getWultraApp", .get, "/apps/{app}", .app(.readApps), self.getApp),
            self.posting("addServedWultraCertificate", "\(certificates)/auto", .app(.changeApps)) {
                (body) throws(WultraAdminError) in
                try .addServedCertificate(body)
            },
            self.posting("addWultraCertificate", "\(certificates)/pem", .app(.changeApps)) {
                (body) throws(WultraAdminError) in
                try .addCertificate(body)
            },
            self.deleting("deleteWultraCertificate", certificates, .app(.changeApps), query: ["domain", "fingerprint"])
            { exchange in
                try WultraAdminRequest.deleteCertificate(
                    domain: exchange.query["domain"], fingerprint: exchange.query["fingerprint"])
            },
            self.deleting("deleteWultraDomain", "/apps/{app}/domains", .app(.changeApps), query: ["domain"]) {
                exchange in
                try WultraAdminRequest.deleteDomain(exchange.query["domain"])
            },
            self.route(
                "deleteExpiredWultraCertificates", .delete, "/certificates/expired", .everywhere(.changeApps),
                self.deleteExpired),
            self.route("listWultraVersions", .get, versions, .app(.readApps), self.listVersions),
            self.posting("addWultraVersion", versions, .app(.changeApps)) { (body) throws(WultraAdminError) in
                try .addVersionRule(body)
            },
            self.route("getWultraVersion", .get, "\(versions)/{id}", .app(.readApps), self.getVersion),
            self.route("deleteWultraVersion", .delete, "\(versions)/{id}", .app(.changeApps), self.deleteVersion),
            self.route("listWultraTexts", .get, "/texts", .everywhere(.readApps), self.listTexts),
            self.posting("setWultraText", "/texts", .everywhere(.changeApps)) { (body) throws(WultraAdminError) in
                try .setText(body)
            },
            self.route("getWultraText", .get, text, .everywhere(.readApps), self.getText),
            self.route("deleteWultraText", .delete, text, .everywhere(.changeApps), self.deleteText),
        ]
    }

    private static let subtree = Route.Subtree(
        path: "/compat/wultra/admin", refusal: { WultraAdminRefusal.response(to: $0) })

    private func route(
        _ id: String, _ method: HTTPRequest.Method, _ path: String, _ access: Route.Access, query: [String] = [],
        _ handler: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Route {
        Route(
            id, method, Self.subtree.path + path, access: access, acceptsPassword: true, query: query,
            subtree: Self.subtree
        ) { exchange in
            do { return try await handler(exchange) } catch let error as WultraAdminError {
                return exchange.reply(status: error.status, error.body)
            }
        }
    }

    private func posting(
        _ id: String, _ path: String, _ access: Route.Access,
        _ read: @escaping @Sendable ([UInt8]) throws(WultraAdminError) -> WultraAdminRequest
    ) -> Route {
        self.route(id, .post, path, access) { exchange in
            let body = try await exchange.body()
            // No foreign page can make a browser send this, with a stored password.
            try exchange.requireJSON()
            return try await self.answer(try read(body), body, in: exchange)
        }
    }

    /// Deleting a missing object succeeds: scripts repeat their requests.
    private func deleting(
        _ id: String, _ path: String, _ access: Route.Access, query: [String],
        _ read: @escaping @Sendable (Exchange) throws -> WultraAdminRequest?
    ) -> Route {
        self.route(id, .delete, path, access, query: query) { exchange in
            guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
            guard let request = try read(exchange) else { return exchange.reply(status: 200, WultraAdminAnswer.ok) }
            do { return try await self.answer(request, [], in: exchange) } catch let error as WultraAdminError
                where error.code == .appNotFound
            {
                return exchange.reply(status: 200, WultraAdminAnswer.ok)
            }
        }
    }

    private func answer(_ request: WultraAdminRequest, _ body: [UInt8], in exchange: Exchange) async throws -> Response
    {
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        switch request {
        case .createApp(let id, let displayName): return try await self.create(id, displayName, body, in: exchange)
        case .addServedCertificate(let pattern):
            return try await self.addServed(to: pattern, body, in: exchange)
        case .addCertificate(let pattern, let pem, let depth):
            return try await self.add(try await Self.uploaded(pem), depth: depth, to: pattern, body, in: exchange)
        case .deleteCertificate(let pattern, let fingerprint):
            let result = try await self.changes.change(try exchange.wultraApp, body, in: exchange) {
                (state) throws(WultraAdminError) in
                try .deleting(fingerprint, from: pattern, of: state.app, at: state.now)
            }
            return exchange.reply(WultraAdminAnswer.ok, to: result)
        case .deleteDomain(let pattern):
            let result = try await self.changes.change(try exchange.wultraApp, body, in: exchange) {
                (state) throws(WultraAdminError) in .deletingDomain(pattern, of: state.app)
            }
            return exchange.reply(WultraAdminAnswer.ok, to: result)
        case .addVersionRule(let rule): return try await self.add(rule, body, in: exchange)
        case .setText(let text): return try await self.set(text, body, in: exchange)
        }
    }

    // MARK: Apps

    private func create(
        _ id: AppID, _ displayName: String, _ body: [UInt8], in exchange: Exchange
    ) async throws -> Response {
        // Before anything tells whether there is such an app, and before a key is made for it.
        for permission in [Permission.createApps, .manageClientKeys] {
            guard exchange.rights.allows(permission, on: id) else {
                throw Problem(Refusal.permissionMissing(permission, .app(id)))
            }
        }
        var result = try await self.changes.replay(id, body, in: exchange)
        if result == nil {
            guard self.services.ledger.view.state.apps[id] == nil else {
                throw WultraAdminError(
                    .refused,
                    "There is an app \(id) already. Where it has no clients of this kind yet, declare them: pinledger "
                        + "client set \(id) wultra --generate-key.")
            }
            let seen = self.services.wultraApps.filter { exchange.rights.sees($0.app.id) }.map(\.settings)
            let command = try WultraAdminCommand.creating(
                displayName: displayName, texts: WultraAdminCommand.texts(of: seen))
            let secret = try await ClientSigningKey.generate(.es256)
            let key = ClientKey(of: secret)
            // Before the ledger names it, so that no node ever needs a missing key.
            try await self.services.clientKeys.store(secret, of: key, id)
            result = try await self.changes.record(
                command, [.setClientKey(.wultra, key)], of: id, body, in: exchange)
        }
        return exchange.reply(try await self.shown(try self.services.wultraApp(id).app), to: result)
    }

    private func listApps(_ exchange: Exchange) async throws -> Response {
        let apps = self.services.wultraApps.filter { exchange.rights.sees($0.app.id) }.map {
            (name: $0.app.id, displayName: $0.app.displayName)
        }
        return exchange.reply(status: 200, WultraAdminAnswer.apps(apps))
    }

    private func getApp(_ exchange: Exchange) async throws -> Response {
        exchange.reply(status: 200, try await self.shown(try self.services.wultraApp(try exchange.wultraApp).app))
    }

    private func shown(_ app: App) async throws -> [UInt8] {
        let key = app.clients[.wultra]?.key.flatMap { P256PublicKey(subjectPublicKeyInfo: $0.publicKey) }
        let digests = Set(app.keys.values.flatMap(\.certificates).map(\.sha256))
        let material = try await self.services.material.der(of: digests)
        return WultraAdminAnswer.app(app, publicKey: key?.x963, material: material, at: self.services.wultraNow)
    }
}

extension Exchange {
    /// The app that the path names.
    var wultraApp: AppID {
        get throws(WultraAdminError) {
            let name = self.parameters["app"] ?? ""
            guard let id = try? AppID(name) else { throw .appNotFound(name.printable) }
            return id
        }
    }

    /// The version rule that the path names.
    var versionRule: Int64 {
        get throws(WultraAdminError) {
            let text = self.parameters["id"] ?? ""
            guard let id = Int64(text) else {
                throw WultraAdminError(
                    "id", "must be the whole number that the rule was given", value: .string(text.printable))
            }
            return id
        }
    }

    /// The text that the path names.
    var textName: (key: TextKey, language: TextLanguage) {
        get throws(WultraAdminError) {
            try WultraAdminRequest.textName(
                key: self.parameters["key"] ?? "", language: self.parameters["language"] ?? "")
        }
    }

    /// The answer to a change; nil where nothing had to be recorded.
    func reply(_ body: [UInt8], to result: CommandExecutor.Result?) -> Response {
        var headers = HTTPFields()
        if let recorded = result?.recorded {
            headers[.ledgerPosition] = String(recorded.position)
            if recorded.isReplay { headers[.idempotencyReplayed] = "true" }
        }
        return self.reply(status: 200, body, headers: headers)
    }
}

import Certificates
import EventStore
import Formats
import HTTPTypes
import Hummingbird
import Keys
import Logging
import NIOPosix
import Observing
import PinWire
import Pinning
import Publishing

/// The administrative interface of Wultra's mobile utility server: `/compat/wultra/admin`. Its apps are those with clients
/// of this kind.
struct WultraAdminRoutes: Sendable {
    let services: Services
    private var changes: WultraAdminChanges { WultraAdminChanges(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let certificates = "/apps/{app}/certificates"
        let versions = "/apps/{app}/versions"
        let text = "/texts/{key}/{language}"
        return [
            self.posting("createWultraApp", "/apps") { (body) throws(WultraAdminError) in try .createApp(body) },
            self.route("listWultraApps", .get, "/apps", self.listApps),
            self.route("getWultraApp", .get, "/apps/{app}", self.getApp),
            self.posting("addServedWultraCertificate", "\(certificates)/auto") { (body) throws(WultraAdminError) in
                try .addServedCertificate(body)
            },
            self.posting("addWultraCertificate", "\(certificates)/pem") { (body) throws(WultraAdminError) in
                try .addCertificate(body)
            },
            self.route("deleteWultraCertificate", .delete, certificates, query: ["domain", "fingerprint"]) { exchange in
                let request = try WultraAdminRequest.deleteCertificate(
                    domain: exchange.query["domain"], fingerprint: exchange.query["fingerprint"])
                return try await self.answer(request, [], in: exchange)
            },
            self.route("deleteWultraDomain", .delete, "/apps/{app}/domains", query: ["domain"]) { exchange in
                try await self.answer(try .deleteDomain(exchange.query["domain"]), [], in: exchange)
            },
            self.route("deleteExpiredWultraCertificates", .delete, "/certificates/expired", self.deleteExpired),
            self.route("listWultraVersions", .get, versions, self.listVersions),
            self.posting("addWultraVersion", versions) { (body) throws(WultraAdminError) in try .addVersionRule(body) },
            self.route("getWultraVersion", .get, "\(versions)/{id}", self.getVersion),
            self.route("deleteWultraVersion", .delete, "\(versions)/{id}", self.deleteVersion),
            self.route("listWultraTexts", .get, "/texts", self.listTexts),
            self.posting("setWultraText", "/texts") { (body) throws(WultraAdminError) in try .setText(body) },
            self.route("getWultraText", .get, text, self.getText),
            self.route("deleteWultraText", .delete, text, self.deleteText),
        ]
    }

    private func route(
        _ id: String, _ method: HTTPRequest.Method, _ path: String, query: [String] = [],
        _ handler: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Route {
        Route(
            id, method, "/compat/wultra/admin" + path, acceptsPassword: true, query: query,
            refusal: WultraAdminRefusal.response
        ) { exchange in
            do { return try await handler(exchange) } catch let error as WultraAdminError {
                return exchange.reply(status: error.status, error.body)
            } catch WriteFailure.refused(let refusal) {
                let error = WultraAdminError(refusal, WultraAdminRefusal.sentences(Problem(refusal)))
                return exchange.reply(status: error.status, error.body)
            }
        }
    }

    private func posting(
        _ id: String, _ path: String,
        _ read: @escaping @Sendable ([UInt8]) throws(WultraAdminError) -> WultraAdminRequest
    ) -> Route {
        self.route(id, .post, path) { exchange in
            let body = try await exchange.body()
            // No foreign page can make a browser send this, with a password that it has kept.
            try exchange.requireJSON()
            return try await self.answer(try read(body), body, in: exchange)
        }
    }

    private func answer(_ request: WultraAdminRequest, _ body: [UInt8], in exchange: Exchange) async throws -> Response
    {
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node only reads.") }
        switch request {
        case .createApp(let id, let displayName): return try await self.create(id, displayName, body, in: exchange)
        case .addServedCertificate(let pattern):
            let found = try await self.served(by: pattern, of: try exchange.wultraApp)
            return try await self.add(found, depth: nil, to: pattern, body, in: exchange)
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
                (state) throws(WultraAdminError) in try .deletingDomain(pattern, of: state.app)
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
        var result = try await self.changes.replay(id, body, in: exchange)
        if result == nil {
            guard self.services.ledger.view.state.apps[id] == nil else {
                throw WultraAdminError(
                    .refused,
                    "There is an app \(id) already. Where it has no clients of this kind yet, declare them: pinledger "
                        + "client set \(id) wultra --generate-key.")
            }
            let command = try WultraAdminCommand.creating(
                displayName: displayName, texts: WultraAdminCommand.texts(of: self.services.wultraApps.map(\.settings)))
            let secret = try await ClientSigningKey.generate(.es256)
            let key = ClientKey(of: secret)
            // Before the ledger names it, so that no node is ever asked for what is not there.
            try await self.services.clientKeys.store(secret, of: key, id)
            result = try await self.changes.record(
                command, [.setClientKey(.wultra, key)], of: id, body, in: exchange)
        }
        return exchange.reply(try await self.shown(try self.services.wultraApp(id).app), to: result)
    }

    private func listApps(_ exchange: Exchange) async throws -> Response {
        let apps = self.services.wultraApps.map { (name: $0.app.id, displayName: $0.app.displayName) }
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

    // MARK: Certificates

    /// A certificate that a request is about, and its bytes and its key's.
    private struct Found: Sendable {
        var certificate: CertificateFacts
        var material: Set<Material>

        init(_ certificate: CertificateFacts, of upload: Upload) {
            let digests = KeyEvidence.certificate(certificate).digests
            self.certificate = certificate
            self.material = upload.material.filter { digests.contains($0.digest) }
        }
    }

    private func add(
        _ found: Found, depth: Int64?, to pattern: HostPattern, _ body: [UInt8], in exchange: Exchange
    ) async throws -> Response {
        let result = try await self.changes.change(
            try exchange.wultraApp, body, showing: found.material, in: exchange
        ) { (state) throws(WultraAdminError) in
            try .adding(found.certificate, depth: depth, to: pattern, of: state.app)
        }
        // A repeated request is answered with what the first one recorded, whatever is served by now.
        let certificate = result.certificate ?? found.certificate
        let kept = try await self.services.material.der(of: [certificate.sha256])
        return exchange.reply(
            WultraAdminAnswer.certificate(certificate, der: kept[certificate.sha256], of: pattern), to: result)
    }

    /// The certificate that a server of the host presents as its own now.
    private func served(by pattern: HostPattern, of id: AppID) async throws -> Found {
        let app = try self.services.wultraApp(id).app
        let endpoints = app.hosts[pattern]?.probed(of: pattern) ?? Endpoint(host: pattern).map { [$0] } ?? []
        guard let endpoint = endpoints.first else {
            throw WultraAdminError(
                "domain",
                "names no server that could be looked at: upload the certificate, or give the host an endpoint")
        }
        let observation = await self.services.lookout.probe(endpoint)
        guard let certificate = observation.sights.first?.certificates.first else {
            let why = observation.failure.map { ": \($0)" } ?? "."
            throw WultraAdminError(.refused, "\(endpoint) presented no certificate\(why)")
        }
        guard var der = observation.material[certificate.sha256], let upload = try? Upload.read(&der) else {
            throw WultraAdminError.unforeseen
        }
        return Found(certificate, of: upload)
    }

    /// The certificate of an upload; of a chain the server's own.
    private static func uploaded(_ pem: String) async throws -> Found {
        try await NIOThreadPool.singleton.runIfActive {
            let upload: Upload
            var bytes = Array(pem.utf8)
            do throws(UploadError) { upload = try Upload.read(&bytes) } catch {
                throw WultraAdminError(
                    .malformed, "pem is refused. \(error.descriptionWithinText)",
                    violations: [WultraAdminError.Violation(field: "pem", hint: "is refused")])
            }
            let material: KeyMaterial
            do throws(KeyMaterial.Ambiguity) { material = try KeyMaterial(upload) } catch {
                throw WultraAdminError("pem", error.description)
            }
            guard case .certificate(let certificate) = material.evidence else {
                throw WultraAdminError("pem", "must be a certificate")
            }
            return Found(certificate, of: upload)
        }
    }

    /// Every app's certificates that have expired, host by host: what the ledger refuses of one keeps no other.
    private func deleteExpired(_ exchange: Exchange) async throws -> Response {
        // Where nothing has expired, nothing else would look at these.
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node only reads.") }
        _ = try exchange.idempotencyKey()
        let now = self.services.wultraNow
        for app in self.services.wultraApps.map(\.app) {
            for command in WultraAdminCommand.deletingExpired(of: app, at: now) {
                let part = "\(app.id) \(command.reason)"
                do {
                    _ = try await self.changes.record(command, of: app.id, [], in: exchange, part: part)
                } catch WriteFailure.refused(let refusal) {
                    self.services.logger.info(
                        "expired certificates stay",
                        metadata: ["app": "\(app.id)", "why": "\(Problem(refusal).detail)"])
                }
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.ok)
    }

    // MARK: Versions

    private func listVersions(_ exchange: Exchange) async throws -> Response {
        let settings = try self.services.wultraApp(try exchange.wultraApp).settings
        return exchange.reply(status: 200, WultraAdminAnswer.versionRules(settings.versionRules))
    }

    private func getVersion(_ exchange: Exchange) async throws -> Response {
        let settings = try self.services.wultraApp(try exchange.wultraApp).settings
        let id = try exchange.versionRule
        guard let rule = settings.versionRules.first(where: { $0.id == id }) else {
            throw WultraAdminError(.refused, "The app has no version rule \(id).")
        }
        return exchange.reply(status: 200, WultraAdminAnswer.versionRule(rule))
    }

    private func add(_ rule: ClientVersionRule, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let result = try await self.changes.change(try exchange.wultraApp, body, in: exchange) {
            (state) throws(WultraAdminError) in
            try WultraAdminCommand.adding(rule, to: state.settings, of: state.app).command
        }
        // The new rule has the highest id of those that were recorded with it.
        guard let recorded = result.settings?.versionRules.last else { throw WultraAdminError.unforeseen }
        return exchange.reply(WultraAdminAnswer.versionRule(recorded), to: result)
    }

    private func deleteVersion(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.versionRule
        let result = try await self.changes.change(try exchange.wultraApp, [], in: exchange) {
            (state) throws(WultraAdminError) in try .deletingVersionRule(id, from: state.settings)
        }
        return exchange.reply(WultraAdminAnswer.ok, to: result)
    }

    // MARK: Texts

    private func listTexts(_ exchange: Exchange) async throws -> Response {
        let texts = WultraAdminCommand.texts(of: self.services.wultraApps.map(\.settings))
        return exchange.reply(status: 200, WultraAdminAnswer.texts(texts))
    }

    private func getText(_ exchange: Exchange) async throws -> Response {
        let (key, language) = try exchange.textName
        let texts = WultraAdminCommand.texts(of: self.services.wultraApps.map(\.settings))
        guard let text = texts.first(where: { $0.key == key && $0.language == language }) else {
            throw Self.textUnknown(key, language)
        }
        return exchange.reply(status: 200, WultraAdminAnswer.text(text))
    }

    /// Sets a text in every app, one change for each.
    private func set(_ text: ClientText, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let all = self.services.wultraApps
        guard !all.isEmpty else {
            throw WultraAdminError(
                .refused,
                "Texts are kept with the apps here, and there is none with clients of this kind: create it first.")
        }
        // Nothing is recorded where one app has no room for it.
        for one in all { _ = try WultraAdminCommand.setting(text, in: one.settings) }
        for one in all {
            let id = one.app.id
            _ = try await self.changes.change(id, body, in: exchange, part: id.text) {
                (state) throws(WultraAdminError) in try .setting(text, in: state.settings)
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.text(text))
    }

    /// Takes a text from every app that has it, one change for each.
    private func deleteText(_ exchange: Exchange) async throws -> Response {
        let (key, language) = try exchange.textName
        var isFound = false
        for one in self.services.wultraApps {
            let id = one.app.id
            if one.settings.texts.contains(where: { $0.key == key && $0.language == language }) {
                _ = try await self.changes.change(id, [], in: exchange, part: id.text) {
                    (state) throws(WultraAdminError) in .deletingText(key, language, from: state.settings)
                }
                isFound = true
            } else if !isFound {
                // A repeated request finds its text gone.
                isFound = try await self.changes.replay(id, [], in: exchange, part: id.text) != nil
            }
        }
        guard isFound else { throw Self.textUnknown(key, language) }
        return exchange.reply(status: 200, WultraAdminAnswer.ok)
    }

    private static func textUnknown(_ key: TextKey, _ language: TextLanguage) -> WultraAdminError {
        WultraAdminError(.refused, "There is no text \(key.text) in \(language.text).")
    }
}

extension Exchange {
    /// The app that the path names.
    fileprivate var wultraApp: AppID {
        get throws(WultraAdminError) {
            let name = self.parameters["app"] ?? ""
            guard let id = try? AppID(name) else { throw .appNotFound(name.printable) }
            return id
        }
    }

    /// The version rule that the path names.
    fileprivate var versionRule: Int64 {
        get throws(WultraAdminError) {
            guard let id = Int64(self.parameters["id"] ?? ""), ClientVersionRule.ids.contains(id) else {
                throw WultraAdminError("id", "must be the whole number that the rule was given")
            }
            return id
        }
    }

    /// The text that the path names.
    fileprivate var textName: (key: TextKey, language: TextLanguage) {
        get throws(WultraAdminError) {
            try WultraAdminRequest.textName(
                key: self.parameters["key"] ?? "", language: self.parameters["language"] ?? "")
        }
    }

    /// The answer to a change; nil where nothing had to be recorded.
    fileprivate func reply(_ body: [UInt8], to result: ChangeHandler.Result?) -> Response {
        var headers = HTTPFields()
        if let recorded = result?.recorded {
            headers[.ledgerPosition] = String(recorded.position)
            if recorded.isReplay { headers[.idempotencyReplayed] = "true" }
        }
        return self.reply(status: 200, body, headers: headers)
    }
}

extension ChangeHandler.Result {
    /// The certificate that was recorded with a key.
    fileprivate var certificate: CertificateFacts? {
        self.recorded.entries.compactMap { entry -> CertificateFacts? in
            guard case .app(.keyDescribed(.certificate(let certificate))) = entry.event else { return nil }
            return certificate
        }.first
    }

    /// The settings that were recorded.
    fileprivate var settings: ClientSettings? {
        self.recorded.entries.compactMap { entry -> ClientSettings? in
            guard case .app(.clientSet(.wultra, let settings)) = entry.event else { return nil }
            return settings
        }.last
    }
}

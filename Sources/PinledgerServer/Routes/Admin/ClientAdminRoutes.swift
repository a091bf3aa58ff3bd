import ClientFormats
import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing
import Secrets

/// An app's kinds of deployed clients, and the keys that sign their formats: `/v1/apps/{app}/clients`.
struct ClientAdminRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let client = "/v1/apps/{app}/clients/{client}"
        return [
            Route("listClients", .get, "/v1/apps/{app}/clients", access: .app(.readApps), self.list),
            Route("getClient", .get, client, access: .app(.readApps), self.get),
            Route("setClient", .put, client, access: .app(.changeApps), query: CommandExecutor.query, self.set),
            Route(
                "removeClient", .delete, client, access: .app(.changeApps), query: CommandExecutor.bodilessQuery,
                self.remove),
            Route(
                "setClientKey", .post, "\(client)/key", access: .app(.manageClientKeys),
                query: CommandExecutor.directDrawingQuery, self.setKey),
        ]
    }

    // MARK: Kinds

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let clients = app.clients.sorted { $0.key < $1.key }.map { $0.value.shownJSON(of: $0.key) }
        return .json(
            ["app": .string(app.id.text), "clients": .array(clients)],
            headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let kind = try exchange.clientKind
        guard let client = app.clients[kind] else { throw Problem(Refusal.clientUnknown(app.id, kind)) }
        return .json(client.shownJSON(of: kind), headers: [.eTag: self.services.tag(of: app.version)])
    }

    private func set(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let kind = try exchange.clientKind
        let change = try await exchange.change { (members) throws(JSONDefect) -> ClientSettings in
            guard let field = members.optional("settings") else { return ClientSettings() }
            return try ClientSettings(field, of: kind)
        }
        return try await self.change(.app(id, [.setClient(kind, change.content)]), of: change, in: exchange)
    }

    private func remove(_ exchange: Exchange) async throws -> Response {
        let command = Command.app(try exchange.app, [.removeClient(try exchange.clientKind)])
        return try await self.change(command, of: try exchange.bodilessChange(), in: exchange)
    }

    // MARK: Keys

    private func setKey(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let kind = try exchange.clientKind
        let algorithm = try Self.algorithm(of: kind, in: app)
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        // Reading a key takes as long as a signature or two, and so happens on threads that may block.
        let change = try await exchange.keyChange { (members, _) throws(JSONDefect) -> ClientSigningKey? in
            try members.optional("private_key").mapped { (field) throws(JSONDefect) -> ClientSigningKey in
                try ClientSigningKey(field, algorithm)
            }
        }
        let secret: ClientSigningKey
        if let given = change.content {
            secret = given
        } else {
            // An RSA key takes up to seconds to make: not for a recorded request, nor for a refused one.
            if let known = try await self.recorded(by: change, app.id, in: exchange) { return known }
            let unmade = ClientKey(algorithm: algorithm, publicKey: [])
            try await self.change.check(.app(app.id, [.setClientKey(kind, unmade)]), of: change, in: exchange)
            secret = try await ClientSigningKey.generate(algorithm)
        }
        let key = ClientKey(of: secret)
        let command = Command.app(app.id, [.setClientKey(kind, key)])
        if try !exchange.flag("dry_run") {
            // Before the ledger names it, so that no node ever needs a missing key. Where the change is refused the row
            // has no use, and the sweep erases it; not at once, since another request may be about to record the same
            // key.
            try await self.services.clientKeys.store(secret, of: key, app.id)
        }
        return self.response(to: try await self.change.perform(command, of: change, in: exchange), with: key)
    }

    /// The answer to a request for a key that was recorded before; nil where none was.
    private func recorded<Content>(
        by change: Change<Content>, _ app: AppID, in exchange: Exchange
    ) async throws -> Response? {
        guard try !exchange.flag("dry_run"),
            let result = try await self.change.replay(.app(app, []), of: change, in: exchange)
        else { return nil }
        return self.response(to: result, with: nil)
    }

    /// - Parameter key: The key of this request, unless the events name another one: a repeated request's first key.
    private func response(to result: CommandExecutor.Result, with key: ClientKey?) -> Response {
        let recorded = result.recorded.entries.compactMap { entry -> ClientKey? in
            guard case .app(.clientKeySet(_, let key)) = entry.event else { return nil }
            return key
        }.first
        return self.change.response(to: result, adding: (recorded ?? key).map { ["key": $0.json] } ?? [:])
    }

    /// The keys that sign the answers to a kind of client.
    private static func algorithm(of kind: ClientKind, in app: App) throws(Problem) -> ClientKeyAlgorithm {
        guard let client = app.clients[kind] else { throw Problem(Refusal.clientUnknown(app.id, kind)) }
        guard let algorithm = kind.algorithm(client.settings) else {
            throw Problem(.clientKeyless, "Answers to \(kind.rawValue) are not signed, so this kind takes no key.")
        }
        return algorithm
    }
}

extension Client {
    /// ``json(of:)`` with the name by which the kind's SDK knows the key, where it has one.
    fileprivate func shownJSON(of kind: ClientKind) -> JSON {
        guard case .object(var members) = self.json(of: kind), let key = self.key,
            let name = kind.profile(self.settings).keyName?(key)
        else { return self.json(of: kind) }
        members["key_name"] = .string(name)
        return .object(members)
    }
}

extension ClientKey {
    /// The public half of a private key.
    init(of secret: ClientSigningKey) {
        self.init(algorithm: secret.algorithm, publicKey: secret.subjectPublicKeyInfo)
    }
}

extension ClientSigningKey {
    /// Reads an uploaded private key.
    fileprivate init(_ field: JSONField, _ algorithm: ClientKeyAlgorithm) throws(JSONDefect) {
        let text = try field.string()
        var bytes = Array(text.utf8)
        defer { SecureBytes.wipe(&bytes) }
        do { self = try ClientSigningKey(importing: bytes, algorithm: algorithm) } catch {
            throw field.defect(error.description)
        }
    }
}

extension Exchange {
    private struct KindUnknown: Error, CustomStringConvertible {
        let description = "must be a kind of client: \(ClientKind.allCases.map(\.rawValue).joined(separator: ", "))"
    }

    /// A kind of client as a path names it.
    fileprivate var clientKind: ClientKind {
        get throws(Problem) {
            try self.parameter("client") { (text) throws(KindUnknown) in
                guard let kind = ClientKind(rawValue: text) else { throw KindUnknown() }
                return kind
            }
        }
    }
}

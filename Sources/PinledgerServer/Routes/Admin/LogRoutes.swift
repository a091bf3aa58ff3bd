import EventStore
import HTTPTypes
import Hummingbird
import Keys
import LogLines
import Logging
import NIOCore
import PinWire
import Pinning
import Secrets
import TransparencyLog
import Witnesses

/// The transparency log over the ledger: its settings below `/v1/log`, and what auditors read below `/log` (C2SP
/// tlog-tiles).
struct LogRoutes: Sendable {
    let services: Services
    private let readers: LogReaders
    private var change: CommandExecutor { CommandExecutor(services: self.services) }
    private var reader: LedgerReader { self.services.reader }

    init(services: Services, readers: LogReaders) {
        self.services = services
        self.readers = readers
    }

    var routes: [Route] {
        [
            Route("getLog", .get, "/v1/log", access: .everywhere(.readLog), self.settings),
            Route(
                "openLog", .post, "/v1/log", access: .everywhere(.manageLog), query: CommandExecutor.directDrawingQuery,
                self.open),
            Route(
                "updateLog", .patch, "/v1/log", access: .everywhere(.manageLog), query: CommandExecutor.query,
                self.update),
            Route(
                "addLogKey", .post, "/v1/log/keys", access: .everywhere(.manageLog),
                query: CommandExecutor.directDrawingQuery, self.addKey),
            Route(
                "retireLogKey", .post, "/v1/log/keys/{kid}/retire", access: .everywhere(.manageLog),
                query: CommandExecutor.query, self.retireKey),
            self.reading("getCheckpoint", "/log/checkpoint", self.checkpoint),
            self.reading("getTile", "/log/tile/{tile}", takesRest: true, self.tile),
            self.reading("getInclusionProof", "/log/proofs/inclusion", query: ["position", "size"], self.inclusion),
            self.reading(
                "getConsistencyProof", "/log/proofs/consistency", query: ["old_size", "size"], self.consistency),
            self.reading("getEntryProof", "/log/entries/{position}/proof", self.proof),
        ]
    }

    /// An operation of auditors, and of everyone where the log is public.
    private func reading(
        _ operationID: String, _ path: String, takesRest: Bool = false, query: [String] = [],
        _ handler: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Route {
        Route(
            operationID, .get, path, surface: .both, access: .log, acceptsPassword: true, isCostly: true,
            takesRest: takesRest, query: query
        ) { [readers] exchange in
            guard exchange.actor == nil else { return try await handler(exchange) }
            return try await readers.read { try await handler(exchange) }
        }
    }

    // MARK: Settings

    private func settings(_ exchange: Exchange) async throws -> Response {
        let log = self.services.ledger.view.state.log
        return .json(log.json, headers: [.eTag: self.services.tag(of: log.version)])
    }

    private func open(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let field = try members.required("origin")
            guard let origin = LogName(try field.string()) else { throw field.defect("must be \(LogName.rule)") }
            return origin
        }
        let origin = change.content
        return try await self.create(exchange, change) { .open(origin: origin, kid: $0.keyID, publicKey: $0.bytes) }
    }

    private func update(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            LogCommand.update(
                isPublic: try members.optional("public")?.bool(),
                recordsDocuments: try members.optional("document_proofs")?.bool())
        }
        let result = try await self.change.perform(.log(change.content), of: change, in: exchange)
        return self.change.response(to: result)
    }

    private func addKey(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        return try await self.create(exchange, change) { .addKey(kid: $0.keyID, publicKey: $0.bytes) }
    }

    /// Makes a key and records the command that names it.
    private func create<Content>(
        _ exchange: Exchange, _ change: Change<Content>, _ command: (Ed25519PublicKey) -> LogCommand
    ) async throws -> Response {
        if try exchange.flag("dry_run") {
            // A temporary key: nothing of it is stored.
            let key = try Ed25519PrivateKey.generate().publicKey
            return try await self.change(.log(command(key)), of: change, in: exchange)
        }
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        let key = try await self.services.logKeys.create()
        let result: CommandExecutor.Result
        do { result = try await self.change.perform(.log(command(key)), of: change, in: exchange) } catch {
            // Unless it is unknown whether the key is in the ledger, its private half has no use.
            if Problem(error).type != .outcomeUnknown { await self.erase(key.keyID) }
            throw error
        }
        if result.recorded.isReplay { await self.erase(key.keyID) }
        return self.change.response(to: result, status: .created, location: "/v1/log")
    }

    private func retireKey(_ exchange: Exchange) async throws -> Response {
        let kid = exchange.parameters["kid"] ?? ""
        guard Base64URL.decode(kid)?.count == 32 else {
            throw Problem(
                .malformedRequest, "The path parameter `kid` must be the 43 characters of a key's thumbprint.")
        }
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        let result = try await self.change.perform(.log(.retireKey(kid: kid)), of: change, in: exchange)
        if result.isCarriedOut { await self.erase(kid) }
        return self.change.response(to: result)
    }

    /// Erases a private half that has no use. The recorded events stand either way, so a failure is no answer to the
    /// caller; the publisher's sweep then erases a retired key's.
    private func erase(_ kid: String) async {
        // A node that has halted does not know the ledger's state of the key.
        guard self.services.ledger.fault == nil else { return }
        do { try await self.services.logKeys.erase(kid) } catch {
            self.services.logger.log(.signingKeyNotErased, ["kid": "\(kid)", "error": "\(error)"])
        }
    }

    // MARK: The log

    private func checkpoint(_ exchange: Exchange) async throws -> Response {
        let shown = try await self.services.checkpoints.newest()
        // A cache that kept it would hold auditors back.
        return Self.answer(shown.note.encoded, "text/plain; charset=utf-8", cacheControl: "no-store")
    }

    private func tile(_ exchange: Exchange) async throws -> Response {
        let size = try self.size
        guard let tile = Tile(path: "tile/\(exchange.parameters["tile"] ?? "")") else {
            throw Problem(.notFound, "The path names no tile; C2SP tlog-tiles says how tiles are named.")
        }
        guard tile.isCovered(by: size), let bytes = try await self.reader.bytes(of: tile, in: size) else {
            throw Problem(.notFound, "The log of \(size) entries has no such tile yet.")
        }
        return Self.answer(bytes, "application/octet-stream", cacheControl: self.immutable)
    }

    private func inclusion(_ exchange: Exchange) async throws -> Response {
        let known = try self.size
        let size = try self.size(exchange.number("size", in: 1...Int64.max), of: known)
        guard let position = try exchange.number("position", in: 0...Int64.max).map(UInt64.init) else {
            throw Problem(.malformedRequest, "The query parameter `position` is missing.")
        }
        guard position < size else {
            throw Problem(.notFound, "A tree of \(size) entries has none at position \(position).")
        }
        let proof = try await self.reader.inclusionProof(of: position, in: size)
        return .json([
            "position": .integer(Int64(position)), "size": .integer(Int64(size)), "hashes": Self.json(proof.hashes),
        ])
    }

    private func consistency(_ exchange: Exchange) async throws -> Response {
        let known = try self.size
        let size = try self.size(exchange.number("size", in: 1...Int64.max), of: known)
        guard let old = try exchange.number("old_size", in: 1...Int64.max).map(UInt64.init) else {
            throw Problem(.malformedRequest, "The query parameter `old_size` is missing.")
        }
        guard old <= size else {
            throw Problem(.notFound, "A tree of \(old) entries does not grow to one of \(size).")
        }
        let proof = try await self.reader.consistencyProof(from: old, to: size)
        return .json([
            "old_size": .integer(Int64(old)), "size": .integer(Int64(size)), "hashes": Self.json(proof.hashes),
        ])
    }

    /// A proof file with the entry in it: all that is needed to verify the entry offline, but the log's key.
    private func proof(_ exchange: Exchange) async throws -> Response {
        let text = exchange.parameters["position"] ?? ""
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let position = Int64(text) else {
            throw Problem(.malformedRequest, "The path parameter `position` must be a whole number from 0 on.")
        }
        let end = self.services.ledger.position
        let shown = try await self.services.checkpoints.newest()
        let size = shown.checkpoint.size
        guard position < max(end, Int64(size)) else {
            throw Problem(.notFound, "The log has \(end) entries; the first has the position 0.")
        }
        guard UInt64(position) < size else {
            throw Problem(.notCosigned, "The newest checkpoint that the quorum has cosigned is of \(size) entries.")
        }
        let entries = try await self.reader.onServer(with: position + 1) { reader in
            try await reader.entries(at: position..<(position + 1), limit: 1)
        }
        guard let entry = entries.first else { throw LedgerFault.leafHash(position: position) }
        let inclusion = try await self.reader.inclusionProof(of: UInt64(position), in: size)
        let proof = LogProof(
            extra: entry.bytes, index: UInt64(position), hashes: inclusion.hashes, checkpoint: shown.note.encoded)
        return Self.answer(proof.encoded, "text/plain; charset=utf-8", cacheControl: "no-store")
    }

    /// How many entries the log has on this node.
    private var size: UInt64 {
        get throws(Problem) {
            let view = self.services.ledger.view
            guard view.state.log.origin != nil else { throw Problem(Refusal.logNotOpen) }
            return view.head.frontier.size
        }
    }

    /// The size that a query names, or the log's.
    private func size(_ named: Int64?, of known: UInt64) throws(Problem) -> UInt64 {
        let size = named.map(UInt64.init) ?? known
        guard size <= known else { throw Problem(.notFound, "The log has \(known) entries.") }
        return size
    }

    private static func json(_ hashes: [LogHash]) -> JSON { .array(hashes.map { .string(Base64.encode($0.bytes)) }) }

    /// Answers that need a token may be kept by no cache that others share.
    private var immutable: String {
        "\(self.services.isLogPublic ? "public" : "private"), max-age=604800, immutable"
    }

    private static func answer(_ bytes: [UInt8], _ type: String, cacheControl: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: cacheControl],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

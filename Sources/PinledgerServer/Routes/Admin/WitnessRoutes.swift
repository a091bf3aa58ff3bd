import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning
import Webhooks
import Witnesses

/// The witnesses of the transparency log, below `/v1/log`.
struct WitnessRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("listWitnesses", .get, "/v1/log/witnesses", access: .everywhere(.readLog), self.list),
            Route(
                "addWitness", .post, "/v1/log/witnesses", access: .everywhere(.manageLog),
                query: CommandExecutor.query,
                self.add),
            Route(
                "removeWitness", .delete, "/v1/log/witnesses/{key_id}", access: .everywhere(.manageLog),
                query: CommandExecutor.bodilessQuery,
                self.remove),
            Route(
                "setQuorum", .put, "/v1/log/quorum", access: .everywhere(.manageLog),
                query: CommandExecutor.query,
                self.setQuorum),
        ]
    }

    /// The witnesses, and what has become of the last request to each.
    private func list(_ exchange: Exchange) async throws -> Response {
        let log = self.services.ledger.view.state.log
        let answers = log.witnesses.isEmpty ? [:] : try await self.services.checkpoints.stored.answers()
        let witnesses = log.witnesses.map { witness -> JSON in
            let answer = answers[witness.verifier]
            guard case .object(var members) = witness.json else { return witness.json }
            members["asked_at"] = answer.map { .string($0.askedAt.rfc3339) }
            members["cosigned_size"] = answer?.size.map { .integer($0) }
            members["cosigned_at"] = answer?.cosignedAt.map { .string($0.rfc3339) }
            members["failure"] = answer?.failure.map { .string(String(shown: $0.utf8)) }
            return .object(members)
        }
        return .json(
            ["quorum": .integer(log.quorum), "witnesses": .array(witnesses)],
            headers: [.eTag: self.services.tag(of: log.version)])
    }

    private func add(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) -> LogWitness in
            let field = try members.required("vkey")
            guard let key = NoteKey(text: try field.string()), key.kind == .cosignature else {
                throw field.defect(
                    "must be the vkey of a witness: NAME+KEYID+BASE64, of the type Ed25519 cosignature (0x04)")
            }
            let url = try self.prefix(try members.required("url"))
            let monitoring = try members.optional("monitoring_url").mapped { (field) throws(JSONDefect) in
                try self.prefix(field)
            }
            return LogWitness(name: key.name, publicKey: key.publicKey.bytes, url: url, monitoringURL: monitoring)
        }
        let result = try await self.change.perform(.log(.addWitness(change.content)), of: change, in: exchange)
        return self.change.response(to: result, status: .created, location: "/v1/log/witnesses")
    }

    private func remove(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["key_id"] ?? ""
        guard id.utf8.count == 8, Hex.decode(id) != nil, id == id.lowercased() else {
            throw Problem(
                .malformedRequest, "The path parameter `key_id` must be the 8 hexadecimal digits in a witness's vkey.")
        }
        let change = try exchange.bodilessChange()
        let result = try await self.change.perform(.log(.removeWitness(keyID: id)), of: change, in: exchange)
        return self.change.response(to: result)
    }

    private func setQuorum(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.required("quorum").integer(0...Int64(LogSettings.witnessLimit))
        }
        let result = try await self.change.perform(.log(.setQuorum(change.content)), of: change, in: exchange)
        return self.change.response(to: result)
    }

    /// An address below which a witness answers, which this node may call.
    private func prefix(_ field: JSONField) throws(JSONDefect) -> OutgoingURL {
        let url = try field.parse(OutgoingURL.init)
        guard !url.text.contains("?") else { throw field.defect("must not have a query") }
        if let why = self.services.webhooks.client?.refusal(of: url) { throw field.defect(why) }
        return url
    }
}

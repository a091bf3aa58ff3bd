import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning

/// The keys with which people sign approvals: `/v1/access/principals/{principal_id}/approval-keys`. Principals are shown with theirs.
struct ApprovalKeyRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let keys = "/v1/access/principals/{principal_id}/approval-keys"
        return [
            Route(
                "addApprovalKey", .post, keys, access: .everywhere(.manageAccess), query: CommandExecutor.query,
                self.add),
            Route(
                "removeApprovalKey", .delete, "\(keys)/{kid}", access: .everywhere(.manageAccess),
                query: CommandExecutor.bodilessQuery, self.remove),
        ]
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description = "must be the id of a principal: prn_ and 16 letters and digits"
    }

    private static func principal(of exchange: Exchange) throws(Problem) -> String {
        try exchange.parameter("principal_id") { (text) throws(Malformed) in
            guard AccessID.principal.isID(text) else { throw Malformed() }
            return text
        }
    }

    private func add(_ exchange: Exchange) async throws -> Response {
        let id = try Self.principal(of: exchange)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let field = try members.required("public_key")
            guard let key = SSHPublicKey.key(ofLine: try field.string()) else {
                throw field.defect("must be the line of an OpenSSH public key of the type \(SSHPublicKey.type)")
            }
            return ApprovalKey(kid: key.keyID, publicKey: key.bytes)
        }
        return try await self.change(
            .access(.addApprovalKey(change.content, principal: id)), of: change, in: exchange)
    }

    private func remove(_ exchange: Exchange) async throws -> Response {
        let (id, kid) = (try Self.principal(of: exchange), exchange.parameters["kid"] ?? "")
        return try await self.change(
            .access(.removeApprovalKey(kid: kid, principal: id)), of: try exchange.bodilessChange(), in: exchange)
    }
}

extension ApprovalSignature {
    /// Verifies an armored signature of a change's content by a key that the approver has.
    ///
    /// - Throws: ``JSONDefect`` where it is no signature, ``Problem`` where it does not verify.
    static func verified(
        _ field: JSONField, of change: String, _ contentDigest: [UInt8], by approver: Actor?, in access: Access
    ) throws -> ApprovalSignature {
        let signature: SSHSignature
        do { signature = try SSHSignature(armored: try field.string()) } catch let error as SSHSignature.Malformed {
            throw field.defect("\(error)")
        }
        guard let id = approver?.principalID, let person = access.principals[id] else {
            throw Problem(Refusal.approverNotPerson)
        }
        let kid = signature.publicKey.keyID
        guard let key = person.approvalKeys[kid], key.publicKey == signature.publicKey.bytes else {
            throw Problem(
                .approvalSignatureInvalid, "The key \(kid), which made the signature, is none of your approval keys.")
        }
        let statement = Self.statement(change: change, contentDigest: contentDigest, principal: id)
        guard signature.verifies(statement, namespace: Self.namespace) else {
            throw Problem(
                .approvalSignatureInvalid,
                "The signature by the key \(kid) is of something else than the approval of this content by you.")
        }
        return ApprovalSignature(kid: kid, bytes: signature.bytes)
    }
}

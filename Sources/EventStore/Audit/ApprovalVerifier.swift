import PinWire
package import Pinning

/// Verifies approvers' signatures: who holds the database, or runs the server, has none of their keys.
package struct ApprovalVerifier: Sendable {
    /// The RFC 7638 thumbprint of a public key; nil for what is none.
    private let thumbprint: @Sendable (_ publicKey: [UInt8]) -> String?
    private let verify: @Sendable (ApprovalSignature, _ statement: [UInt8], _ publicKey: [UInt8]) -> Bool

    /// - Parameter verify: Whether a signature is that of a public key, 32 bytes, over a statement.
    package init(
        thumbprint: @escaping @Sendable (_ publicKey: [UInt8]) -> String?,
        _ verify: @escaping @Sendable (ApprovalSignature, _ statement: [UInt8], _ publicKey: [UInt8]) -> Bool
    ) {
        self.thumbprint = thumbprint
        self.verify = verify
    }

    /// What is wrong with an event, in the state before it; nil where it is neither an approval nor an approval key, or a right one.
    func defect(of event: Event, in state: LedgerState) -> String? {
        if case .access(.approvalKeyAdded(let key, let person)) = event {
            return self.thumbprint(key.publicKey) == key.kid
                ? nil
                : "the approval key \(String(shown: key.kid.utf8)) of \(String(shown: person.utf8)) has the name of another key"
        }
        guard case .changes(.approved(let id, let approver, let digest, let signature)) = event else { return nil }
        let person = approver.principalID ?? ""
        let keys = state.access.principals[person]?.approvalKeys ?? [:]
        guard let signature else {
            return keys.isEmpty ? nil : "the approval of \(id) is not signed, although \(person) has an approval key"
        }
        guard let key = keys[signature.kid] else {
            return "the approval of \(id) is signed with a key that \(person) does not have"
        }
        let statement = ApprovalSignature.statement(change: id, contentDigest: digest, principal: person)
        return self.verify(signature, statement, key.publicKey)
            ? nil : "the signature of the approval of \(id) by \(person) does not verify"
    }
}

/// A command about a proposed change.
package enum ChangeCommand: Hashable, Sendable {
    /// Writes a change down: as a draft, or open for approvals.
    case create(id: String, ChangeDraft, isDraft: Bool)
    /// Writes a change down and applies it at once, without the approvals that it needs.
    case bypass(id: String, ChangeDraft)
    /// Gives a change with the content of the digest `base` another content. Its approvals are void.
    case edit(id: String, base: [UInt8], ChangeDraft)
    /// Opens a draft for approvals, or a suspended change again.
    case propose(id: String)
    /// Consents to the content with this digest.
    ///
    /// Who gives this command has verified the signature with a key that the ledger has, over ``ApprovalSignature/statement(change:contentDigest:principal:)``.
    case approve(id: String, contentDigest: [UInt8], signature: ApprovalSignature? = nil)
    case reject(id: String)
    case withdraw(id: String)
    case apply(id: String, bypassesApprovals: Bool)
    /// Applies a change whose time has come. Only the server itself does this.
    case applyDue(id: String)
    /// Notes why a change could not be applied at its time. Only the server itself does this.
    case suspend(id: String, obstacle: String)
    /// Closes the review of a change that bypassed approvals.
    case review(id: String)

    package var id: String {
        switch self {
        case .create(let id, _, _), .bypass(let id, _), .edit(let id, _, _), .propose(let id), .approve(let id, _, _),
            .reject(let id), .withdraw(let id), .apply(let id, _), .applyDue(let id), .suspend(let id, _),
            .review(let id):
            id
        }
    }
}

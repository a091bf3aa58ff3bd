package import PinWire

/// A fact about a proposed change.
package enum ChangeEvent: Hashable, Sendable {
    /// `status` is ``ProposedChange/Status/draft`` or ``ProposedChange/Status/proposed``.
    case created(
        id: String, author: Actor, ChangeContent, expiresAt: Timestamp, status: ProposedChange.Status)
    /// It has this content from now on, and no approvals.
    case edited(id: String, author: Actor, ChangeContent, expiresAt: Timestamp)
    case proposed(id: String)
    /// A person consents to the content with this digest.
    case approved(id: String, approver: Actor, contentDigest: [UInt8], signature: ApprovalSignature? = nil)
    case rejected(id: String, by: Actor)
    case withdrawn(id: String, by: Actor)
    case suspended(id: String, obstacle: String)
    /// The events directly before it, as many as `effects` says, are what it did.
    case applied(id: String, by: Actor, effects: Int64, bypassesApprovals: Bool)
    /// Another person looked at a change that bypassed approvals.
    case reviewed(id: String, by: Actor)
}

extension ChangeEvent {
    enum Declared {
        private static let id = EventField("change_id", .text)
        private static let digest = EventField("content_sha256", MemberValue<[UInt8]>.sha256)
        private static let author = EventField("author", .actor)
        private static let by = EventField("by", .actor)
        private static let content = EventField("content", .content)
        private static let expiresAt = EventField("expires_at", .time)

        static let created = EventDeclaration(
            "ChangeCreated", .change, author, id, content, digest, EventField("draft", .flag), expiresAt
        ) { (author, id, content, digest, isDraft, end) throws(JSONDefect) in
            try Self.check(digest, of: content, id)
            return .changes(
                .created(id: id, author: author, content, expiresAt: end, status: isDraft ? .draft : .proposed))
        }
        static let edited = EventDeclaration("ChangeEdited", .change, author, id, content, digest, expiresAt) {
            (author, id, content, digest, end) throws(JSONDefect) in
            try Self.check(digest, of: content, id)
            return .changes(.edited(id: id, author: author, content, expiresAt: end))
        }
        static let proposed = EventDeclaration("ChangeProposed", .change, id) { .changes(.proposed(id: $0)) }
        static let approved = EventDeclaration(
            "ChangeApproved", .change, EventField("approver", .actor), id, digest,
            EventField(optional: "signature", .signature)
        ) { .changes(.approved(id: $1, approver: $0, contentDigest: $2, signature: $3)) }
        static let rejected = EventDeclaration("ChangeRejected", .change, by, id) {
            .changes(.rejected(id: $1, by: $0))
        }
        static let withdrawn = EventDeclaration("ChangeWithdrawn", .change, by, id) {
            .changes(.withdrawn(id: $1, by: $0))
        }
        static let suspended = EventDeclaration("ChangeSuspended", .change, id, EventField("obstacle", .text)) {
            .changes(.suspended(id: $0, obstacle: $1))
        }
        static let applied = EventDeclaration(
            "ChangeApplied", .change, by, EventField("bypasses_approvals", .flag), id,
            EventField("effects", .count(from: 0))
        ) { .changes(.applied(id: $2, by: $0, effects: $3, bypassesApprovals: $1)) }
        static let reviewed = EventDeclaration("ChangeReviewed", .change, by, id) {
            .changes(.reviewed(id: $1, by: $0))
        }

        static let all: [any DeclaredEvent] = [
            created, edited, proposed, approved, rejected, withdrawn, suspended, applied, reviewed,
        ]

        private static func check(_ digest: [UInt8], of content: ChangeContent, _ id: String) throws(JSONDefect) {
            guard digest == content.digest(of: id) else {
                throw JSONDefect(
                    pointer: JSONPointer(["data", "content_sha256"]), message: "is not the hash of the content")
            }
        }
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .created(let id, let author, let content, let end, let status):
            visitor.visit(
                Declared.created, author, id, content, content.digest(of: id), status == .draft, end)
        case .edited(let id, let author, let content, let end):
            visitor.visit(Declared.edited, author, id, content, content.digest(of: id), end)
        case .proposed(let id): visitor.visit(Declared.proposed, id)
        case .approved(let id, let approver, let digest, let signature):
            visitor.visit(Declared.approved, approver, id, digest, signature)
        case .rejected(let id, let actor): visitor.visit(Declared.rejected, actor, id)
        case .withdrawn(let id, let actor): visitor.visit(Declared.withdrawn, actor, id)
        case .suspended(let id, let obstacle): visitor.visit(Declared.suspended, id, obstacle)
        case .applied(let id, let actor, let effects, let bypasses):
            visitor.visit(Declared.applied, actor, bypasses, id, effects)
        case .reviewed(let id, let actor): visitor.visit(Declared.reviewed, actor, id)
        }
    }
}

extension MemberValue<Actor> {
    fileprivate static var actor: Self { Self({ (field) throws(JSONDefect) in try Actor(field) }, \.json) }
}

extension MemberValue<ApprovalSignature> {
    fileprivate static var signature: Self {
        Self({ (field) throws(JSONDefect) in try ApprovalSignature(field) }, \.json)
    }
}

extension MemberValue<ChangeContent> {
    fileprivate static var content: Self {
        Self(
            { (field) throws(JSONDefect) in
                try field.object { (m) throws(JSONDefect) in try ChangeContent(&m) }
            }, { .object($0.members) })
    }
}

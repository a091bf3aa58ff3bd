package import PinWire

/// A change that was written down before it is made, so that others can look at it, and approve it where a rule asks for it.
package struct ProposedChange: Hashable, Sendable {
    package enum Status: String, CaseIterable, Sendable {
        /// Its author still works on it; nobody can approve it.
        case draft
        case proposed
        /// The server could not apply it at its time; the content as it is waits for a person.
        case suspended
        case applied
        case rejected
        case withdrawn
        /// It was not applied in its time.
        case expired

        /// Whether something can still become of it.
        package var isOpen: Bool {
            switch self {
            case .draft, .proposed, .suspended: true
            case .applied, .rejected, .withdrawn, .expired: false
            }
        }
    }

    /// One person's consent to the content as it is.
    package struct Approval: Hashable, Sendable {
        package var approver: Actor
        package var time: Timestamp
        /// Nil for one that its giver did not sign.
        package var signature: ApprovalSignature?

        package init(approver: Actor, time: Timestamp, signature: ApprovalSignature? = nil) {
            self.approver = approver
            self.time = time
            self.signature = signature
        }

        var json: JSON {
            .members([
                "approver": self.approver.json, "time": .string(self.time.rfc3339), "signature": self.signature?.json,
            ])
        }

        init(_ field: JSONField) throws(JSONDefect) {
            self = try field.object { (m) throws(JSONDefect) in
                Approval(
                    approver: try Actor(try m.required("approver")), time: try m.required("time").timestamp(),
                    signature: try m.optional("signature").mapped(ApprovalSignature.init(_:)))
            }
        }
    }

    package let id: String
    package let createdAt: Timestamp
    package var expiresAt: Timestamp
    /// Who wrote the content as it is: the commands are decided with this one's rights.
    package var author: Actor
    /// Everyone who ever wrote a part of it. None of them approves it.
    package var contributors: [Actor]
    package var content: ChangeContent
    /// ``ChangeContent/digest(of:)``, 32 bytes.
    package var contentDigest: [UInt8]
    /// As it was recorded; ``status(at:)`` knows what time has made of it.
    package var recordedStatus: Status
    package var statusSince: Timestamp
    /// The approvals of the content as it is, in their order: every edit voids them.
    package var approvals: [Approval] = []
    /// Who applied, rejected or withdrew it.
    package var closedBy: Actor?
    /// Why it was suspended, for people.
    package var obstacle: String?
    /// Whether it was applied without the approvals that it needed.
    package var bypassedApprovals = false
    /// Who looked at it afterwards, where it bypassed approvals.
    package var reviewedBy: Approval?

    package init(
        id: String, createdAt: Timestamp, expiresAt: Timestamp, author: Actor, content: ChangeContent,
        status: Status
    ) {
        self.id = id
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.author = author
        self.contributors = [author]
        self.content = content
        self.contentDigest = content.digest(of: id)
        self.recordedStatus = status
        self.statusSince = createdAt
    }

    /// How long a change stays open where nothing else is said: a week.
    package static let defaultSeconds: Int64 = 7 * 86_400
    /// How long it stays open at most: 30 days.
    package static let longestSeconds: Int64 = 30 * 86_400
    /// The most open changes.
    package static let openLimit = 1_000
    /// The most open changes of one person or service account.
    package static let openLimitEach = 100
    /// The most people who take part in one change.
    package static let peopleLimit = 50

    /// The status at `now`: an open change whose time is over has expired.
    package func status(at now: Timestamp) -> Status {
        self.recordedStatus.isOpen && self.expiresAt <= now ? .expired : self.recordedStatus
    }

    package func isOpen(at now: Timestamp) -> Bool { self.status(at: now).isOpen }

    /// Whether it bypassed approvals, and nobody else has looked at it yet.
    package var awaitsReview: Bool { self.bypassedApprovals && self.reviewedBy == nil }

    /// Whether an actor wrote a part of it.
    package func isContributor(_ actor: Actor) -> Bool { self.contributors.contains { $0.isSameParty(as: actor) } }

    package func json(at now: Timestamp) -> JSON {
        var members = self.content.members
        members["change_id"] = .string(self.id)
        members["status"] = .string(self.status(at: now).rawValue)
        members["status_since"] = .string(self.statusSince.rfc3339)
        members["created_at"] = .string(self.createdAt.rfc3339)
        members["expires_at"] = .string(self.expiresAt.rfc3339)
        members["author"] = self.author.json
        members["contributors"] = .array(self.contributors.map(\.json))
        members["content_sha256"] = .string(Hex.encode(self.contentDigest))
        members["approvals"] = .array(self.approvals.map(\.json))
        members["closed_by"] = self.closedBy?.json
        members["obstacle"] = self.obstacle.map { .string($0) }
        members["bypassed_approvals"] = .bool(self.bypassedApprovals)
        members["awaits_review"] = .bool(self.awaitsReview)
        members["review"] = self.reviewedBy.map {
            ["reviewer": $0.approver.json, "time": .string($0.time.rfc3339)]
        }
        return .object(members)
    }
}

extension Actor {
    /// The person or service account, or else the token: two tokens of one person are one party.
    package var party: String { self.principalID ?? "\(self.kind.rawValue):\(self.id)" }

    func isSameParty(as other: Actor) -> Bool { self.party == other.party }
}

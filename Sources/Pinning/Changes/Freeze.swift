package import PinWire

/// A time in which some apps are left as they are: nothing on them changes, unless approvals are bypassed.
///
/// It binds tokens, as ``ApprovalRule`` does. Engaging a kill switch, and changes of access, webhooks and the log, never wait for it.
package struct Freeze: Hashable, Sendable {
    package var id: String
    package var apps: [AppPattern]
    package var from: Timestamp
    package var until: Timestamp

    package init(id: String, apps: [AppPattern], from: Timestamp, until: Timestamp) {
        self.id = id
        self.apps = apps
        self.from = from
        self.until = until
    }

    /// The longest freeze: 90 days.
    package static let longestSeconds: Int64 = 90 * 86_400
    package static let limit = 100

    /// Permissions whose use does not change what the apps serve.
    private static let unbound: Set<Permission> = [.manageAccess, .manageApprovals, .manageLog, .manageWebhooks]

    func binds(_ use: PermissionUse, at now: Timestamp) -> Bool {
        guard ApprovalRule.approvable.subtracting(Self.unbound).contains(use.permission) else { return false }
        return self.from <= now && now < self.until && use.reach.overlaps(self.apps)
    }

    package var json: JSON { .object(self.members) }

    var members: [String: JSON] {
        [
            "freeze_id": .string(self.id), "apps": .array(self.apps.map { .string($0.description) }),
            "from": .string(self.from.rfc3339), "until": .string(self.until.rfc3339),
        ]
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let id = try members.required("freeze_id").string()
            return try Freeze(&members, id: id)
        }
    }

    /// Takes all members but the id.
    package init(_ members: inout JSONMembers, id: String) throws(JSONDefect) {
        self.id = id
        self.apps = try members.required("apps").patterns(atMost: ApprovalRule.patternLimit)
        self.from = try members.required("from").timestamp()
        let until = try members.required("until")
        self.until = try until.timestamp()
        guard self.from < self.until else { throw until.defect("must be after from") }
        guard self.until <= self.from.adding(seconds: Self.longestSeconds) else {
            throw until.defect("must be at most 90 days after from")
        }
    }
}

import PinWire

/// One operation of the API that makes an entry of a ``SharedSpec`` what its file says.
struct SharedStep {
    enum Kind: String, CaseIterable {
        case issuer
        case guardRail = "guard_rail"
        case role, principal, grant
        case identityProvider = "identity_provider"
        case signInRule = "sign_in_rule"
        case approvalRule = "approval_rule"
        case webhook

        var noun: String { self == .signInRule ? "sign-in rule" : self.rawValue.replacing("_", with: " ") }
    }

    enum Action: String {
        /// A new one, whose id the server makes.
        case add
        /// One by a name or id, new or not.
        case set
        case remove
    }

    enum Outcome {
        /// It is so already.
        case same
        case changes
        /// It needs what earlier steps make: the server judges it when it is applied.
        case deferred
        case refused(CommandFailure)
    }

    var kind: Kind
    var action: Action
    /// What people call the entry.
    var name: String
    /// The entry's id in the API's paths; that of the principal for a new grant. Nil where the server makes it.
    var id: String?
    var members: [String: JSON] = [:]

    var outcome = Outcome.deferred
    /// The server's answer to the dry run.
    var answer: JSON = [:]

    var title: String {
        "\(self.kind.noun) \(self.name)\(self.action == .remove ? " (removed)" : "")"
    }

    var changes: Bool {
        switch self.outcome {
        case .changes, .deferred: true
        case .same, .refused: false
        }
    }

    /// The streams of events that entries are in.
    enum Stream { case fleet, access, webhooks }

    var stream: Stream {
        switch self.kind {
        case .issuer, .guardRail: .fleet
        case .role, .principal, .grant, .identityProvider, .signInRule, .approvalRule: .access
        case .webhook: .webhooks
        }
    }

    var method: String {
        switch (self.action, self.kind) {
        case (.add, _): "POST"
        case (.remove, _): "DELETE"
        case (.set, .issuer), (.set, .webhook), (.set, .principal): "PATCH"
        case (.set, _): "PUT"
        }
    }

    /// - Parameter ids: The ids of principals that were added before, by their names.
    /// - Returns: Nil for a grant to a principal that is not there yet.
    func path(_ ids: [String: String]) -> String? {
        let id = (self.id ?? ids[self.name]).map(APIClient.escaped)
        switch (self.kind, self.action) {
        case (.issuer, _): return "/v1/fleet"
        case (.guardRail, _): return id.map { "/v1/guard-rails/\($0)" }
        case (.role, _): return id.map { "/v1/access/roles/\($0)" }
        case (.principal, .add): return "/v1/access/principals"
        case (.principal, _): return id.map { "/v1/access/principals/\($0)" }
        case (.grant, .remove): return id.map { "/v1/access/grants/\($0)" }
        case (.grant, _): return id.map { "/v1/access/principals/\($0)/grants" }
        case (.identityProvider, _): return id.map { "/v1/access/identity-providers/\($0)" }
        case (.signInRule, _): return id.map { "/v1/access/sign-in-rules/\($0)" }
        case (.approvalRule, _): return id.map { "/v1/access/approval-rules/\($0)" }
        case (.webhook, .add): return "/v1/webhooks"
        case (.webhook, _): return id.map { "/v1/webhooks/\($0)" }
        }
    }

    /// What a plan of it fixes, for the comparison with a later plan: the operation, and what it makes different. A new entry has ids
    /// that each dry run draws, and is compared without them.
    var fixed: JSON {
        let differences = self.action == .add ? [] : self.answer["difference"]?.arrayValue ?? []
        return .members([
            "kind": .string(self.kind.rawValue), "action": .string(self.action.rawValue), "name": .string(self.name),
            "id": self.id.map { .string($0) }, "members": .object(self.members),
            "difference": .array(differences.filter { $0.text("pointer") != "/version" }),
        ])
    }

    /// Where it stands among all steps: what others need comes first, rules that may hold others up come last.
    var isAfterApps: Bool {
        switch self.kind {
        case .issuer, .guardRail, .role, .principal, .grant, .identityProvider, .signInRule: self.action == .remove
        case .approvalRule, .webhook: true
        }
    }

    /// Refusals of a dry run that earlier steps of the plan may do away with.
    static let deferrable: Set<String> = [
        "/problems/role_unknown", "/problems/role_in_use", "/problems/identity_provider_unknown",
        "/problems/identity_provider_in_use", "/problems/approvers_missing",
    ]
}

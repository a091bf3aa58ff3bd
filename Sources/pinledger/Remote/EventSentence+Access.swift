import PinWire

extension EventSentence {
    /// The sentence of an event about who may do what.
    var ofAccess: String? {
        let principal = self.data.text("principal_id")
        return switch self.event.text("type") {
        case "TokenIssued":
            "\(self.data.text("token_id")) (\(self.data.text("name"))) is valid until \(self.data.time("expires_at")). It may do: \(self.rightsOfToken).\(self.replacement)"
        case "TokenRevoked": "\(self.data.text("token_id")) is revoked."
        case "RoleDefined":
            "The role \(self.data.text("role")) has the permissions \((self.data["permissions"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", "))."
        case "RoleRemoved": "The role \(self.data.text("role")) is removed."
        case "PrincipalAdded": "The \(self.data.text("kind")) \(self.data.text("name")) is added as \(principal)."
        case "PrincipalRenamed": "\(principal) is called \(self.data.text("name"))."
        case "PrincipalSuspended": "All tokens of \(principal) are refused."
        case "PrincipalReinstated": "The tokens of \(principal) are accepted again."
        case "RoleGranted":
            "\(principal) has the role \(GrantText.text(self.data)). The grant is \(self.data.text("grant_id"))."
        case "GrantRevoked": "The grant \(self.data.text("grant_id")) of \(principal) is revoked."
        case "ApprovalKeyAdded": "\(principal) signs approvals with the key \(self.data.text("kid"))."
        case "ApprovalKeyRemoved": "The approval key \(self.data.text("kid")) of \(principal) is removed."
        case "ApprovalRuleSet":
            "The rule \(self.data.text("rule")) asks for \(self.data.text("approvals")) approval\(self.data["approvals"] == 1 ? "" : "s"), on the apps \(self.list("apps")), of what uses \(self.list("permissions")).\(self.data["signed"] == true ? " Only signed approvals count." : "")"
        case "ApprovalRuleRemoved": "The approval rule \(self.data.text("rule")) is removed."
        case "FreezeSet":
            "The apps \(self.list("apps")) are frozen from \(self.data.time("from")) until \(self.data.time("until"))."
        case "IdentityProviderSet":
            "Identity tokens of \(self.data.text("issuer")) for \(self.list("audiences")) are accepted, as those of \(self.data.text("provider"))."
        case "IdentityProviderRemoved":
            "Identity tokens of \(self.data.text("provider")) are not accepted any more."
        case "SignInRuleSet":
            "The rule \(self.data.text("rule")) admits \(self.data["linked_only"] == true ? "linked " : "")identities of \(self.data.text("provider")) with \(ClaimText.text(self.data["claims"])) as \(self.data["kind"] == "person" ? "people" : "programs"), for \(self.data.text("session_seconds")) seconds. They may do: \((self.data["grants"]?.arrayValue ?? []).map { GrantText.text($0) }.joined(separator: "; "))."
        case "SignInRuleRemoved": "The sign-in rule \(self.data.text("rule")) is removed, and what sessions held by it."
        case "IdentityLinked":
            "\(self.data.text("subject")) of \(self.data.text("issuer")) signs in as \(principal). The identity is \(self.data.text("identity_id"))."
        case "IdentityUnlinked":
            "The identity \(self.data.text("identity_id")) does not sign in as \(principal) any more."
        case "FreezeRemoved": "The freeze \(self.data.text("freeze_id")) is over."
        default: nil
        }
    }

    /// The sentence of an event about a proposed change.
    var ofChanges: String? {
        let change = self.data.text("change_id")
        let actor = self.data["by"]?.text("name") ?? "-"
        return switch self.event.text("type") {
        case "ChangeCreated":
            "\(change) is \(self.data["draft"] == true ? "drafted" : "proposed") by \(self.data["author"]?.text("name") ?? "-"): \(self.data["content"]?.text("reason") ?? "-")"
        case "ChangeEdited":
            "\(change) has another content, by \(self.data["author"]?.text("name") ?? "-"). Its approvals are void."
        case "ChangeProposed": "\(change) is open for approvals."
        case "ChangeApproved": "\(change) is approved by \(self.data["approver"]?.text("name") ?? "-")."
        case "ChangeRejected": "\(change) is rejected by \(actor)."
        case "ChangeWithdrawn": "\(change) is withdrawn by \(actor)."
        case "ChangeSuspended": "\(change) could not be applied at its time: \(self.data.said("obstacle"))"
        case "ChangeApplied":
            "\(change) is applied by \(actor)\(self.data["bypasses_approvals"] == true ? " without the approvals that it needed; it awaits review" : "")."
        case "ChangeReviewed": "\(change) is reviewed by \(actor)."
        default: nil
        }
    }

    /// The sentence of an event about requests that changed nothing.
    var ofRequests: String? {
        guard self.event.text("type") == "RequestsAudited" else { return nil }
        let records = self.data["records"]?.arrayValue ?? []
        let count = records.reduce(0) { $0 + ($1["count"]?.integerValue ?? 0) }
        let reads = records.filter { $0["outcome"] == "read" }.reduce(0) { $0 + ($1["count"]?.integerValue ?? 0) }
        let omitted = self.data["omitted"]?.integerValue ?? 0
        return
            "\(self.data.text("node")) counted \(count - reads) requests that were refused or failed, and \(reads) confidential reads"
            + (omitted > 0 ? ", and had no room for \(omitted) more." : ".")
    }

    private func list(_ name: String) -> String {
        (self.data[name]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
    }

    /// What becomes of the token that it replaces; empty where it replaces none.
    private var replacement: String {
        guard let replaced = self.data["replaces"], let time = Timestamp(rfc3339: self.event.text("time")) else {
            return ""
        }
        let end = time.adding(seconds: replaced["overlap_seconds"]?.integerValue ?? 0)
        return " It replaces \(replaced.text("token_id")), which is accepted until \(LocalTime.text(end)) at most."
    }

    private var rightsOfToken: String {
        guard self.event["schema"] != 1, case .object(var token) = self.data else {
            return GrantText.rights(ofToken: ["unscoped": true])
        }
        token["unscoped"] = false
        return GrantText.rights(ofToken: .object(token))
    }
}

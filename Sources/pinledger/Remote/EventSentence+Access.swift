import PinWire

extension EventSentence {
    /// The sentence of an event about who may do what.
    var ofAccess: String? {
        let principal = self.data.text("principal_id")
        return switch self.event.text("type") {
        case "TokenIssued":
            "\(self.data.text("token_id")) (\(self.data.text("name"))) is valid until \(LocalTime.text(self.data.text("expires_at"))). It may do: \(self.rightsOfToken)."
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
        default: nil
        }
    }

    private var rightsOfToken: String {
        guard self.event["schema"] != 1, case .object(var token) = self.data else {
            return GrantText.rights(ofToken: ["unscoped": true])
        }
        token["unscoped"] = false
        return GrantText.rights(ofToken: .object(token))
    }
}

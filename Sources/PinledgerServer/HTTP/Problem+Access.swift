import PinWire
import Pinning

extension Problem {
    /// A refusal that is about who may do what.
    init(access refusal: Refusal) {
        switch refusal {
        case .permissionMissing(let permission, let reach):
            let place =
                switch reach {
                case .app(let app): "the app \(app), on all of it or on the hosts that this concerns"
                case .apps(let patterns): "these apps: \(Self.list(patterns))"
                case .anyApp: "at least one app"
                case .everywhere: "every app (a grant on *)"
                }
            self.init(.permissionDenied, "This needs the permission \(permission.rawValue) on \(place).")
            self.members["permission"] = .string(permission.rawValue)
        case .grantTooWide(let grant):
            self.init(
                .grantTooWide,
                "The role \(grant.role) on \(Self.list(grant.apps)) is more than you may give: you lack one of its permissions "
                    + "there, hold it for a shorter time or for fewer hosts, or may not manage access there.")
        case .networksTooWide:
            self.init(
                .grantTooWide, "Your token is bound to networks, and the new one would be accepted from others too.")
        case .roleUnknown(let name): self.init(.roleUnknown, "There is no role \(name).")
        case .roleFixed(let name):
            self.init(.roleFixed, "The name \(name) belongs to a role that is the same in every installation.")
        case .roleInUse(let name):
            self.init(
                .roleInUse,
                "The role \(name) is granted to principals or valid tokens, or an approval rule asks for it.")
        case .tooManyRoles(let limit): self.init(.limitReached, "At most \(limit) roles are allowed.")
        case .principalExists(let id): self.init(.principalExists, "The principal \(id) already exists.")
        case .principalUnknown(let id): self.init(.principalUnknown, "There is no principal \(id.printable).")
        case .principalSuspended(let id): self.init(.principalSuspended, "The principal \(id) is suspended.")
        case .tooManyPrincipals(let limit): self.init(.limitReached, "At most \(limit) principals are allowed.")
        case .grantExists(let id): self.init(.grantExists, "The grant \(id) already exists.")
        case .grantUnknown(let id): self.init(.grantUnknown, "There is no grant \(id.printable).")
        case .tooManyGrants(let limit):
            self.init(.limitReached, "A principal has at most \(limit) grants that have not ended.")
        case .tooManyPatterns(let limit):
            self.init(
                .limitReached, "The grants of a principal or a token name at most \(limit) apps and hosts together.")
        case .tooManyTokens(let limit):
            self.init(.limitReached, "At most \(limit) tokens of this kind are valid at once: revoke some first.")
        case .tokenExists(let id): self.init(.tokenExists, "The token \(id) already exists.")
        case .tokenUnknown(let id): self.init(.tokenUnknown, "The token \(id) does not exist.")
        case .tokenRevoked(let id): self.init(.tokenRevoked, "The token \(id) is already revoked.")
        // Not back to where it came from: a refusal without a line here must not end the server.
        default: self.init(.internalError, "An unexpected error occurred.")
        }
    }

    /// A refusal with what can be done instead.
    init(_ refusal: Refusal, alternative: String) {
        self.init(refusal)
        self.detail += " \(alternative)"
    }

    /// Some apps, the first of many.
    private static func list(_ patterns: [AppPattern]) -> String {
        let shown = patterns.prefix(5).map(\.description).joined(separator: ", ")
        return patterns.count > 5 ? "\(shown) and \(patterns.count - 5) more" : shown
    }
}

import EventStore
import Hummingbird
import IdentityTokens
import Keys
import PinWire
import Pinning
import Publishing
import Webhooks

/// Identity providers, the rules by which their identities sign in, and the principals' identities: below `/v1/access`.
struct IdentityRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let (providers, rules) = ("/v1/access/identity-providers", "/v1/access/sign-in-rules")
        let identities = "/v1/access/identities"
        let (reading, managing) = (Route.Access.everywhere(.readAccess), Route.Access.everywhere(.manageAccess))
        let (query, bodiless) = (CommandExecutor.query, CommandExecutor.bodilessQuery)
        return [
            Route("listIdentityProviders", .get, providers, access: reading) { exchange in
                let access = self.services.ledger.view.state.access
                let all = access.identityProviders.values.sorted { $0.name < $1.name }
                let tokens = self.services.identityTokens
                return self.list(
                    "identity_providers",
                    all.map { provider in
                        guard case .object(var members) = provider.json else { return provider.json }
                        members["keys"] = tokens?.keys.status(of: provider) ?? .null
                        return .object(members)
                    }, access)
            },
            Route("setIdentityProvider", .put, "\(providers)/{provider}", access: managing, query: query) { exchange in
                let name = try exchange.parameter("provider", RoleName.init(_:))
                let client = self.services.webhooks.client
                let change = try await exchange.change { (members) throws(JSONDefect) in
                    let provider = try IdentityProvider(&members, name: name)
                    if let why = provider.issuer.metadataURL.flatMap({ client?.refusal(of: $0) }) {
                        throw JSONDefect(pointer: JSONPointer(["issuer"]), message: why)
                    }
                    return provider
                }
                return try await self.change(
                    .access(.identity(.setProvider(change.content))), of: change, in: exchange)
            },
            Route("removeIdentityProvider", .delete, "\(providers)/{provider}", access: managing, query: bodiless) {
                exchange in
                let name = try exchange.parameter("provider", RoleName.init(_:))
                return try await self.change(
                    .access(.identity(.removeProvider(name))), of: try exchange.bodilessChange(), in: exchange)
            },
            Route("listSignInRules", .get, rules, access: reading) { exchange in
                let access = self.services.ledger.view.state.access
                let all = access.signInRules.values.sorted { $0.name < $1.name }
                return self.list("sign_in_rules", all.map(\.json), access)
            },
            Route("setSignInRule", .put, "\(rules)/{rule}", access: managing, query: query) { exchange in
                let name = try exchange.parameter("rule", RoleName.init(_:))
                let change = try await exchange.change { (members) throws(JSONDefect) in
                    try SignInRule(&members, name: name)
                }
                return try await self.change(.access(.identity(.setRule(change.content))), of: change, in: exchange)
            },
            Route("removeSignInRule", .delete, "\(rules)/{rule}", access: managing, query: bodiless) { exchange in
                let name = try exchange.parameter("rule", RoleName.init(_:))
                return try await self.change(
                    .access(.identity(.removeRule(name))), of: try exchange.bodilessChange(), in: exchange)
            },
            Route("listIdentities", .get, identities, access: reading) { exchange in
                let access = self.services.ledger.view.state.access
                let all = access.identities.sorted { $0.key < $1.key }.map(\.value.json)
                return self.list("identities", all, access)
            },
            Route("linkIdentity", .post, identities, access: managing, query: query) { exchange in
                let change = try await exchange.change { (members) throws(JSONDefect) in
                    let field = try members.required("principal_id")
                    guard let id = field.value.stringValue, AccessID.principal.isID(id) else {
                        throw field.defect("must be an id: prn_ and 16 letters and digits")
                    }
                    return (identity: try Identity(&members), principal: id)
                }
                let (identity, principal) = change.content
                return try await self.change(
                    .access(.identity(.link(identity, principal: principal))), of: change, in: exchange,
                    status: .created, location: identities)
            },
            Route("unlinkIdentity", .delete, "\(identities)/{identity_id}", access: managing, query: bodiless) {
                exchange in
                let id = try exchange.parameter("identity_id") { (text) throws(Malformed) in
                    guard AccessID.identity.isID(text) else { throw Malformed() }
                    return text
                }
                return try await self.change(
                    .access(.identity(.unlink(id: id))), of: try exchange.bodilessChange(), in: exchange)
            },
        ]
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description = "must be the id of an identity: idn_ and 16 letters and digits"
    }

    private func list(_ name: String, _ all: [JSON], _ access: Access) -> Response {
        .json(.object([name: .array(all)]), headers: [.eTag: self.services.tag(of: access.version)])
    }
}

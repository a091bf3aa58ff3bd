import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing

/// Who may do what: principals, their grants, and roles, below `/v1/access`.
struct AccessRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let principals = "/v1/access/principals"
        let principal = "\(principals)/{principal_id}"
        let query = CommandExecutor.query
        return [
            Route(
                "getAccess", .get, "/v1/access", access: .everywhere(.readAccess), query: ["position", "at"],
                self.access),
            Route("listPrincipals", .get, principals, access: .somewhere(.readAccess), self.listPrincipals),
            Route(
                "addPrincipal", .post, principals, access: .everywhere(.manageAccess),
                query: CommandExecutor.drawingQuery, self.addPrincipal),
            Route("getPrincipal", .get, principal, access: .somewhere(.readAccess), self.getPrincipal),
            Route(
                "updatePrincipal", .patch, principal, access: .everywhere(.manageAccess), query: query,
                self.updatePrincipal),
            Route(
                "grantRole", .post, "\(principal)/grants", access: .somewhere(.manageAccess),
                query: CommandExecutor.drawingQuery, self.grant),
            Route(
                "revokeGrant", .delete, "/v1/access/grants/{grant_id}", access: .somewhere(.manageAccess),
                query: CommandExecutor.bodilessQuery
            ) { exchange in
                let id = try exchange.parameter("grant_id") { (text) throws(Malformed) in try Self.id(text, .grant) }
                return try await self.change(
                    .access(.revokeGrant(id: id)), of: try exchange.bodilessChange(), in: exchange)
            },
            Route("listRoles", .get, "/v1/access/roles", access: .anyToken, self.listRoles),
            Route(
                "setRole", .put, "/v1/access/roles/{role}", access: .everywhere(.manageAccess), query: query,
                self.setRole),
            Route(
                "removeRole", .delete, "/v1/access/roles/{role}", access: .everywhere(.manageAccess),
                query: CommandExecutor.bodilessQuery
            ) { exchange in
                let name = try exchange.parameter("role", RoleName.init(_:))
                return try await self.change(
                    .access(.removeRole(name)), of: try exchange.bodilessChange(), in: exchange)
            },
        ]
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    private static func id(_ text: String, _ kind: AccessID) throws(Malformed) -> String {
        guard kind.isID(text) else {
            throw Malformed(description: "must be an id: \(kind.rawValue) and 16 letters and digits")
        }
        return text
    }

    private static func principal(of exchange: Exchange) throws(Problem) -> String {
        try exchange.parameter("principal_id") { (text) throws(Malformed) in try Self.id(text, .principal) }
    }

    /// Who could do what at a moment: now, or in the past.
    private func access(_ exchange: Exchange) async throws -> Response {
        let moment = try await PastMoment(of: [.access], exchange, self.services)
        return .json(
            moment.state.access.json(
                at: moment.time, withRules: exchange.rights.allowsEverywhere(.readChanges)),
            headers: [.ledgerPosition: String(moment.position)])
    }

    // MARK: Principals

    /// All principals, each with those of its grants that are on apps whose access the caller may read.
    private func listPrincipals(_ exchange: Exchange) async throws -> Response {
        let access = self.services.ledger.view.state.access
        let principals = access.principals.values.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        return .json(
            ["principals": .array(principals.map { Self.json(of: $0, for: exchange.rights) })],
            headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func getPrincipal(_ exchange: Exchange) async throws -> Response {
        let id = try Self.principal(of: exchange)
        let access = self.services.ledger.view.state.access
        guard let principal = access.principals[id] else { throw Problem(Refusal.principalUnknown(id)) }
        return .json(
            Self.json(of: principal, for: exchange.rights), headers: [.eTag: self.services.tag(of: access.version)])
    }

    private static func json(of principal: Principal, for rights: Rights) -> JSON {
        var shown = principal
        if !rights.allowsEverywhere(.readAccess) { shown.lastSignIn = nil }
        shown.grants = principal.grants.filter { rights.allows(.readAccess, on: $0.value.apps) }
        return shown.json
    }

    private func addPrincipal(_ exchange: Exchange) async throws -> Response {
        let change = try await exchange.change { (members) throws(JSONDefect) in
            (
                name: try members.required("name").plainText(atMost: 200),
                kind: try members.optional("kind")?.oneOf(Principal.Kind.self) ?? .person
            )
        }
        let id = AccessID.principal.generate()
        let result = try await self.change.perform(
            .access(.addPrincipal(id: id, change.content.kind, name: change.content.name)), of: change, in: exchange)
        // A repeated request gets the id of the first one.
        guard !result.isDryRun,
            let recorded = result.recorded.entries.lazy.compactMap({ entry -> String? in
                guard case .access(.principalAdded(let id, _, _)) = entry.event else { return nil }
                return id
            }).first
        else { return self.change.response(to: result) }
        return self.change.response(
            to: result, status: .created, location: "/v1/access/principals/\(recorded)",
            adding: ["principal_id": .string(recorded)])
    }

    /// Renames a principal, or suspends or reinstates it: one of the two in a request.
    private func updatePrincipal(_ exchange: Exchange) async throws -> Response {
        let id = try Self.principal(of: exchange)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let (name, suspended) = (members.optional("name"), members.optional("suspended"))
            switch (name, suspended) {
            case (let name?, nil): return AccessCommand.renamePrincipal(id: id, name: try name.plainText(atMost: 200))
            case (nil, let suspended?):
                return try suspended.bool() ? .suspendPrincipal(id: id) : .reinstatePrincipal(id: id)
            case (nil, nil):
                throw JSONDefect(pointer: JSONPointer(), message: "must have name or suspended")
            case (_?, let suspended?):
                throw suspended.defect("must not be given together with name; send two requests")
            }
        }
        return try await self.change(.access(change.content), of: change, in: exchange)
    }

    private func grant(_ exchange: Exchange) async throws -> Response {
        let principal = try Self.principal(of: exchange)
        let change = try await exchange.change { (members) throws(JSONDefect) in try Grant(&members) }
        let id = AccessID.grant.generate()
        let result = try await self.change.perform(
            .access(.grantRole(id: id, principal: principal, change.content)), of: change, in: exchange)
        guard !result.isDryRun,
            let recorded = result.recorded.entries.lazy.compactMap({ entry -> String? in
                guard case .access(.roleGranted(let id, _, _)) = entry.event else { return nil }
                return id
            }).first
        else { return self.change.response(to: result) }
        return self.change.response(
            to: result, status: .created, location: "/v1/access/principals/\(principal)",
            adding: ["grant_id": .string(recorded)])
    }

    // MARK: Roles

    private func listRoles(_ exchange: Exchange) async throws -> Response {
        let access = self.services.ledger.view.state.access
        return .json(
            ["roles": .array(access.rolesInOrder)], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func setRole(_ exchange: Exchange) async throws -> Response {
        let name = try exchange.parameter("role", RoleName.init(_:))
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let field = try members.required("permissions")
            var permissions: Set<Permission> = []
            for element in try field.elements(atMost: Permission.allCases.count) {
                permissions.insert(try element.oneOf(Permission.self))
            }
            guard !permissions.isEmpty else { throw field.defect("must name at least one permission") }
            return permissions
        }
        return try await self.change(.access(.defineRole(name, change.content)), of: change, in: exchange)
    }
}

import EventStore
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing

/// The rules by which changes need approvals, and freezes: `/v1/access/approval-rules` and `/v1/access/freezes`.
struct ApprovalRuleRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let rules = "/v1/access/approval-rules"
        let freezes = "/v1/access/freezes"
        let managing = Route.Access.somewhere(.manageApprovals)
        return [
            Route("listApprovalRules", .get, rules, access: .somewhere(.readChanges), self.listRules),
            Route(
                "setApprovalRule", .put, "\(rules)/{rule}", access: managing, query: CommandExecutor.query,
                self.setRule),
            Route(
                "removeApprovalRule", .delete, "\(rules)/{rule}", access: managing,
                query: CommandExecutor.bodilessQuery
            ) { exchange in
                let name = try exchange.parameter("rule", RoleName.init(_:))
                return try await self.change(
                    .access(.removeApprovalRule(name)), of: try exchange.bodilessChange(), in: exchange)
            },
            Route("listFreezes", .get, freezes, access: .somewhere(.readChanges), self.listFreezes),
            Route(
                "addFreeze", .post, freezes, access: managing, query: CommandExecutor.drawingQuery, self.addFreeze),
            Route(
                "removeFreeze", .delete, "\(freezes)/{freeze_id}", access: managing,
                query: CommandExecutor.bodilessQuery
            ) { exchange in
                let id = try exchange.parameter("freeze_id") { (text) throws(Malformed) in
                    guard AccessID.freeze.isID(text) else { throw Malformed() }
                    return text
                }
                return try await self.change(
                    .access(.removeFreeze(id: id)), of: try exchange.bodilessChange(), in: exchange)
            },
        ]
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description = "must be the id of a freeze: frz_ and 16 letters and digits"
    }

    /// Those of some apps whose changes the caller may see.
    private static func shown(_ apps: [AppPattern], _ exchange: Exchange) -> [AppPattern] {
        apps.filter { exchange.rights.mayOverlap(.readChanges, [$0]) }
    }

    private func listRules(_ exchange: Exchange) async throws -> Response {
        let access = self.services.ledger.view.state.access
        let rules = access.approvalRules.values.compactMap { rule -> ApprovalRule? in
            var rule = rule
            rule.apps = Self.shown(rule.apps, exchange)
            return rule.apps.isEmpty ? nil : rule
        }.sorted { $0.name < $1.name }
        return .json(
            ["approval_rules": .array(rules.map(\.json))], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func setRule(_ exchange: Exchange) async throws -> Response {
        let name = try exchange.parameter("rule", RoleName.init(_:))
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try ApprovalRule(&members, name: name)
        }
        return try await self.change(.access(.setApprovalRule(change.content)), of: change, in: exchange)
    }

    private func listFreezes(_ exchange: Exchange) async throws -> Response {
        let (access, now) = (self.services.ledger.view.state.access, self.services.clock())
        let freezes = access.freezes.values.compactMap { freeze -> Freeze? in
            var freeze = freeze
            freeze.apps = Self.shown(freeze.apps, exchange)
            return now < freeze.until && !freeze.apps.isEmpty ? freeze : nil
        }.sorted { ($0.from, $0.id) < ($1.from, $1.id) }
        return .json(
            ["freezes": .array(freezes.map(\.json))], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func addFreeze(_ exchange: Exchange) async throws -> Response {
        let id = AccessID.freeze.generate()
        let change = try await exchange.change { (members) throws(JSONDefect) in try Freeze(&members, id: id) }
        let result = try await self.change.perform(.access(.setFreeze(change.content)), of: change, in: exchange)
        // A repeated request gets the id of the first one.
        guard !result.isDryRun,
            let recorded = result.recorded.entries.lazy.compactMap({ entry -> Freeze? in
                guard case .access(.freezeSet(let freeze)) = entry.event else { return nil }
                return freeze
            }).first
        else {
            return self.change.response(to: result)
        }
        return self.change.response(
            to: result, status: .created, location: "/v1/access/freezes", adding: ["freeze_id": .string(recorded.id)])
    }
}

import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing

/// The guard rails, and those that only warn.
struct GuardRailRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("listGuardRails", .get, "/v1/guard-rails", access: .somewhere(.readApps)) { _ in
                let fleet = self.services.ledger.view.state.fleet
                let rails = GuardRail.allCases.map { $0.json(isLowered: fleet.loweredRails.contains($0)) }
                return .json(["guard_rails": .array(rails)], headers: [.eTag: self.services.tag(of: fleet.version)])
            },
            Route("getGuardRail", .get, "/v1/guard-rails/{code}", access: .somewhere(.readApps)) { exchange in
                let fleet = self.services.ledger.view.state.fleet
                let rail = try exchange.guardRail
                guard case .object(var members) = rail.json(isLowered: fleet.loweredRails.contains(rail)) else {
                    return .json(.null)
                }
                members["page"] = .string(GuardRailPages.text(of: rail))
                return .json(.object(members), headers: [.eTag: self.services.tag(of: fleet.version)])
            },
            Route(
                "setGuardRail", .put, "/v1/guard-rails/{code}", access: .everywhere(.changeGuardRails),
                query: CommandExecutor.query
            ) { exchange in
                let rail = try exchange.guardRail
                let change = try await Self.change(in: exchange)
                return try await self.change(
                    .fleet(.setGuardRail(rail, isLowered: change.content)), of: change, in: exchange)
            },
            Route(
                "setAppGuardRail", .put, "/v1/apps/{app}/guard-rails/{code}", access: .app(.changeGuardRails),
                query: CommandExecutor.query
            ) {
                exchange in
                let (id, rail) = (try exchange.app, try exchange.guardRail)
                let change = try await Self.change(in: exchange)
                return try await self.change(
                    .app(id, [.setGuardRail(rail, isLowered: change.content)]), of: change, in: exchange)
            },
        ]
    }

    private static func change(in exchange: Exchange) async throws -> Change<Bool> {
        try await exchange.change { (members) throws(JSONDefect) in try members.required("lowered").bool() }
    }
}

extension GuardRail {
    fileprivate func json(isLowered: Bool) -> JSON {
        [
            "code": .string(self.code),
            "title": .string(self.entry.title),
            "severity": .string(self.entry.severity.rawValue),
            "holding": .string(self.entry.holding.rawValue),
            "adjustable": .bool(self.isAdjustable),
            "lowered": .bool(isLowered),
        ]
    }
}

extension Exchange {
    /// The code of a guard rail in the path.
    fileprivate var guardRail: GuardRail {
        get throws {
            guard let rail = GuardRail(rawValue: self.parameters["code"] ?? "") else {
                throw Problem(
                    .malformedRequest,
                    "The path parameter `code` must be a guard rail's, from G01 to \(GuardRail.allCases.last?.code ?? "")."
                )
            }
            return rail
        }
    }
}

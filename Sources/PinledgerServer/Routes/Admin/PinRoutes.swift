import EventStore
import Hummingbird
import PinWire
import Pinning
import Publishing

/// Pins: `/v1/apps/{app}/hosts/{host}/pins`.
struct PinRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let pins = "/v1/apps/{app}/hosts/{host}/pins"
        return [
            Route("addPin", .post, pins, access: .app(.changeApps), query: CommandExecutor.query, self.add),
            Route(
                "updatePin", .patch, "\(pins)/{pin}", access: .app(.changeApps), query: CommandExecutor.query,
                self.update),
        ]
    }

    private func add(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let pattern = try exchange.host
        let change = try await exchange.keyChange(known: self.services.knownKeys(of: id)) {
            (members, uploads) throws(JSONDefect) in
            let slot = try members.optional("policy")?.oneOf(PolicySlot.self) ?? .baseline
            return (slot, try AppCommand.NewPin(&members, &uploads))
        }
        let (slot, pin) = change.content
        return try await self.change(
            .app(id, [.addPin(pattern, slot, pin)]), of: change, in: exchange, status: .created,
            location: "/v1/apps/\(id)/hosts/\(pattern)"
        )
    }

    private func update(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let pattern = try exchange.host
        let pin = try exchange.pin
        let change = try await exchange.change { (members) throws(JSONDefect) in
            let slot = try members.optional("policy")?.oneOf(PolicySlot.self) ?? .baseline
            var commands: [AppCommand] = []
            if let role = members.optional("role") {
                commands.append(.setPinRole(pattern, slot, pin, try role.oneOf(PinRole.self)))
            }
            if let state = members.optional("state") {
                switch try state.oneOf(PinState.self) {
                case .active: commands.append(.activatePin(pattern, slot, pin))
                case .retired: commands.append(.retirePin(pattern, slot, pin))
                case .revoked: commands.append(.revokePin(pattern, slot, pin))
                case .staged:
                    throw state.defect(
                        "must be active, retired or revoked: a published pin cannot be unpublished again")
                }
            }
            guard !commands.isEmpty else {
                throw JSONDefect(pointer: JSONPointer(["state"]), message: "is required if role is missing")
            }
            return commands
        }
        return try await self.change(.app(id, change.content), of: change, in: exchange)
    }
}

import EventStore
import Hummingbird
import PinWire
import Pinning

/// Putting recorded changes back: `/v1/apps/{app}/revert`.
struct RevertRoutes: Sendable {
    let services: Services

    var routes: [Route] {
        [
            Route(
                "revertAppChange", .post, "/v1/apps/{app}/revert", access: .app(.changeApps),
                query: CommandExecutor.query, self.revert)
        ]
    }

    private func revert(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.required("position").integer(0...JSON.largestInteger - 1)
        }
        _ = try self.services.app(id)
        let (position, head) = (change.content, self.services.ledger.view.head)
        guard position < head.position else {
            throw Problem(.positionAhead, "The ledger has \(head.position) events, so none stands at \(position).")
        }
        guard let past = try await self.services.reader.change(of: id, at: position) else {
            throw Problem(.eventUnknown, "The event at position \(position) is not one of the app \(id).")
        }
        let executor = CommandExecutor(services: self.services)
        let result = try await executor.perform(.app(id, [.revert(past)]), of: change, in: exchange)
        // By the change and the time at which it was reverted, so that a repeated request gets the same answer.
        let time = result.recorded.entries.first?.time ?? self.services.clock()
        let kept = (try? Reversal(of: past, in: past.after, at: time).kept) ?? []
        return executor.response(to: result, adding: ["not_reverted": .array(kept.map(\.json))])
    }
}

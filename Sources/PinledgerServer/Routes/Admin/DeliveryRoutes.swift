import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Webhooks

/// A webhook's deliveries, and sending them again: `/v1/webhooks/{webhook_id}/deliveries` and `…/replay`.
///
/// None of this is recorded in the ledger: it repeats events that stand there already.
struct DeliveryRoutes: Sendable {
    let services: Services
    private var store: WebhookStore { self.services.webhooks.store }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let hook = "/v1/webhooks/{webhook_id}"
        return [
            Route(
                "listWebhookDeliveries", .get, "\(hook)/deliveries", access: .everywhere(.readWebhooks),
                query: ["state", "limit", "cursor"], self.list),
            Route(
                "replayWebhookDelivery", .post, "\(hook)/deliveries/{position}/replay",
                access: .everywhere(.manageWebhooks), self.replayOne),
            Route("replayWebhook", .post, "\(hook)/replay", access: .everywhere(.manageWebhooks), self.replay),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let webhook = try exchange.webhook(in: self.services.ledger.view.state.webhooks)
        let state = try exchange.query["state"].map { text in
            guard let state = DeliveryState(rawValue: text) else {
                throw Problem(
                    .malformedRequest, "The query parameter `state` must be pending, failed, delivered or dead.")
            }
            return state
        }
        let limit = Int(try exchange.number("limit", in: 1...1000) ?? 100)
        let path = "/v1/webhooks/\(webhook.id)/deliveries"
        let boundary = try Cursor.read(exchange, list: path, filter: [state?.rawValue]).map { text in
            guard let position = Int64(text) else { throw Problem(.invalidCursor, "The cursor names no position.") }
            return position
        }
        let page = try await self.store.deliveries(
            of: webhook.id, in: state, before: boundary, limit: limit, fleet: self.services.ledger.view.state.fleet)
        var members: [String: JSON] = ["deliveries": .array(page.deliveries.map(\.json))]
        var headers = HTTPFields()
        if page.hasMore, let last = page.deliveries.last {
            let next = Cursor.text(String(last.position), list: path, filter: [state?.rawValue])
            members["next_cursor"] = .string(next)
            let filter = state.map { "state=\($0.rawValue)&" } ?? ""
            headers[.link] = "<\(path)?\(filter)limit=\(limit)&cursor=\(next)>; rel=\"next\""
        }
        return .json(.object(members), headers: headers)
    }

    private func replayOne(_ exchange: Exchange) async throws -> Response {
        let text = exchange.parameters["position"] ?? ""
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let position = Int64(text),
            position <= JSON.largestInteger
        else { throw Problem(.malformedRequest, "The path parameter `position` must be a whole number.") }
        let webhook = try exchange.webhook(in: self.services.ledger.view.state.webhooks)
        try await exchange.bareBody()
        let count = try await self.replay(webhook, at: position..<(position + 1), isComplete: false)
        guard count > 0 else {
            throw Problem(
                .deliveryUnknown, "\(webhook.id) has no delivery at position \(position), or it is being sent now.")
        }
        return .json(["replayed": .integer(count)], status: .accepted)
    }

    private func replay(_ exchange: Exchange) async throws -> Response {
        let webhook = try exchange.webhook(in: self.services.ledger.view.state.webhooks)
        let positions = try await exchange.object { (members) throws(JSONDefect) in
            let any: ClosedRange<Int64> = 0...JSON.largestInteger
            let first = try members.required("from_position").integer(any)
            let field = try members.required("until_position")
            let until = try field.integer(any)
            guard first < until, until - first <= WebhookStore.replayLimit else {
                throw field.defect("must be 1 to \(WebhookStore.replayLimit) after from_position")
            }
            return first..<until
        }
        let count = try await self.replay(webhook, at: positions, isComplete: true)
        return .json(["replayed": .integer(count)], status: .accepted)
    }

    private func replay(_ webhook: Webhook, at positions: Range<Int64>, isComplete: Bool) async throws -> Int64 {
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        guard let count = try await self.store.replay(webhook, at: positions, isComplete: isComplete) else {
            throw Problem(
                .overloaded,
                "\(webhook.id) has \(WebhookStore.openLimit) outstanding deliveries, which is the limit; nothing was added."
            )
        }
        return count
    }
}

import EventStore
import HTTPTypes
import Hummingbird
import Keys
import NIOCore
import PinWire
import Pinning
import Publishing

/// Addresses of calendar feeds, for programs that only take an address: `/v1/apps/{app}/calendar-feeds`, and the feeds
/// themselves below `/calendars`, on the operators' listener.
///
/// In the ledger a feed is a token whose id begins with `cal_` and that opens no other operation.
struct CalendarFeedRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    /// The default and the longest life of a feed: a year.
    private static let defaultSeconds: Int64 = 365 * 86_400

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let all = "/v1/apps/{app}/calendar-feeds"
        return [
            Route("listCalendarFeeds", .get, all, access: .app(.readApps), self.list),
            Route(
                "createCalendarFeed", .post, all, access: .app(.manageCalendarFeeds),
                query: CommandExecutor.directDrawingQuery, self.create),
            Route(
                "revokeCalendarFeed", .delete, "\(all)/{feed}", access: .app(.manageCalendarFeeds),
                query: CommandExecutor.directBodilessQuery, self.revoke),
            Route("getCalendarByFeed", .get, "/calendars/{app}/{feed}/pins.ics", access: .everybody, self.get),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let access = self.services.ledger.view.state.access
        let feeds = access.feeds(of: app.id).map { feed in
            JSON.members([
                "feed_id": .string(feed.id), "name": .string(feed.name),
                "created_at": .string(feed.createdAt.rfc3339), "expires_at": .string(feed.expiresAt.rfc3339),
                "revoked_at": feed.revokedAt.map { .string($0.rfc3339) },
            ])
        }
        return .json(["feeds": .array(feeds)], headers: [.eTag: self.services.tag(of: access.version)])
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            (
                name: try members.optional("name")?.plainText(atMost: 100) ?? "calendar",
                expiresAt: try members.optional("expires_at")?.timestamp()
            )
        }
        let secret = CalendarSecret.generate(app: app.id.text)
        let id = CalendarSecret.newID()
        let grant = Grant(role: RoleName(.viewer), apps: [.one(app.id)])
        let feed = NewToken(
            id: id, name: AccessToken.feedName(change.content.name, of: app.id), digest: secret.digest,
            expiresAt: change.content.expiresAt ?? self.services.clock().adding(seconds: Self.defaultSeconds),
            terms: AccessToken.Terms(kind: .calendar, grants: [grant]))
        let result = try await self.change.perform(.access(.issueToken(feed)), of: change, in: exchange)
        // The address is shown only once. A repeated request gets the same record without it.
        let isNew = !result.recorded.isReplay && !result.isDryRun
        let path = "/calendars/\(app.id)/\(secret.revealedText)/pins.ics"
        return self.change.response(
            to: result, status: .created, location: "/v1/apps/\(app.id)/calendar-feeds",
            adding: isNew ? ["path": .string(path), "feed_id": .string(id)] : [:]
        )
    }

    private func revoke(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let id = exchange.parameters["feed"] ?? ""
        guard CalendarSecret.isID(id) else {
            throw Problem(
                .malformedRequest,
                "The path parameter `feed` must be its id: cal_ and 16 letters and digits, not its address.")
        }
        guard self.services.ledger.view.state.access.feeds(of: app.id).contains(where: { $0.id == id }) else {
            throw Problem(Refusal.tokenUnknown(id))
        }
        return try await self.change(
            .access(.revokeToken(id: id)), of: try exchange.bodilessChange(), in: exchange)
    }

    /// The calendar of an app, for the holder of its address. Wrong, revoked and expired addresses get one and the same
    /// answer.
    private func get(_ exchange: Exchange) async throws -> Response {
        let unknown = Problem(.notFound, "There is no calendar here: the address is wrong, was revoked or has expired.")
        if let fault = self.services.ledger.partialFault { throw Problem(fault) }
        let access = self.services.ledger.view.state.access
        guard let app = try? exchange.app,
            let secret = CalendarSecret(exchange.parameters["feed"] ?? "", app: app.text),
            let id = access.idByDigest[secret.digest], CalendarSecret.isID(id), let feed = access.tokens[id],
            secret.matches(digest: feed.digest), feed.isValid(at: self.services.clock())
        else { throw unknown }
        self.services.tokenUses.note(
            id,
            from: ClientNetwork(
                of: ClientAddress.of(exchange, trusted: self.services.telemetry.trustedProxies.networks)))
        return try CalendarRoutes(services: self.services).feed(of: app)
    }
}

extension Access {
    /// The calendar feeds of an app, the oldest first, also revoked ones.
    func feeds(of app: AppID) -> [AccessToken] {
        let prefix = AccessToken.feedName("", of: app)
        return self.tokens.values.filter { CalendarSecret.isID($0.id) && $0.name.hasPrefix(prefix) }
            .sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
            .map { feed in
                var feed = feed
                feed.name = String(feed.name.dropFirst(prefix.count))
                return feed
            }
    }
}

import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Signals

/// What comes and what needs attention: `/v1/apps/{app}/calendar` and `/v1/attention`.
struct CalendarRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("getCalendar", .get, "/v1/apps/{app}/calendar", access: .app(.readApps)) { exchange in
                .json(
                    try self.calendar(of: try exchange.app).json(horizons: self.services.environment.facts().horizons))
            },
            Route(
                "getCalendarFeed", .get, "/v1/apps/{app}/calendar.ics", access: .app(.readApps), acceptsPassword: true
            ) { exchange in
                try self.feed(of: try exchange.app)
            },
            Route(
                "listAttention", .get, "/v1/attention", access: .somewhere(.readApps), query: ["app", "severity"],
                self.attention),
        ]
    }

    /// An app's calendar as iCalendar.
    func feed(of app: AppID) throws -> Response {
        let feed = CalendarFeed(try self.calendar(of: app), at: self.services.clock())
        return Response(
            status: .ok, headers: [.contentType: "text/calendar; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: feed.bytes))
        )
    }

    private func calendar(of app: AppID) throws -> AppCalendar {
        guard let calendar = self.services.ledger.view.state.calendar(of: app, in: self.services.decisionContext) else {
            throw Problem(Refusal.appUnknown(app))
        }
        return calendar
    }

    private func attention(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.appInQuery
        if let app { _ = try self.services.app(app, seenBy: exchange.rights) }
        let severity = try exchange.query["severity"].map { text in
            guard let severity = AttentionItem.Severity(rawValue: text) else {
                throw Problem(.malformedRequest, "The query parameter `severity` must be urgent, soon or info.")
            }
            return severity
        }
        let context = self.services.decisionContext
        let (rights, view) = (exchange.rights, self.services.ledger.view)
        let state = view.state
        // What else needs attention is said also while the database cannot be asked.
        let tokens = state.tokensToWatch(at: context.now) {
            state.access.isVisible($0, to: exchange.actor, with: rights)
        }
        let uses = tokens.isEmpty ? [] : (try? await self.services.tokenUseStore.recentUses(of: tokens)) ?? []
        let list = state.attention(
            of: app, severity: severity, showing: rights.sees, isWhole: rights.allowsEverywhere(.readWebhooks),
            tokenUses: uses, showingToken: { state.access.isVisible($0, to: exchange.actor, with: rights) },
            endingAhead: view.head.isAhead(of: context.now) ? view.head.lastTime : nil, in: context
        )
        return .json(list.json(at: context.now))
    }
}

extension AppCalendar {
    fileprivate func json(horizons: Horizons) -> JSON {
        [
            "app": .string(self.app.text),
            "warn_days": .array(horizons.days.map { .integer($0) }),
            "entries": .array(self.entries.map(\.json)),
            "truncated": .bool(self.isTruncated),
        ]
    }
}

extension AttentionList {
    fileprivate func json(at now: Timestamp) -> JSON {
        [
            "as_of": .string(now.rfc3339),
            "counts": .object(
                Dictionary(
                    uniqueKeysWithValues: AttentionItem.Severity.allCases.map {
                        ($0.rawValue, .integer(Int64(self.counts[$0] ?? 0)))
                    })),
            "items": .array(self.items.map(\.json)),
            "truncated": .bool(self.isTruncated),
        ]
    }
}

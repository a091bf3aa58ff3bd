import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Publishing

/// The history of an app and of the whole ledger.
struct HistoryRoutes: Sendable {
    let services: Services
    /// Searches take connections to the database for longer than anything else. A person or service account has one at a time.
    private let searches = ConcurrencyLimiter<String>(limit: 2) { _ in 1 }
    private static let query = ["type", "actor", "since", "until", "after", "search", "order", "limit", "cursor"]

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("listHistory", .get, "/v1/history", access: .somewhere(.readHistory), query: Self.query + ["stream"])
            { exchange in
                var filter = LedgerReader.Filter()
                if let text = exchange.query["stream"] {
                    guard let stream = StreamID(text: text) else {
                        throw Problem(
                            .malformedRequest,
                            "The query parameter `stream` must be app/<id>, watch/<id>, fleet, keys, access, webhooks, log, changes or audit."
                        )
                    }
                    filter.stream = stream
                }
                try Self.authorize(&filter, for: exchange.rights)
                return try await self.page(exchange, filter, at: "/v1/history")
            },
            Route("listAppHistory", .get, "/v1/apps/{app}/history", access: .app(.readHistory), query: Self.query) {
                exchange in
                let app = try self.services.app(try exchange.app)
                var filter = LedgerReader.Filter()
                filter.stream = .app(app.id)
                return try await self.page(exchange, filter, at: "/v1/apps/\(app.id)/history")
            },
        ]
    }

    /// Refuses a stream that the caller may not read. Without one, the caller must be able to read every app's events; what
    /// belongs to no app is left out where it may not be read.
    private static func authorize(_ filter: inout LedgerReader.Filter, for rights: Rights) throws(Problem) {
        guard let stream = filter.stream else {
            guard rights.allowsEverywhere(.readHistory) else {
                throw Problem(
                    Refusal.permissionMissing(.readHistory, .everywhere),
                    alternative: "Or name an app: /v1/apps/APP/history.")
            }
            filter.hidden = rights.hiddenStreams
            return
        }
        guard !rights.mayRead(stream) else { return }
        guard let app = stream.app else { throw Problem(Refusal.permissionMissing(stream.permission, .everywhere)) }
        throw Problem(rights.sees(app) ? Refusal.permissionMissing(.readHistory, .app(app)) : Refusal.appUnknown(app))
    }

    private func page(_ exchange: Exchange, _ filter: LedgerReader.Filter, at path: String) async throws -> Response {
        var filter = filter
        filter.types =
            try exchange.query["type"].map { text in
                let names = text.split(separator: ",").map(String.init)
                let types = names.compactMap(EventGroup.types(named:))
                guard !types.isEmpty, types.count == names.count else {
                    throw Problem(
                        .malformedRequest,
                        "The query parameter `type` must be event types or groups of them, separated by commas. Known are "
                            + "\(EventGroup.names.joined(separator: ", "))."
                    )
                }
                return types.flatMap { $0 }
            } ?? []
        filter.actorIDs =
            try exchange.query["actor"].map { text in
                guard (1...128).contains(text.utf8.count), text.isPrintableASCII else {
                    throw Problem(
                        .malformedRequest, "The query parameter `actor` must be the id of an actor or a principal.")
                }
                // A principal acts with tokens; its own id stands for itself.
                let access = self.services.ledger.view.state.access
                guard let principal = access.principals[text] else { return [text] }
                // Sessions are forgotten some time after they ended: the events themselves say whose they were.
                if principal.hasSignedIn, exchange.query["search"] == nil {
                    filter.principal = text
                    return []
                }
                return [text] + access.tokens.values.filter { $0.terms?.principal == text }.map(\.id).sorted()
            } ?? []
        (filter.since, filter.until) = try exchange.period()
        filter.after = try exchange.number("after", in: 0...JSON.largestInteger)
        filter.text = try exchange.query["search"].map { text in
            guard (1...256).contains(text.utf8.count) else {
                throw Problem(.malformedRequest, "The query parameter `search` must be a text of 1 to 256 bytes.")
            }
            // As it is written in an event.
            return Array(JSON.string(text).canonicalText.utf8.dropFirst().dropLast())
        }
        let ascending: Bool
        switch exchange.query["order"] {
        case nil, "newest": ascending = false
        case "oldest": ascending = true
        default: throw Problem(.malformedRequest, "The query parameter `order` must be newest or oldest.")
        }
        let limit = Int(try exchange.number("limit", in: 1...1000) ?? 100)

        let names = Self.query.filter { $0 != "cursor" && $0 != "limit" } + ["stream"]
        let fingerprint = names.map { exchange.query[$0] }
        let boundary = try Cursor.read(exchange, list: path, filter: fingerprint).map { text in
            guard let position = Int64(text) else { throw Problem(.invalidCursor, "The cursor names no position.") }
            return position
        }
        let isSearch = filter.text != nil || filter.principal != nil
        let place = isSearch ? self.searches.take(for: exchange.actor.map { [$0.party] } ?? []) : nil
        defer { place?.release() }
        guard !isSearch || place != nil else {
            throw Problem(
                .overloaded,
                "A search of the history by you is running already, or two by others: one each, two in all.")
        }
        let page = try await self.services.reader.history(filter, from: boundary, ascending: ascending, limit: limit)

        // Each event is shown as the exact bytes that are recorded and hashed.
        var body = ByteBuffer(string: "{\"events\":[")
        for (index, stored) in page.entries.enumerated() {
            if index > 0 { body.writeString(",") }
            body.writeBytes(stored.bytes)
        }
        body.writeString("]")
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if let boundary = page.next {
            let next = Cursor.text(String(boundary), list: path, filter: fingerprint)
            body.writeString(",\"next_cursor\":\"\(next)\"")
            var query = names.compactMap { name in exchange.query[name].map { "\(name)=\(Self.escaped($0))" } }
            query += ["limit=\(limit)", "cursor=\(next)"]
            headers[.link] = "<\(path)?\(query.joined(separator: "&"))>; rel=\"next\""
        }
        body.writeString("}")
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                escaped.append(character)
            } else {
                escaped += "%" + Hex.encode([byte]).uppercased()
            }
        }
        return escaped
    }
}

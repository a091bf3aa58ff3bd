import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning

/// An app and its document in the past.
struct PastRoutes: Sendable {
    let services: Services

    var routes: [Route] {
        [
            Route(
                "getDocumentContent", .get, "/v1/apps/{app}/document/content", access: .app(.readHistory),
                query: ["position", "at"],
                self.documentContent),
            Route(
                "listDocumentVersions", .get, "/v1/apps/{app}/document/versions", access: .app(.readHistory),
                query: ["since", "until", "limit", "cursor"], self.versions),
            Route(
                "compareApp", .get, "/v1/apps/{app}/differences", access: .app(.readHistory),
                query: ["from_position", "from_at", "to_position", "to_at"], self.differences),
        ]
    }

    /// The content of the document as the ledger made it at any moment: the bytes of which clients hold the digest.
    private func documentContent(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let moment = try await PastMoment(of: [.fleet, .app(id)], exchange, self.services)
        let document = try moment.document(of: id, self.services)
        return .json(document.content, headers: [.ledgerPosition: String(moment.position)])
    }

    /// The versions of the document that stood between two times.
    private func versions(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let limit = Int(try exchange.number("limit", in: 1...200) ?? 100)
        let (since, until) = try exchange.period()
        let path = "/v1/apps/\(app.id)/document/versions"
        let filter = [exchange.query["since"], exchange.query["until"]]
        let start: Int64
        if let text = try Cursor.read(exchange, list: path, filter: filter) {
            guard let position = Int64(text), position >= 0 else {
                throw Problem(.invalidCursor, "The cursor names no position.")
            }
            start = position
        } else if let since {
            // An event of exactly this instant is included.
            start = try await self.services.reader.position(at: Timestamp(microseconds: since.microseconds + 1))
        } else {
            start = 0
        }
        var end = self.services.ledger.view.head.position
        if let until { end = min(end, try await self.services.reader.position(at: until)) }
        let (versions, next) = try await self.services.reader.documentVersions(
            of: app.id, from: start, to: end, limit: limit)
        var members: [String: JSON] = ["app": .string(app.id.text), "versions": .array(versions.map(\.json))]
        var headers = HTTPFields()
        if let next {
            let cursor = Cursor.text(String(next), list: path, filter: filter)
            members["next_cursor"] = .string(cursor)
            let query = ["since", "until"].compactMap { name in
                exchange.query[name].map { "\(name)=\($0.replacing("+", with: "%2B"))" }
            }
            let link = query + ["limit=\(limit)", "cursor=\(cursor)"]
            headers[.link] = "<\(path)?\(link.joined(separator: "&"))>; rel=\"next\""
        }
        return .json(.object(members), headers: headers)
    }

    /// An app and its document at two moments, compared.
    private func differences(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let from = try await PastMoment(
            of: [.fleet, .app(id)], exchange, self.services, "from_position", "from_at")
        let to = try await PastMoment(of: [.fleet, .app(id)], exchange, self.services, "to_position", "to_at")
        let (before, after) = (try from.document(of: id, self.services), try to.document(of: id, self.services))
        func json(_ moment: PastMoment, _ document: Document) -> JSON {
            [
                "position": .integer(moment.position), "version": .integer(document.version),
                "content_sha256": .string(Hex.encode(document.contentDigest)),
            ]
        }
        return .json([
            "app": .string(id.text), "from": json(from, before), "to": json(to, after),
            "settings": Self.differences(Self.settings(from, id), Self.settings(to, id)),
            "document": Self.differences(before.content, after.content),
        ])
    }

    /// What operators set, and not what only counts.
    private static func settings(_ moment: PastMoment, _ id: AppID) -> JSON {
        moment.state.apps[id].map { self.settings($0.json) } ?? .null
    }

    private static let counting: Set = [
        "engaged_at", "host_count", "phase_since", "rollout_revision", "since", "updated_at", "version",
    ]

    private static func settings(_ json: JSON) -> JSON {
        switch json {
        case .object(let members):
            .object(members.filter { !Self.counting.contains($0.key) }.mapValues { Self.settings($0) })
        case .array(let elements): .array(elements.map { Self.settings($0) })
        default: json
        }
    }

    private static func differences(_ before: JSON, _ after: JSON) -> JSON {
        JSONDifference.between(before, after).json
    }
}

extension DocumentVersion {
    fileprivate var json: JSON {
        .members([
            "version": .integer(self.version), "position": .integer(self.position),
            "since": .string(self.since.rfc3339), "until": self.until.map { .string($0.rfc3339) },
            "content_sha256": .string(Hex.encode(self.contentDigest)),
        ])
    }
}

import EventStore
import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Bodies that cost more than they are long: at the reader of JSON with the limits of those who use it, and at every operation that takes
/// a body.
@Suite struct `A body that explodes` {
    struct Bomb: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ parts: (text: String, count: Int)...) {
            self.testDescription = name
            self.bytes = parts.flatMap { part in
                let bytes = Array(part.text.utf8)
                return (0..<part.count).flatMap { _ in bytes }
            }
        }

        init(_ name: String, bytes: [UInt8]) {
            self.testDescription = name
            self.bytes = bytes
        }
    }

    static let bombs = [
        Bomb("deep arrays", ("[", 100_000), ("]", 100_000)),
        Bomb("deep objects", (#"{"a":"#, 50_000), ("1", 1), ("}", 50_000)),
        Bomb(
            "many members",
            bytes: Array(("{" + (0..<50_000).map { "\"m\($0)\":0" }.joined(separator: ",") + "}").utf8)),
        Bomb("many elements", (#"{"a":["#, 1), ("0,", 200_000), ("0]}", 1)),
        Bomb("one member twice", (#"{"reason":"a","reason":"b"}"#, 1)),
        Bomb("a long name", (#"{""#, 1), ("k", 500_000), (#"":0}"#, 1)),
        Bomb("a long number", (#"{"a":"#, 1), ("9", 500_000), ("}", 1)),
        Bomb("a huge exponent", (#"{"a":1e999999999}"#, 1)),
        Bomb("escapes", (#"{"a":""#, 1), (#"\u0000"#, 80_000), (#""}"#, 1)),
        Bomb("lone surrogates", (#"{"a":"\ud800"}"#, 1)),
        Bomb("no text at all", bytes: (0..<1_000).flatMap { _ in 128...255 as ClosedRange<UInt8> }),
    ]

    @Test(arguments: bombs) func `a reader of JSON refuses it`(bomb: Bomb) {
        // Texts are bounded by the bytes of a body; what they mean, by those who read them.
        let isText = bomb.testDescription == "escapes"
        for limits in [JSONLimits(), ReportBatch.limits, ForeignReport.limits] {
            #expect(isText || (try? JSON(parsing: bomb.bytes, limits: limits)) == nil, "\(limits)")
        }
    }

    // MARK: Operations

    private static let app = "com.example.mine"
    private static let host = "mine.example.com"

    /// A server whose ledger has an app with a host, so that operations on them read their bodies.
    private static func routes() throws -> [Route] {
        let time = Timestamp(seconds: 1_790_000_000)
        var view = LedgerView()
        let stream = StreamID.app(try AppID(Self.app))
        let host = try HostPattern(Self.host)
        for event: AppEvent in [
            .appCreated(displayName: "Mine"), .hostAdded(host, includesSubdomains: false, mode: .enforce),
        ] {
            let isTaken = view.state.apply(.app(event), of: stream, at: time)
            #expect(isTaken)
        }
        var services = ExampleServer.services
        services.ledger = Ledger(view: view)
        return Routes(services: services).all
    }

    /// Values of paths' parameters in their form.
    private static let values = [
        "app": app, "host": host, "pin": String(repeating: "0a", count: 32), "client": "wultra",
        "format": "pinledger_document", "code": "G07", "role": "own-role", "rule": "own-rule",
        "provider": "own-provider", "rotation": "none", "position": "1", "id": "1", "key": "text", "language": "en",
        "kid": Base64URL.encode([UInt8](repeating: 107, count: 32)), "token_id": "tok_0000000000000000",
        "key_id": "tlk_0000000000000000", "webhook_id": "whk_0000000000000000", "feed": "cal_0000000000000000",
        "principal_id": "prn_0000000000000000", "grant_id": "grt_0000000000000000",
        "change_id": "chg_0000000000000000", "freeze_id": "frz_0000000000000000",
        "identity_id": "idn_0000000000000000",
    ]

    /// The operations that take a body, as the contract says.
    private static let operationsWithBodies = Result {
        let paths = try #require(try ContractTests.contract()["paths"] as? [String: [String: Any]])
        return Set(
            paths.values.flatMap(\.values).compactMap { $0 as? [String: Any] }.filter { $0["requestBody"] != nil }
                .compactMap { $0["operationId"] as? String })
    }

    /// The status of an answer to a body.
    private static func status(of route: Route, _ bytes: [UInt8]) async -> Int {
        let names = route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        let parameters = Dictionary(names.map { ($0, Self.values[$0] ?? "x") }) { first, _ in first }
        let head = HTTPRequest(
            method: route.method, scheme: "http", authority: "a.test", path: "/",
            headerFields: [.contentType: "application/json"])
        let exchange = Exchange(
            request: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: bytes))), requestID: "1",
            parameters: parameters, query: route.path.hasPrefix("/v1/import/") ? ["app": Self.app] : [:],
            foreignQuery: [], actor: Actor(kind: .token, id: "tok_1", name: "test"), rights: .everything,
            isOperators: true, bodyLimit: route.bodyLimit, peer: nil)
        do { return try await route.handler(exchange).status.code } catch {
            return Problem(error).type.entry.status.code
        }
    }

    @Test(arguments: bombs) func `every operation refuses it`(bomb: Bomb) async throws {
        let taking = try Self.operationsWithBodies.get()
        let routes = try Self.routes().filter { taking.contains($0.operationID) }
        #expect(routes.count == taking.count && routes.count > 80)
        for route in routes {
            // A template of Remote Config may have any text; Firebase bounds it.
            if route.operationID == "importRemoteConfig", bomb.testDescription == "escapes" { continue }
            let status = await Self.status(of: route, bomb.bytes)
            let isForeign = route.path.hasPrefix("/compat/") || route.path.hasPrefix("/client/")
            #expect((400..<500).contains(status) || isForeign, "\(route.operationID): \(status)")
        }
    }
}

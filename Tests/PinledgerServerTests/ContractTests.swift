import Foundation
import HTTPTypes
import Pinning
import Testing
import Yams

@testable import PinledgerServer

/// `openapi/openapi.yaml` against the code, both ways.
@Suite struct ContractTests {
    struct Operation: Hashable, CustomStringConvertible {
        var id: String
        var method: String
        var path: String

        var description: String { "\(self.id): \(self.method) \(self.path)" }
    }

    static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../openapi/openapi.yaml").standardizedFileURL

    static func contract() throws -> [String: Any] {
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        return try #require(try Yams.load(yaml: text) as? [String: Any])
    }

    @Test func `the contract describes every route, and no other`() throws {
        let paths = try #require(try Self.contract()["paths"] as? [String: [String: Any]])
        var described: Set<Operation> = []
        for (path, item) in paths {
            for (method, operation) in item where HTTPRequest.Method(rawValue: method.uppercased()) != nil {
                guard ["get", "put", "post", "delete", "patch", "head", "options"].contains(method) else { continue }
                let id = try #require((operation as? [String: Any])?["operationId"] as? String, "\(method) \(path)")
                described.insert(Operation(id: id, method: method.uppercased(), path: path))
            }
        }
        let routed = Set(
            ExampleServer.routes.all.map { Operation(id: $0.operationID, method: $0.method.rawValue, path: $0.path) }
        )
        #expect(routed.subtracting(described).isEmpty, "routes that the contract lacks")
        #expect(described.subtracting(routed).isEmpty, "operations that have no route")
        #expect(routed.count == ExampleServer.routes.all.count, "an operation stands twice in the route table")
    }

    /// Writes the lines of the contract that begin so.
    private static func rewriteLines(_ lines: [String: String]) throws {
        let text = try String(contentsOf: Self.file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let written = text.map { line in lines.first { line.hasPrefix($0.key) }?.value ?? String(line) }
        try written.joined(separator: "\n").write(to: Self.file, atomically: true, encoding: .utf8)
    }

    @Test func `the contract names every type of event and every group of them`() throws {
        let any = EventGroup.names.map { $0.replacing(".*", with: "\\.\\*") }.joined(separator: "|")
        let filterPattern = "^,*(?:\(any))(?:,+(?:\(any)))*,*$"
        if ProcessInfo.processInfo.environment["PINLEDGER_WRITE_GOLDEN"] == "1" {
            try Self.rewriteLines([
                "      enum: [AppCreated,": "      enum: [\(Event.types.joined(separator: ", "))]",
                "        pattern: '^,*(?:app\\.": "        pattern: '\(filterPattern)'",
            ])
        }
        let components = try #require(try Self.contract()["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: [String: Any]])
        #expect(
            try #require(schemas["EventType"]?["enum"] as? [String]) == Event.types,
            "write it again with PINLEDGER_WRITE_GOLDEN=1, and look at the difference")
        let filter = try #require(schemas["EventFilter"]?["anyOf"] as? [[String: Any]])
        let groups = filter.compactMap { $0["enum"] as? [String] }.first
        #expect(groups == EventGroup.allCases.map(\.name).sorted())
        let parameters = try #require(components["parameters"] as? [String: [String: Any]])
        let schema = try #require(parameters["EventTypes"]?["schema"] as? [String: Any])
        let text = try #require(schema["pattern"] as? String)
        #expect(text == filterPattern, "write it again with PINLEDGER_WRITE_GOLDEN=1, and look at the difference")
        let pattern = try Regex(text)
        for name in EventGroup.names { #expect("PinRevoked,\(name)".wholeMatch(of: pattern) != nil, "\(name)") }
        #expect("PinRevoked,Pin".wholeMatch(of: pattern) == nil)
    }

    @Test func `the contract takes the code of every guard rail, and no other`() throws {
        let components = try #require(try Self.contract()["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: [String: Any]])
        let pattern = try Regex(try #require(schemas["GuardRailCode"]?["pattern"] as? String))
        let taken = (0..<100).map { $0 < 10 ? "G0\($0)" : "G\($0)" }.filter { $0.wholeMatch(of: pattern) != nil }
        #expect(taken == GuardRail.allCases.map(\.rawValue).sorted())
    }

    @Test func `the contract names the query parameters of every route`() throws {
        let contract = try Self.contract()
        let paths = try #require(contract["paths"] as? [String: [String: Any]])
        let components = try #require(contract["components"] as? [String: Any])
        let shared = components["parameters"] as? [String: [String: Any]] ?? [:]
        for route in ExampleServer.routes.all {
            let item = try #require(paths[route.path])
            let operation = try #require(item[route.method.rawValue.lowercased()] as? [String: Any])
            let listed =
                (item["parameters"] as? [[String: Any]] ?? []) + (operation["parameters"] as? [[String: Any]] ?? [])
            let parameters = listed.compactMap { parameter -> [String: Any]? in
                guard let reference = parameter["$ref"] as? String else { return parameter }
                return reference.split(separator: "/").last.flatMap { shared[String($0)] }
            }
            func names(in place: String) -> Set<String> {
                Set(parameters.filter { $0["in"] as? String == place }.compactMap { $0["name"] as? String })
            }
            #expect(names(in: "query") == Set(route.query), "\(route.operationID)")
            let inPath = Set(
                route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) })
            #expect(names(in: "path") == inPath, "\(route.operationID)")
        }
    }

    @Test func `operations behind a token say so, and the others do not`() throws {
        let contract = try Self.contract()
        let paths = try #require(contract["paths"] as? [String: [String: Any]])
        let general = contract["security"] as? [[String: Any]] ?? []
        for route in ExampleServer.routes.all {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()] as? [String: Any])
            let security = operation["security"] as? [[String: Any]] ?? general
            let needsToken = !security.isEmpty && !security.contains { $0.isEmpty }
            #expect(needsToken == route.access.needsToken, "\(route.operationID)")
        }
    }

    /// A prepared answer has no request id: all clients get the same bytes.
    @Test func `operations of deployed clients with prepared answers are those without a request id`() throws {
        let paths = try #require(try Self.contract()["paths"] as? [String: [String: Any]])
        for route in ExampleServer.routes.all where route.path.hasPrefix("/compat/") && route.access == .everybody {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()] as? [String: Any])
            let answer = (operation["responses"] as? [String: Any])?["200"] as? [String: Any]
            let headers = try #require(answer?["headers"] as? [String: Any], "\(route.operationID)")
            #expect((headers["Request-Id"] == nil) == route.isPrepared, "\(route.operationID)")
        }
    }

    /// A node that started on a damaged ledger cannot tell whether a token is valid, whatever is asked of it.
    @Test func `operations behind a token say that a node may be halted`() throws {
        let paths = try #require(try Self.contract()["paths"] as? [String: [String: Any]])
        for route in ExampleServer.routes.all where route.access.needsToken {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()] as? [String: Any])
            let responses = try #require(operation["responses"] as? [String: Any])
            #expect(responses["503"] != nil, "\(route.operationID)")
        }
    }

    @Test func `the contract names the permission of every operation, and where it must be held`() throws {
        let paths = try #require(try Self.contract()["paths"] as? [String: [String: Any]])
        for route in ExampleServer.routes.all {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()] as? [String: Any])
            #expect(
                operation["x-permission"] as? String == route.access.permission?.rawValue, "\(route.operationID)")
            let place: String? =
                switch route.access {
                case .everybody, .optionalToken, .anyToken: nil
                case .app: "app"
                case .somewhere: "any_app"
                case .everywhere, .log: "everywhere"
                }
            #expect(operation["x-permission-on"] as? String == place, "\(route.operationID)")
        }
    }

    @Test func `the contract names every permission, and no other`() throws {
        let components = try #require(try Self.contract()["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: [String: Any]])
        #expect(schemas["Permission"]?["enum"] as? [String] == Permission.allCases.map(\.rawValue))
    }

    @Test func `operations that draw a new value for every request take no plan`() throws {
        let drawing: Set = [
            "createWebhook", "rotateWebhookSecret", "createToken", "createKey", "createTelemetryKey", "setClientKey",
            "createCalendarFeed", "openLog", "addLogKey", "addPrincipal", "grantRole", "addFreeze",
        ]
        // What is done to a proposed change is for the content that the request names.
        for route in ExampleServer.routes.all
        where route.query.contains("dry_run") && !route.path.hasPrefix("/v1/changes/") {
            #expect(route.query.contains("plan_hash") != drawing.contains(route.operationID), "\(route.operationID)")
        }
    }

    /// Browsers send a password along with whatever a foreign page makes them ask, but neither DELETE nor a body declared
    /// as JSON without asking the server first.
    @Test func `operations that take the token as a password say so, and change nothing, or ask for JSON`() throws {
        let paths = try #require(try Self.contract()["paths"] as? [String: [String: Any]])
        for route in ExampleServer.routes.all {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()] as? [String: Any])
            let security = operation["security"] as? [[String: Any]] ?? []
            #expect(security.contains { $0["basicAuth"] != nil } == route.acceptsPassword, "\(route.operationID)")
            guard route.acceptsPassword, ![.get, .delete].contains(route.method) else { continue }
            #expect(route.method == .post, "\(route.operationID)")
            let content = (operation["requestBody"] as? [String: Any])?["content"] as? [String: Any]
            #expect(content.map { Set($0.keys) } == ["application/json"], "\(route.operationID)")
            // Wultra's server, whose interface this is, says with 400 that a body is of another type.
            let refused = route.path.hasPrefix("/compat/wultra/admin/") ? "400" : "415"
            #expect((operation["responses"] as? [String: Any])?[refused] != nil, "\(route.operationID)")
        }
    }

    @Test func `the contract knows every type of problem`() throws {
        let contract = try Self.contract()
        let schemas = try #require((contract["components"] as? [String: Any])?["schemas"] as? [String: Any])
        let problem = try #require(schemas["Problem"] as? [String: Any])
        let properties = try #require(problem["properties"] as? [String: [String: Any]])
        var type = try #require(properties["type"])
        if let reference = (type["$ref"] as? String)?.split(separator: "/").last {
            type = try #require(schemas[String(reference)] as? [String: Any])
        }
        let known = Set(try #require(type["enum"] as? [String]))
        #expect(known == Set(ProblemType.allCases.map { "/problems/\($0.rawValue)" }))
    }
}

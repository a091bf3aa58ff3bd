import HTTPTypes
import Hummingbird
import Testing

@testable import PinledgerServer

@Suite struct RouteTableTests {
    private let table = ExampleServer.routes.table([.client, .admin])

    private func operation(_ method: HTTPRequest.Method, _ path: String) throws -> String? {
        guard case .route(let route, _) = try self.table.match(method, path) else { return nil }
        return route.operationID
    }

    @Test func `a path and a method lead to one operation`() throws {
        #expect(try self.operation(.get, "/v1/apps") == "listApps")
        #expect(try self.operation(.post, "/v1/apps") == "createApp")
        #expect(try self.operation(.get, "/v1/apps/com.example.app/hosts/api.example.com") == "getHost")
        #expect(try self.operation(.post, "/v1/apps/a/hosts/b.c/candidate/promote") == "promoteCandidate")
    }

    @Test func `a HEAD request has the route of GET`() throws {
        #expect(try self.operation(.head, "/client/v1/apps/a/document") == "getDocument")
    }

    @Test func `parameters are decoded once`() throws {
        guard case .route(_, let parameters) = try self.table.match(.get, "/v1/apps/a%2Fb%2562") else {
            Issue.record("no route")
            return
        }
        #expect(parameters == ["app": "a/b%62"])
    }

    @Test(arguments: ["0/000", "entries/x001/x234/067.p/5", "0//000", "0/%30", "0/000/"])
    func `a parameter for the rest of a path takes its segments as they are`(rest: String) throws {
        guard case .route(let route, let parameters) = try self.table.match(.get, "/log/tile/\(rest)") else {
            Issue.record("no route")
            return
        }
        #expect(route.operationID == "getTile" && parameters == ["tile": rest])
    }

    @Test(arguments: ["/log/tile", "/log/tiles/0/000", "/log/checkpoint/0"])
    func `a parameter for the rest of a path takes no other path's`(path: String) throws {
        #expect(try self.operation(.get, path) == nil)
    }

    @Test func `a path answers a method that it lacks with the ones it has`() throws {
        guard case .methods(let methods, let subtree) = try self.table.match(.delete, "/v1/apps") else {
            Issue.record("no methods")
            return
        }
        #expect(methods.map(\.rawValue) == ["GET", "HEAD", "OPTIONS", "POST"])
        #expect(subtree?.path == nil)
    }

    @Test(arguments: ["v1/pins", "cert-fingerprint", "health", "readiness"])
    func `a method that Dynapins' server lacks is refused in its own form`(path: String) throws {
        guard case .methods(_, let subtree) = try self.table.match(.post, "/compat/dynapins/a/\(path)") else {
            Issue.record("no methods")
            return
        }
        var problem = Problem(.methodNotAllowed, "x")
        problem.headers[.allow] = "GET"
        let response = try #require(subtree?.refusal(problem))
        #expect(response.status == .methodNotAllowed && response.headers[.allow] == "GET")
        #expect(response.headers[.contentType] == "application/json" && response.body.contentLength == 41)
        // It has no form of its own for anything else.
        #expect(subtree?.refusal(Problem(.appUnknown, "x"))?.status == nil)
    }

    @Test(arguments: ["/compat/wultra/admin", "/compat/wultra/admin/none", "/compat/wultra/admin/apps/a/none"])
    func `an unknown path below Wultra's administration is refused in its form`(path: String) throws {
        guard case .nothing(let subtree) = try self.table.match(.get, path) else {
            Issue.record("\(path) leads somewhere")
            return
        }
        let response = try #require(subtree?.refusal(Problem(.notFound, "There is nothing.")))
        #expect(response.status == .notFound && response.headers[.contentType] == "application/json")
        guard case .methods(_, let other) = try self.table.match(.put, "/compat/wultra/admin/apps") else {
            Issue.record("no methods")
            return
        }
        // As that server does, which answers whatever is wrong with a request with 400.
        #expect(other?.refusal(Problem(.methodNotAllowed, "x"))?.status == .badRequest)
        guard case .nothing(let clients) = try self.table.match(.get, "/compat/wultra/none") else {
            Issue.record("it leads somewhere")
            return
        }
        #expect(clients?.path == nil)
    }

    @Test(arguments: [
        "/", "/v1", "/v1/apps/", "/v1//apps", "/v1/apps/a/hosts/", "/V1/apps", "/v1/apps/a/b/c/d", "/v1/../v1/apps",
    ])
    func `a path outside the table is not found`(path: String) throws {
        guard case .nothing = try self.table.match(.get, path) else {
            Issue.record("\(path) leads somewhere")
            return
        }
    }

    @Test(arguments: [
        "/v1/apps/%zz", "/v1/apps/%", "/v1/apps/%ff", "/v1/apps/%c0%af", "/v1/apps/%ed%a0%80", "v1/apps", "*",
    ])
    func `a path that cannot be decoded is refused`(path: String) {
        #expect(throws: Problem.self) { try self.table.match(.get, path) }
    }

    @Test func `the clients' listener has no operators' routes, and the other way round`() throws {
        let client = ExampleServer.routes.table([.client])
        let admin = ExampleServer.routes.table([.admin])
        #expect(!client.routes.contains { $0.path.hasPrefix("/v1") })
        #expect(!client.routes.contains { $0.access.needsToken && !Self.edges.contains($0.operationID) })
        #expect(!admin.routes.contains { $0.path.hasPrefix("/client/") })
        let compat = admin.routes.filter { $0.path.hasPrefix("/compat/") }
        #expect(!compat.isEmpty && compat.allSatisfy { $0.path.hasPrefix("/compat/wultra/admin/") })
        #expect(client.routes.contains { $0.path == "/readyz" } && admin.routes.contains { $0.path == "/readyz" })
    }

    /// The operations by which callers get a token.
    private static let open: Set = ["getSignIn", "signIn"]

    /// The operations by which edges follow a server: where clients are, and for holders of a token.
    private static let edges: Set = ["listDocuments", "streamDocuments"]

    @Test func `every route for operators and edges takes a token, and no other does`() {
        for route in ExampleServer.routes.all where !Self.open.contains(route.operationID) {
            let isForOperators = ["/v1/", "/compat/wultra/admin/", "/metrics"].contains { route.path.hasPrefix($0) }
            #expect(
                route.access.needsToken == (isForOperators || Self.edges.contains(route.operationID)),
                "\(route.operationID)")
            #expect((route.access == .log) == route.path.hasPrefix("/log/"), "\(route.operationID)")
        }
    }
}

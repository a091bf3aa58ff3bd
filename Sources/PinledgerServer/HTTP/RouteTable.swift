import Formats
import HTTPTypes
import Hummingbird
import Logging
import Pinning

/// The routes of one listener, looked up by path and method. Answers what no route does: 404, 405 with `Allow`, OPTIONS.
struct RouteTable: Sendable {
    private struct Node: Sendable {
        var literals: [Substring: Node] = [:]
        var parameter: [Node] = []
        var routes: [HTTPRequest.Method: Route] = [:]
    }

    private var root = Node()
    let routes: [Route]

    init(_ routes: [Route]) {
        self.routes = routes
        for route in routes { Self.insert(route, route.path.split(separator: "/")[...], into: &self.root) }
    }

    private static func insert(_ route: Route, _ path: ArraySlice<Substring>, into node: inout Node) {
        guard let segment = path.first else {
            node.routes[route.method] = route
            return
        }
        if segment.hasPrefix("{") {
            if node.parameter.isEmpty { node.parameter = [Node()] }
            Self.insert(route, path.dropFirst(), into: &node.parameter[0])
        } else {
            Self.insert(route, path.dropFirst(), into: &node.literals[segment, default: Node()])
        }
    }

    /// What a request asks for.
    enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// The path has other methods. With what is answered to that in another server's form; nil for a problem.
        case methods([HTTPRequest.Method], refusal: FormatReply?)
        case nothing
    }

    /// Looks a path up. A literal segment wins over a parameter.
    ///
    /// - Throws: ``Problem`` where a segment cannot be decoded.
    func match(_ method: HTTPRequest.Method, _ path: String) throws(Problem) -> Match {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw Problem(.malformedRequest, "The request target must be a path.")
        }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var node = self.root
        var values: [String] = []
        for segment in segments {
            if let next = node.literals[segment] {
                node = next
            } else if let next = node.parameter.first, !segment.isEmpty {
                guard let value = URIDecoding.percentDecoded(segment) else {
                    throw Problem(.malformedRequest, "The path has a broken percent escape or is not UTF-8.")
                }
                values.append(value)
                node = next
            } else {
                return .nothing
            }
        }
        guard !node.routes.isEmpty else { return .nothing }
        // HEAD is GET without the body (RFC 9110 section 9.3.2).
        guard let route = node.routes[method] ?? (method == .head ? node.routes[.get] : nil) else {
            var methods = Set(node.routes.keys)
            if methods.contains(.get) { methods.insert(.head) }
            methods.insert(.options)
            return .methods(
                methods.sorted { $0.rawValue < $1.rawValue },
                refusal: node.routes.values.lazy.compactMap(\.methodRefusal).first)
        }
        let names = route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        return .route(route, parameters: Dictionary(zip(names, values)) { first, _ in first })
    }
}

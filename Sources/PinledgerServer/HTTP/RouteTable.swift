import HTTPTypes
import Hummingbird
import Logging
import Pinning

/// The routes of one listener, looked up by path and method. Answers requests without a route: 404, 405 with `Allow`,
/// OPTIONS.
struct RouteTable: Sendable {
    private struct Node: Sendable {
        var literals: [Substring: Node] = [:]
        var parameter: [Node] = []
        /// What takes the rest of the path, of one segment or more.
        var rest: [Node] = []
        var routes: [HTTPRequest.Method: Route] = [:]
        /// The one that begins here.
        var subtree: Route.Subtree?
    }

    private var root = Node()
    let routes: [Route]

    init(_ routes: [Route]) {
        self.routes = routes
        for route in routes {
            Self.at(route.path, below: &self.root, takesRest: route.takesRest) { $0.routes[route.method] = route }
            if let subtree = route.subtree { Self.at(subtree.path, below: &self.root) { $0.subtree = subtree } }
        }
    }

    /// Changes the node of a path.
    private static func at(
        _ path: String, below root: inout Node, takesRest: Bool = false, _ change: (inout Node) -> Void
    ) {
        Self.at(path.split(separator: "/")[...], below: &root, takesRest, change)
    }

    private static func at(
        _ path: ArraySlice<Substring>, below node: inout Node, _ takesRest: Bool, _ change: (inout Node) -> Void
    ) {
        guard let segment = path.first else { return change(&node) }
        if takesRest, path.count == 1 {
            if node.rest.isEmpty { node.rest = [Node()] }
            change(&node.rest[0])
        } else if segment.hasPrefix("{") {
            if node.parameter.isEmpty { node.parameter = [Node()] }
            Self.at(path.dropFirst(), below: &node.parameter[0], takesRest, change)
        } else {
            Self.at(path.dropFirst(), below: &node.literals[segment, default: Node()], takesRest, change)
        }
    }

    /// A look-up's result.
    enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// The path has other methods. With the subtree that it is in.
        case methods([HTTPRequest.Method], in: Route.Subtree?)
        case nothing(in: Route.Subtree?)
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
        var subtree: Route.Subtree?
        for (index, segment) in segments.enumerated() {
            if let next = node.literals[segment] {
                node = next
            } else if let next = node.parameter.first, !segment.isEmpty {
                guard let value = URIDecoding.percentDecoded(segment) else {
                    throw Problem(.malformedRequest, "The path has a broken percent escape or \(URIDecoding.notText).")
                }
                values.append(value)
                node = next
            } else if let last = node.rest.first {
                // What such paths name has nothing in it that is escaped.
                values.append(segments[index...].joined(separator: "/"))
                node = last
                subtree = node.subtree ?? subtree
                break
            } else {
                return .nothing(in: subtree)
            }
            subtree = node.subtree ?? subtree
        }
        guard !node.routes.isEmpty else { return .nothing(in: subtree) }
        // HEAD is GET without the body (RFC 9110 section 9.3.2).
        guard let route = node.routes[method] ?? (method == .head ? node.routes[.get] : nil) else {
            var methods = Set(node.routes.keys)
            if methods.contains(.get) { methods.insert(.head) }
            methods.insert(.options)
            return .methods(methods.sorted { $0.rawValue < $1.rawValue }, in: subtree)
        }
        let names = route.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        return .route(route, parameters: Dictionary(zip(names, values)) { first, _ in first })
    }
}

import PinWire
import Publishing
import Synchronization

/// The roots of trust that a node serves, each prepared once.
final class RootAnswers: Sendable {
    private let roots: @Sendable () throws -> [RootOfTrust]
    private let cacheControl: String
    private let prepared = Mutex<[RootOfTrust: PreparedAnswer]>([:])

    /// - Parameter roots: All of them, each signed by the one before. It throws where a node does not know them yet.
    init(caching: ClientCaching, roots: @escaping @Sendable () throws -> [RootOfTrust]) {
        self.cacheControl = caching.keySet
        self.roots = roots
    }

    /// The answer with the root of a version, or with the newest one for nil; nil where there is no such root.
    func answer(version: Int64?) throws -> PreparedAnswer? {
        let roots = try self.roots()
        guard let root = version.map({ wanted in roots.first { $0.version == wanted } }) ?? roots.last else {
            return nil
        }
        return self.prepared.withLock { prepared in
            if let answer = prepared[root] { return answer }
            let answer = PreparedAnswer(
                contentType: ClientHeaders.rootType, cacheControl: self.cacheControl,
                body: PreparedBody(root.bytes))
            // An edge's upstream may have replaced its roots.
            if prepared.count >= roots.count { prepared = prepared.filter { roots.contains($0.key) } }
            prepared[root] = answer
            return answer
        }
    }
}

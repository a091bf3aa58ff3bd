import Publishing
import Synchronization

/// The key set that an edge serves: the keys that it trusts itself, so that what it serves and what it says verifies it go together.
final class EdgeKeySet: Sendable {
    private let keys: TrustedKeys
    private let caching: ClientCaching
    private let prepared = Mutex<PreparedAnswer?>(nil)
    private static let target = Array("/client/v1/jwks.json".utf8)

    init(keys: TrustedKeys, caching: ClientCaching) {
        self.keys = keys
        self.caching = caching
    }

    var current: PreparedAnswer {
        let body = self.keys.body
        return self.prepared.withLock { prepared in
            if let prepared, prepared.body.isSame(as: body) { return prepared }
            let answer = PreparedAnswer.keySet(body, self.caching)
            prepared = answer
            return answer
        }
    }

    /// The answer to a request target, as ``PreparedAnswers/answer(to:)`` gives it.
    @Sendable func answer(to target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        target.elementsEqual(Self.target) ? self.current : nil
    }
}

/// Why the addresses of a name are not known.
package enum ResolutionFailure: Error, Hashable, Sendable {
    /// Too many names wait to be resolved, or this one waited too long.
    case overloaded
    case cancelled
    case closed
    case timedOut
    /// A number, in any spelling.
    case isAddress
    case noAddress
    /// What the resolver says; `isAnswer` where that is about the name.
    case unresolved(String, isAnswer: Bool)
}

extension ProbeFailure {
    /// - Parameter timeout: What the resolver was given.
    init(_ failure: ResolutionFailure, of name: String, within timeout: Duration) {
        let (kind, reason): (Kind, String) =
            switch failure {
            case .overloaded: (.overloaded, "too many names wait to be resolved")
            case .cancelled: (.cancelled, "the probe was cancelled")
            case .closed: (.cancelled, "the resolver has been closed")
            case .timedOut: (.resolverFailed, "the resolver did not answer within \(timeout.text)")
            case .isAddress: (.nameNotResolved, "\(name) is an address, not a name")
            case .noAddress: (.nameNotResolved, "\(name) has no address")
            case .unresolved(let words, let isAnswer):
                (isAnswer ? .nameNotResolved : .resolverFailed, "\(name) cannot be resolved: \(words)")
            }
        self.init(.resolution, kind, reason)
    }
}

/// Why no service had a document that the app may use.
public struct RefreshFailure: Error, Hashable, Sendable, CustomStringConvertible {
    @nonexhaustive
    public enum Cause: Hashable, Sendable, CustomStringConvertible {
        /// No complete answer came; with the transport's words.
        case unreachable(String)
        /// An answer with another status than 200, or than 304 where that was possible.
        case status(Int)
        case refused(VerificationFailure)
        /// It has nothing newer than a document that should be fetched again since its `exp`.
        case stale

        public var description: String {
            switch self {
            case .unreachable(let words): words
            case .status(let status): "it answered \(status)"
            case .refused(let failure): failure.description
            case .stale: "it has no newer document than the held one, which is stale"
            }
        }
    }

    /// What went wrong at one service.
    public struct Trouble: Hashable, Sendable {
        public let service: ServiceAddress
        public let cause: Cause
    }

    /// Each service that was asked, in order; none where the configuration names none.
    public let troubles: [Trouble]

    public var description: String {
        guard !self.troubles.isEmpty else { return "the configuration names no service" }
        return self.troubles.map { "\($0.service): \($0.cause)" }.joined(separator: "; ")
    }
}

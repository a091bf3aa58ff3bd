/// Why no service had a document that the app may use.
public struct RefreshFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Cause: Hashable, Sendable {
        /// No complete answer came; with the transport's words.
        case unreachable(String)
        /// An answer with another status than 200, or than 304 where that was possible.
        case status(Int)
        case refused(VerificationFailure)
        /// It has nothing newer than a document that should be fetched again since its `exp`.
        case stale

        var text: String {
            switch self {
            case .unreachable(let words): words
            case .status(let status): "it answered \(status)"
            case .refused(let failure): failure.description
            case .stale: "it has no newer document than the held one, which is stale"
            }
        }
    }

    /// Each service that was asked, in order, and what went wrong.
    public let causes: [(service: String, cause: Cause)]

    public var description: String {
        guard !self.causes.isEmpty else { return "the configuration names no service" }
        return self.causes.map { "\($0.service): \($0.cause.text)" }.joined(separator: "; ")
    }

    public static func == (left: RefreshFailure, right: RefreshFailure) -> Bool {
        left.causes.map(\.service) == right.causes.map(\.service)
            && left.causes.map(\.cause) == right.causes.map(\.cause)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(self.causes.map(\.cause)) }
}

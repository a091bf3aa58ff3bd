import PinWire

/// Why the upstream gave no usable answer.
package enum UpstreamFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No whole answer came in time.
    case unreachable(String)
    /// It answered with another status than was asked for.
    case status(Int, problem: String)
    /// It gave something that is no such answer.
    case malformed(String)
    /// The token for the upstream cannot be read.
    case token(String)

    package var description: String {
        switch self {
        case .unreachable(let reason): "it does not answer: \(reason)"
        case .status(let status, let problem): "it answers \(status)\(problem.isEmpty ? "" : " (\(problem))")"
        case .malformed(let what): "its answer is no \(what)"
        case .token(let reason): reason
        }
    }
}

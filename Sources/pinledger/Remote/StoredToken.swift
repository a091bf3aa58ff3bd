import PinWire

/// A token that a command found by itself, so that its operator may not know which one it is.
struct StoredToken: Hashable, Sendable {
    /// The token and where it lies, as the beginning of a sentence.
    var name: String
    /// When it ends; nil where that is not known here.
    var end: Timestamp?
    /// The way to another one.
    var renewal: String

    /// The problems of a token that is not there or not accepted.
    private static let problems: Set = ["/problems/token_missing", "/problems/token_invalid"]

    /// The failure with the token's name in it.
    ///
    /// - Parameters:
    ///   - failure: The server's answer to a request that was sent with the token, or without it since it is over.
    ///   - now: The time by this machine's clock.
    func naming(in failure: CommandFailure, at now: Timestamp) -> CommandFailure {
        guard let problem = failure.problem, Self.problems.contains(problem) else { return failure }
        var named = failure
        if let end = self.end, end <= now {
            named.message = "\(self.name) ended at \(LocalTime.text(end.rfc3339))"
            named.advice = self.renewal
        } else {
            named.message += "\nIt was sent by this command: \(self.name)."
            named.advice = [failure.advice, self.renewal].compactMap(\.self).joined(separator: " ")
        }
        return named
    }
}

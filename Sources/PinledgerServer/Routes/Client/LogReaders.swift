import Concurrency
import HTTPTypes

/// The strangers who read the log, or proofs from it: each request costs the database some queries, and all of them together may
/// have no more of its connections than leave the node itself and its operators enough.
final class LogReaders: Sendable {
    private let limiter = ConcurrencyLimiter<Never>(limit: LogReaders.limit, waiting: 64)
    private static let limit = 2

    init() {}

    /// Reads for a stranger, who waits for a place.
    ///
    /// - Throws: The problem `overloaded` where too many wait, and what `read` throws.
    func read<Answer: Sendable>(_ read: () async throws -> Answer) async throws -> Answer {
        let places: [ConcurrencyLimiter<Never>.Place]
        do throws(ConcurrencyLimiter<Never>.NoPlace) {
            places = try await self.limiter.wait(within: .seconds(10))
        } catch {
            guard error == .overloaded else { throw CancellationError() }
            var problem = Problem(.overloaded, "Too many requests read the log at the moment.")
            problem.headers[.retryAfter] = "2"
            throw problem
        }
        defer { for place in places { place.release() } }
        return try await read()
    }
}

/// Waits for work that may take longer than the caller can.
enum Deadline {
    /// The result of `work`; nil where it is not known within `limit`, or the caller is cancelled. The work is then
    /// cancelled and not waited for: it MUST end by itself soon after.
    static func within<Result: Sendable>(
        _ limit: Duration, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        let (outcomes, told) = AsyncStream.makeStream(of: Swift.Result<Result, any Error>?.self)
        // Neither task has an owner that waits for it, because waiting must have an end. Both end: the one as `work`
        // promises, the other with the time.
        let worker = Task {
            do { told.yield(.success(try await work())) } catch { told.yield(.failure(error)) }
        }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            told.yield(nil)
        }
        defer {
            worker.cancel()
            timer.cancel()
        }
        for await outcome in outcomes { return try outcome?.get() }
        return nil
    }
}

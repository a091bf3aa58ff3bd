import Postgres

/// A pipeline of three stages between a connection and one reader: the connection's thread reads, tasks make pages of what
/// was read, several at a time, and the caller takes the pages in their order.
///
/// Every stage is bounded, so that memory is a few pages, however long the ledger is.
struct PagePipeline<Part: Sendable, Page: Sendable>: Sendable {
    /// The number of parts that may wait to be made pages of.
    private static var partsAhead: Int { 16 }
    /// The number of pages that are being made, or wait for one before them.
    private static var width: Int { 8 }

    private enum Step<Answer: Sendable>: Sendable {
        case allRead(Answer)
        case page(Int, Page)
    }

    /// Makes a page of a part; runs beside the other stages, and for several parts at once.
    let page: @Sendable (Part) -> Page

    /// Runs the pipeline to its end.
    ///
    /// - Parameters:
    ///   - connection: The connection that `read` uses; it is made to stop where the other stages fail.
    ///   - read: Sends the parts in their order, on the connection's thread.
    ///   - take: Takes the pages in the order of their parts.
    /// - Throws: What any stage throws, and `CancellationError`. What was being read is given up then.
    func run<Answer: Sendable>(
        on connection: PostgresConnection,
        read:
            @escaping @Sendable (isolated PostgresConnection, @escaping @Sendable (Part) throws -> Void) throws ->
            Answer,
        take: (Page) throws -> Void
    ) async throws -> Answer {
        let handover = BoundedChannel<Part>(capacity: Self.partsAhead)
        return try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Step<Answer>.self) { group in
                defer { handover.abandon() }
                group.addTask {
                    defer { handover.finish() }
                    return .allRead(
                        try await connection.perform { connection in try read(connection, handover.send) })
                }
                do { return try await self.pump(handover, &group, take) } catch {
                    // The group waits for its tasks, so stop waiting for the server first.
                    connection.cancel()
                    throw error
                }
            }
        } onCancel: {
            handover.abandon()
            connection.cancel()
        }
    }

    private func pump<Answer: Sendable>(
        _ handover: BoundedChannel<Part>, _ group: inout ThrowingTaskGroup<Step<Answer>, any Error>,
        _ take: (Page) throws -> Void
    ) async throws -> Answer {
        var (begun, taken) = (0, 0)
        var isAtEnd = false
        var answer: Answer?
        var waiting: [Int: Page] = [:]
        while true {
            while !isAtEnd, begun - taken < Self.width {
                guard let part = await handover.next() else {
                    isAtEnd = true
                    break
                }
                let place = begun
                group.addTask { .page(place, self.page(part)) }
                begun += 1
            }
            guard let step = try await group.next() else { break }
            switch step {
            case .allRead(let read): answer = read
            case .page(let place, let page): waiting[place] = page
            }
            while let page = waiting.removeValue(forKey: taken) {
                try take(page)
                taken += 1
            }
        }
        // The reader's task ends with an answer or an error.
        guard let answer else { throw CancellationError() }
        return answer
    }
}

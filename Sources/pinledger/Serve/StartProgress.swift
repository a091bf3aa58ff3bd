import EventStore
import Publishing
import ServiceLifecycle
import Synchronization

/// How far a node has come with its start, for the parts of it that wait.
final class StartProgress: Sendable {
    /// What goes on from the start.
    struct Started: Sendable {
        /// What keeps the node's memory; nil where the node has no state directory.
        var keeper: NodeMemoryKeeper?
        /// What checks the snapshot from which the node started; nil where it is not to be checked.
        var audit: SnapshotAudit?
    }

    enum Stage: Sendable {
        case reading
        /// The ledger is still read, and the node listens: there are documents to be served, or it will take long.
        case documents
        case started(Started)
        case failed(any Error)
    }

    private struct Content {
        var stage = Stage.reading
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let content = Mutex(Content())

    func reach(_ stage: Stage) {
        let waiting = self.content.withLock { content in
            content.stage = stage
            defer { content.waiting = [] }
            return content.waiting
        }
        for waiter in waiting { waiter.finish() }
    }

    /// The present stage where it is not `stages`, or the next such one; nil where the task is cancelled before.
    private func stage(after stages: (Stage) -> Bool) async -> Stage? {
        while !Task.isCancelled {
            let (changes, waiter) = AsyncStream.makeStream(of: Void.self)
            let stage = self.content.withLock { content in
                if stages(content.stage) { content.waiting.append(waiter) }
                return content.stage
            }
            guard stages(stage) else { return stage }
            for await _ in changes {}
        }
        return nil
    }

    /// Listens, though there may be nothing to serve yet: probes and operators get an answer.
    func wait() {
        guard case .reading = self.content.withLock({ $0.stage }) else { return }
        self.reach(.documents)
    }

    /// Whether documents are served while the ledger is read.
    var servesDocuments: Bool { if case .documents = self.content.withLock({ $0.stage }) { true } else { false } }

    /// Waits until documents can be served.
    ///
    /// - Throws: Why the node cannot start.
    func documentsServed() async throws {
        let stage = await self.stage { if case .reading = $0 { true } else { false } }
        if case .failed(let error) = stage { throw error }
    }

    /// Waits until the node has started; nil where it failed, or the task was cancelled.
    func started() async -> Started? {
        if case .started(let started) = await self.end { started } else { nil }
    }

    /// What keeps the node's memory, once the node has started.
    ///
    /// - Throws: Why the node cannot start.
    func keeper() async throws -> NodeMemoryKeeper? {
        let end = await self.end
        if case .failed(let error) = end { throw error }
        return if case .started(let started) = end { started.keeper } else { nil }
    }

    private var end: Stage? {
        get async {
            await self.stage {
                switch $0 {
                case .reading, .documents: true
                case .started, .failed: false
                }
            }
        }
    }
}

/// Waits until the node has started, and keeps its memory from then on.
struct Starting: Service {
    let progress: StartProgress

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await self.progress.keeper()?.run() }
        try await gracefulShutdown()
    }
}

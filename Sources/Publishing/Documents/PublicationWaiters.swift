import Synchronization

/// The tasks that wait until publication of the changes up to a position of the ledger has succeeded or failed.
final class PublicationWaiters: Sendable {
    private struct Content {
        /// The position up to which publication has been attempted.
        var attempted: Int64 = 0
        var next: UInt64 = 0
        var waiting: [UInt64: (position: Int64, resume: CheckedContinuation<Void, Never>)] = [:]
    }

    private let content = Mutex(Content())

    /// Returns as soon as publication has been attempted up to `position`, or the task is cancelled.
    func wait(through position: Int64) async {
        let id = self.content.withLock { content in
            content.next += 1
            return content.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = self.content.withLock { content in
                    // A task that is cancelled from here on finds itself among the waiters.
                    if content.attempted >= position || Task.isCancelled { return true }
                    content.waiting[id] = (position, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            self.content.withLock { $0.waiting.removeValue(forKey: id) }?.resume.resume()
        }
    }

    /// Notes how far publication has been attempted; `Int64.max` where nothing more will be.
    func advance(to position: Int64) {
        let ready = self.content.withLock { content in
            content.attempted = max(content.attempted, position)
            let ready = content.waiting.filter { $0.value.position <= content.attempted }
            for id in ready.keys { content.waiting[id] = nil }
            return ready.values.map(\.resume)
        }
        for continuation in ready { continuation.resume() }
    }
}

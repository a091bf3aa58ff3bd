/// Does work that the caller's cancellation does not end at once: from then on it may take so long, and is cancelled then.
///
/// For what is to be stored before a process ends: a database that hangs must not keep the process from ending.
package func finish<R: Sendable>(
    within limit: Duration, _ work: @escaping @Sendable () async -> R
) async -> R {
    // No child task, because the caller's cancellation would reach that. It is awaited here.
    let task = Task { await work() }
    return await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        // Ends by itself, and finds nothing to cancel where the work is done.
        Task {
            try? await Task.sleep(for: limit)
            task.cancel()
        }
    }
}

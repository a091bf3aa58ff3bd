/// Runs work that the caller's cancellation does not end at once: after a cancellation it has this much time, and is
/// cancelled then.
///
/// For data to store before a process ends: a database that hangs must not keep the process from ending.
package func finish<R: Sendable>(
    within limit: Duration, _ work: @escaping @Sendable () async -> R
) async -> R {
    // Not a child task, because the caller's cancellation would reach that. It is awaited here.
    let task = Task { await work() }
    return await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        // Ends by itself, and has no effect where the work is done.
        Task {
            try? await Task.sleep(for: limit)
            task.cancel()
        }
    }
}

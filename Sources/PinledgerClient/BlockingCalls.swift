internal import Dispatch

/// Makes calls that block, such as those for files and to the Keychain, on a thread of their own: not on those of Swift's tasks.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        // A continuation passes no priority on, and the first connection may wait for a read.
        DispatchQueue.global(qos: .userInitiated).async { continuation.resume(with: Result { try body() }) }
    }
}

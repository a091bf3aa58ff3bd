import Glibc

/// A thread for one long computation.
///
/// The threads of Swift's cooperative pool are as many as the cores and must not be held: one key derivation on each
/// would stop every request.
enum OwnThread {
    /// Runs `body` on a new thread; `nil` if the system has no thread to give.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            let isStarted = self.start { continuation.resume(returning: body()) }
            if !isStarted {
                continuation.resume(returning: nil)
            }
        }
    }

    private static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let work = unsafe Unmanaged.passRetained(Work(body: body))
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        // No thread joins this one: the continuation reports its end.
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
            if let argument = unsafe argument {
                // Takes over the reference that `passRetained` gave.
                unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
            }
            return nil
        }
        let status = unsafe pthread_create(&thread, &attributes, entry, work.toOpaque())
        guard status == 0 else {
            unsafe work.release()
            return false
        }
        return true
    }

    /// The thread's work, as an object that C can carry.
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

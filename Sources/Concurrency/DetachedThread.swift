import Glibc

/// A system thread that nobody joins.
///
/// The threads of Swift's cooperative pool are as many as the cores and must not be held: one long computation on each
/// would stop every request.
package enum DetachedThread {
    /// The system has no thread to give.
    package struct Unavailable: Error, CustomStringConvertible {
        /// As pthread_create(3) returns it.
        package var status: CInt

        package var description: String { "no thread (error \(self.status))" }
    }

    /// What the thread does, as an object that C can carry.
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    package static func start(_ body: @escaping @Sendable () -> Void) throws(Unavailable) {
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                // Takes over the reference that `passRetained` gave.
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            unsafe context
        )
        guard status == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            throw Unavailable(status: status)
        }
        pthread_detach(thread)
    }

    /// Waits for one computation on a thread of its own; nil if the system has none to give.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            do throws(Unavailable) {
                try self.start { continuation.resume(returning: body()) }
            } catch {
                continuation.resume(returning: nil)
            }
        }
    }
}

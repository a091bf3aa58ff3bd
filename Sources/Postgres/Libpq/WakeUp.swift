import CPostgres
import Glibc

/// A flag that also ends a `poll`.
final class WakeUp: Sendable {
    /// Readable once `signal()` was called; it stays so.
    let descriptor: Int32

    init() throws(PostgresError) {
        self.descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard self.descriptor >= 0 else {
            throw PostgresError(.connectionFailed, "no event descriptor (error \(errno))")
        }
    }

    deinit {
        Glibc.close(self.descriptor)
    }

    func signal() {
        var one: UInt64 = 1
        // Can only fail when the counter is full, and then the descriptor is readable already.
        _ = unsafe write(self.descriptor, &one, 8)
    }

    var isSignalled: Bool {
        var state = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, 0) > 0
    }

    /// Waits at most that long; returns whether the signal came.
    func wait(for duration: Duration) -> Bool {
        var state = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, Int32(clamping: duration.wholeMilliseconds)) > 0
    }
}

import CPostgres
import Concurrency
import Dispatch
import Synchronization

/// Asks the server, over a connection of its own, to stop the statement that a session is executing.
///
/// PQcancel blocks until the server has forwarded the request, so each request has a short-lived thread. A request that
/// arrives late would hit the next statement: a session therefore waits for its requests between two statements.
@safe
final class Canceller: Sendable {
    // @safe class and nonisolated(unsafe), invariant: libpq copies the address and the key into this object and never
    // changes it; PQcancel may be called on it from any thread. It is freed once nothing refers to this class any more,
    // not even a cancelling thread.
    private nonisolated(unsafe) let handle: OpaquePointer
    private let wasRequested = Mutex(false)
    private let requests = DispatchGroup()

    init?(connection: OpaquePointer) {
        guard let handle = unsafe PQgetCancel(connection) else { return nil }
        unsafe self.handle = handle
    }

    deinit {
        unsafe PQfreeCancel(self.handle)
    }

    func request() {
        self.wasRequested.withLock { $0 = true }
        self.requests.enter()
        do {
            try DetachedThread.startForConnection {
                var reason = [CChar](repeating: 0, count: 256)
                _ = unsafe PQcancel(self.handle, &reason, Int32(reason.count))
                self.requests.leave()
            }
        } catch {
            self.requests.leave()
        }
    }

    /// Whether no request is under way any more; waits at most that long.
    func settle(within duration: Duration) -> Bool {
        self.requests.wait(timeout: .now() + .milliseconds(Int(duration.wholeMilliseconds))) == .success
    }

    /// Whether a request was made since the last call.
    func takeRequested() -> Bool {
        self.wasRequested.withLock { requested in
            defer { requested = false }
            return requested
        }
    }

    var isRequested: Bool { self.wasRequested.withLock { $0 } }
}

import Dispatch
import Glibc
import Synchronization

/// A thread of its own, as the executor of one connection: libpq may block there and blocks nobody else.
///
/// The thread keeps itself alive until `stop()`, which the connection's `deinit` calls; no job can come after that.
final class ConnectionThread: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isStopped = false
    }

    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)

    init() {}

    /// Throws `.connectionFailed` when the system gives out no more threads.
    func start() throws(PostgresError) {
        try DetachedThread.start { self.run() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.state.withLock { $0.jobs.append(job) }
        self.work.signal()
    }

    func stop() {
        self.state.withLock { $0.isStopped = true }
        self.work.signal()
    }

    private func run() {
        while true {
            self.work.wait()
            let (jobs, isStopped) = self.state.withLock { state in
                defer { state.jobs.removeAll(keepingCapacity: true) }
                return (state.jobs, state.isStopped)
            }
            for job in jobs {
                unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
            }
            if isStopped { return }
        }
    }
}

/// A system thread nobody joins.
enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        let failure = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            unsafe context
        )
        guard failure == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            throw PostgresError(.connectionFailed, "no thread for a connection (error \(failure))")
        }
        pthread_detach(thread)
    }
}

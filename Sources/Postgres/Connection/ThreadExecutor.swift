import Concurrency
import Dispatch
import Glibc
import Synchronization

/// A thread of its own, as the executor of one actor: a call that blocks there, such as libpq's, blocks nothing else.
///
/// The thread keeps itself alive until `stop()`, which the actor's `deinit` calls; no job can come after that.
package final class ThreadExecutor: SerialExecutor {
    /// The priority of a thread for the system.
    package enum Urgency: Sendable {
        case usual
        /// It runs when no other thread wants the processor, and yields at once to each that wakes up.
        case background
    }

    private struct State {
        /// Nil for the actor's jobs, otherwise the executor that they belong to.
        var jobs: [(job: UnownedJob, tasks: ThreadTaskExecutor?)] = []
        var isStopped = false
    }

    /// SCHED_IDLE, which Swift's Glibc does not have.
    private static let idle: Int32 = 5

    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)

    package init() {}

    /// Throws `.connectionFailed` when the system has no more threads.
    package func start(_ urgency: Urgency = .usual) throws(PostgresError) {
        try DetachedThread.startForConnection {
            if urgency == .background { Self.stepBack() }
            self.run()
        }
    }

    /// Makes the calling thread a background thread (sched(7), SCHED_IDLE): one with only a higher nice value still
    /// finishes its turn of some milliseconds before the thread that serves a document.
    private static func stepBack() {
        var parameters = sched_param()
        if unsafe sched_setscheduler(0, Self.idle, &parameters) != 0 {
            // On Linux, of the calling thread alone.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        }
    }

    /// Yields the processor to threads that wait for it.
    ///
    /// A background thread is entitled to some thousandth of the time all the same, which it gets a few milliseconds at
    /// a time (EEVDF): enough to show beside the time to serve a document. So its work calls this every ten
    /// microseconds or so.
    package static func giveWay() { sched_yield() }

    package func enqueue(_ job: consuming ExecutorJob) {
        self.enqueue(UnownedJob(job), of: nil)
    }

    fileprivate func enqueue(_ job: UnownedJob, of tasks: ThreadTaskExecutor?) {
        self.state.withLock { $0.jobs.append((job, tasks)) }
        self.work.signal()
    }

    /// Ends the thread after the jobs that it has. No job may come after this.
    package func stop() {
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
            for (job, tasks) in jobs {
                if let tasks {
                    unsafe job.runSynchronously(on: tasks.asUnownedTaskExecutor())
                } else {
                    unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
                }
            }
            if isStopped { return }
        }
    }
}

/// An actor's thread, as an executor preference for tasks that belong to no actor: they run between the actor's jobs,
/// never beside them.
///
/// A task with this preference keeps the actor alive meanwhile, because the thread ends with the actor.
package final class ThreadTaskExecutor: TaskExecutor {
    private let thread: ThreadExecutor

    package init(_ thread: ThreadExecutor) { self.thread = thread }

    package func enqueue(_ job: consuming ExecutorJob) {
        self.thread.enqueue(UnownedJob(job), of: self)
    }
}

extension DetachedThread {
    /// Starts a thread that a connection needs: where the system has none to give, the connection has failed.
    static func startForConnection(_ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        do throws(Unavailable) { try self.start(body) } catch { throw PostgresError(.connectionFailed, "\(error)") }
    }
}

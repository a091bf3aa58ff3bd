import CProcess
import Concurrency
import Foundation
import LogLines
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The service manager that started this process and waits for its word, as systemd does for units of `Type=notify` (sd_notify(3)).
///
/// Where the unit has `WatchdogSec`, a process that hangs gives no sign of life in time, and is killed and started again.
final class ServiceManager: Sendable {
    private let path: String
    /// The longest silence; nil where nobody watches.
    private let patience: Duration?
    private let logger: Logger
    private let standing = Mutex((isReady: false, isTold: false))

    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; nil where no manager waits.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment, logger: Logger) {
        guard let path = environment["NOTIFY_SOCKET"], !path.isEmpty else { return nil }
        self.path = path
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        self.patience = isMeant ? microseconds.map { .microseconds($0) } : nil
        self.logger = logger
    }

    /// Says that the process listens, and serves what it has: `systemctl start` and `restart` wait for it.
    func noteReady() {
        self.standing.withLock { $0.isReady = true }
        self.tellReadiness()
    }

    /// Gives signs of life until cancelled: while tasks run and every event loop answers, and not otherwise. It says again that the process
    /// listens where the manager was too busy to take that.
    func run() async {
        await PeriodicWorker(every: self.patience.map { $0 / 3 } ?? .seconds(5)).run {
            self.tellReadiness()
            guard self.patience != nil else { return }
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
                guard (try? await loop.submit {}.get()) != nil else { return }
            }
            _ = self.send("WATCHDOG=1")
        }
    }

    private func tellReadiness() {
        guard self.standing.withLock({ $0.isReady && !$0.isTold }), self.send("READY=1") else { return }
        self.standing.withLock { $0.isTold = true }
    }

    /// Sends without waiting; false where the manager does not take the message.
    private func send(_ message: String) -> Bool {
        if service_manager_notify(self.path, message) == 0 { return true }
        self.logger.log(.serviceManagerLost, ["error": "\(String(cString: strerror(errno)))"])
        return false
    }
}

import Foundation
import LogLines
import Logging
import NIOPosix
import PinledgerServer

/// The file descriptors of this process.
enum Descriptors {
    /// Connections to the database: both pools', the writer's, the listeners', and those that cancel statements. Each
    /// has a socket and a descriptor that wakes it.
    private static let database = 28
    /// Certificates and tables that are read again, `/proc`, and files that libraries open for a moment.
    private static let files = 16
    /// Connections that are accepted before the limit is noticed.
    private static let surplus = 16
    /// Probes, webhooks and pushes, which try again where there is none for them.
    private static let outgoing = 64

    /// The limits, with no more connections than there are file descriptors for: a listener without a limit takes those
    /// that the database and files need.
    ///
    /// To be called when the database's pool exists.
    static func fit(_ limits: Server.Limits, _ logger: Logger) -> Server.Limits {
        // Loops open theirs when they are made, which otherwise happens at the first listener.
        _ = MultiThreadedEventLoopGroup.singleton
        let room = Self.connections
        guard room < limits.connections else { return limits }
        logger.log(
            .connectionsReduced,
            [
                "connections": "\(room)", "configured": "\(limits.connections)",
            ])
        var limits = limits
        limits.connections = room
        return limits
    }

    /// The number of connections that this process can accept, with descriptors left for all its other work.
    private static var connections: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 64
        let free = Int(clamping: limit.rlim_cur) - open - Self.database - Self.files - Self.surplus
        return max(8, free - min(Self.outgoing, free / 4))
    }
}

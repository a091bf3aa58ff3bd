import Foundation
import NIOCore

/// The threads that serve connections.
enum EventLoops {
    /// Sees to it that there is one for each core that this process may run on. Called once, before any is used.
    ///
    /// By default there is one for each core of the machine. Two of them on one core take turns for nothing.
    static func fitToProcessors() {
        guard let count = Self.allowedProcessors, count < System.coreCount,
            Environment["NIO_SINGLETON_GROUP_LOOP_COUNT"] == nil
        else { return }
        NIOSingletons.groupLoopCountSuggestion = count
    }

    /// The cores this process may run on, as proc(5) tells; nil where it does not.
    ///
    /// sched_getaffinity(2) would say it too, and is not among what Swift imports of glibc.
    private static var allowedProcessors: Int? {
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status?.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") }) else {
            return nil
        }
        // Groups of hexadecimal digits, with commas in between.
        let count = line.dropFirst("Cpus_allowed:".count).reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
        return count > 0 ? count : nil
    }
}

import Foundation
import NIOCore

/// The threads that serve connections.
enum EventLoops {
    /// Sets their number to the cores that this process may run on. Called once, before any is used.
    ///
    /// The default is one for each core of the machine. Two of them on one core only add switches.
    static func fitToProcessors() {
        guard let count = Self.allowedProcessors, count < System.coreCount,
            Environment["NIO_SINGLETON_GROUP_LOOP_COUNT"] == nil
        else { return }
        NIOSingletons.groupLoopCountSuggestion = count
    }

    /// The cores this process may run on, from proc(5); nil where that is missing.
    ///
    /// sched_getaffinity(2) would give them too, but Swift does not import it from glibc.
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

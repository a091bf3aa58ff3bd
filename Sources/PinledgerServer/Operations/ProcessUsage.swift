import Foundation
import PinWire

/// What the system says of this process.
struct ProcessUsage: Sendable {
    /// User and system time, in seconds.
    var processorSeconds: Double
    /// Memory in RAM; nil where the system does not say.
    var residentBytes: Int?
    /// Open files and sockets; nil where the system does not say.
    var openFiles: Int?

    static var now: ProcessUsage {
        var usage = rusage()
        // RUSAGE_SELF with a place for the result: it cannot fail.
        _ = getrusage(.init(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        // proc(5): the second number of statm is the pages in RAM.
        let statm = FileManager.default.contents(atPath: "/proc/self/statm").flatMap { String(ascii: Array($0)) }
        let pages = statm?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return ProcessUsage(
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            residentBytes: pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) },
            openFiles: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count)
    }
}

import Foundation

/// How long this thread works on something, whatever else the machine does meanwhile.
enum ProcessorTime {
    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Seconds, of several turns the shortest.
    static func seconds(turns: Int = 1, _ work: () -> Void) -> Double {
        (0..<turns).map { _ in
            let start = Self.now
            work()
            return Self.now - start
        }.min() ?? 0
    }
}

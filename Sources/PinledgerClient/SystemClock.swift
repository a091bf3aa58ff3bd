public import PinWire

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// The system's time.
public enum SystemClock {
    /// Seconds since 1970 by the system's clock, which its owner may set as they like.
    @Sendable
    public static func now() -> Timestamp {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0 else { return Timestamp(seconds: 0) }
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}

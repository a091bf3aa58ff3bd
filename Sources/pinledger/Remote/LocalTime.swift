import Foundation
import PinWire

/// A moment for people: in their own time, with UTC beside it.
enum LocalTime {
    /// `03:24 local time (01:24Z)`, with the date where it is not today's.
    static func text(_ time: Timestamp, now: Timestamp = Node.clock(), zone: TimeZone = .current) -> String {
        let here = Self.parts(time, zone)
        let utc = Self.parts(time, TimeZone(secondsFromGMT: 0) ?? zone)
        let isToday = here.date == Self.parts(now, zone).date && utc.date == here.date
        guard !isToday else { return "\(here.time) local time (\(utc.time)Z)" }
        return "\(here.date) \(here.time) local time (\(utc.date)T\(utc.time)Z)"
    }

    /// The same for a time in the API's form; a malformed one is returned unchanged.
    static func text(_ text: String) -> String { Timestamp(rfc3339: text).map { Self.text($0) } ?? text }

    private static func parts(_ time: Timestamp, _ zone: TimeZone) -> (date: String, time: String) {
        let moved = time.adding(
            seconds: Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time.seconds)))))
        let text = Timestamp(seconds: moved.seconds).rfc3339
        return (String(text.prefix(10)), String(text.dropFirst(11).prefix(5)))
    }
}

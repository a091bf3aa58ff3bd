import Foundation
import PinWire

/// A moment for people: the date and the time where they are, with its distance from UTC, in a form that every option for a time takes.
enum LocalTime {
    /// `2026-11-23 01:24+02:00`; `2026-11-22 23:24Z` where their time is UTC.
    static func text(_ time: Timestamp, zone: TimeZone = .current) -> String {
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time.seconds)))
        // A distance is written in whole minutes.
        let minutes = offset / 60
        let text = Timestamp(seconds: time.seconds).adding(seconds: Int64(minutes) * 60).rfc3339
        let moment = "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
        guard minutes != 0 else { return moment + "Z" }
        let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
        return "\(moment)\(minutes < 0 ? "-" : "+")\(Self.padded(hours)):\(Self.padded(rest))"
    }

    /// The same for a time in the API's form; another text is returned unchanged.
    static func text(_ text: String) -> String { Timestamp(rfc3339: text).map { Self.text($0) } ?? text }

    private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension JSON {
    /// The time of a member for people, or a dash.
    func time(_ name: String) -> String { LocalTime.text(self.text(name)) }
}

import PinWire

/// Times as people write them, read in one way by every option that takes one.
///
/// A length: `90s`, `30m`, `4h`, `2d`, `1w`, also together (`1h30m`). A moment: `2026-11-22` (the day's beginning),
/// `2026-11-22 18:30`, `2026-11-22T18:30:00Z` or with an offset (`+01:00`; without one it is UTC), `now`, or a length
/// from now: forward for options about the future, back for options about the past.
enum TimeInput {
    /// The direction of a length from now.
    enum Direction {
        case ahead
        case back
    }

    /// The help's text for a moment.
    static let moments = "as 2026-11-22, 2026-11-22T18:30:00Z"

    /// The longest length: a hundred years.
    private static let longest: Int64 = 100 * 365 * 86_400

    /// A number of seconds, from a length or from a moment in the future.
    static func seconds(_ text: String, now: Timestamp = Node.clock()) throws(CommandFailure) -> Int64 {
        if let seconds = Self.length(text) { return seconds }
        if let moment = Self.written(text) {
            guard now < moment else { throw CommandFailure("\(text) is not in the future", status: .usage) }
            return (moment.microseconds - now.microseconds + 999_999) / 1_000_000
        }
        throw CommandFailure(
            Self.fault(of: text),
            advice: "Give a length such as 30m, 4h or 2d, or a moment such as 2026-11-22T18:30:00Z.",
            status: .usage)
    }

    /// A moment, in the API's form.
    static func rfc3339(
        _ text: String, _ direction: Direction, now: Timestamp = Node.clock()
    ) throws(CommandFailure) -> String {
        try Self.moment(text, direction, now: now).rfc3339
    }

    /// A moment.
    static func moment(
        _ text: String, _ direction: Direction, now: Timestamp = Node.clock()
    ) throws(CommandFailure) -> Timestamp {
        if text == "now" { return Timestamp(seconds: now.seconds) }
        if let moment = Self.written(text) { return moment }
        if let seconds = Self.length(text) {
            return Timestamp(seconds: now.seconds).adding(seconds: direction == .ahead ? seconds : -seconds)
        }
        throw CommandFailure(
            Self.fault(of: text),
            advice:
                "Give a moment such as 2026-11-22 or 2026-11-22T18:30:00Z, or a length such as 30d, counted \(direction == .ahead ? "from now" : "back from now").",
            status: .usage)
    }

    /// A moment of the past at which something is looked at: a date alone is its last moment.
    ///
    /// - Returns: Nil for the present: a date that is not over.
    static func pastMoment(_ text: String, now: Timestamp = Node.clock()) throws(CommandFailure) -> Timestamp? {
        guard let day = Self.day(text) else { return try Self.moment(text, .back, now: now) }
        guard day.lowerBound <= now else { throw CommandFailure("\(text) is in the future", status: .usage) }
        guard day.upperBound <= now else { return nil }
        return Timestamp(microseconds: day.upperBound.microseconds - 1)
    }

    /// A whole day, by its date.
    static func wholeDay(_ text: String, now: Timestamp = Node.clock()) throws(CommandFailure) -> Range<Timestamp> {
        guard let day = Self.day(text) else {
            throw CommandFailure(
                text.utf8.count == 10 ? Self.fault(of: text) : "\(text) is not a date",
                advice: "Give a date such as 2026-11-22.", status: .usage)
        }
        guard day.lowerBound <= now else { throw CommandFailure("\(text) is in the future", status: .usage) }
        return day
    }

    /// Refuses two times of which the first is not before the second.
    ///
    /// - Parameter advice: What to give instead of one moment twice.
    static func checkOrder(
        _ first: (name: String, text: String, time: Timestamp), _ second: (name: String, text: String, time: Timestamp),
        advice: String? = nil
    ) throws(CommandFailure) {
        guard first.time >= second.time else { return }
        guard first.time == second.time else {
            throw CommandFailure(
                "\(first.name) \(first.text) is later than \(second.name) \(second.text): the two are swapped",
                advice: "Give the earlier time with \(first.name).", status: .usage)
        }
        throw CommandFailure(
            "\(first.name) \(first.text) and \(second.name) \(second.text) are the same moment, with nothing between",
            advice: advice, status: .usage)
    }

    /// The day of a date in the form 2026-11-22, in UTC; nil for another text.
    private static func day(_ text: String) -> Range<Timestamp>? {
        guard text.utf8.count == 10, let start = Self.written(text) else { return nil }
        return start..<start.adding(seconds: 86_400)
    }

    /// The fault of a text that is no time: the part of a date that does not exist, or another order of its parts.
    private static func fault(of text: String) -> String {
        let none = "\(text) is not a time"
        guard (8...40).contains(text.utf8.count) else { return none }
        let date = text.prefix { $0 != "T" && $0 != " " }
        let parts = date.split(omittingEmptySubsequences: false) { "-./".contains($0) }
        let numbers = parts.compactMap { part in part.utf8.allSatisfy { (48...57).contains($0) } ? Int(part) : nil }
        guard parts.count == 3, numbers.count == 3 else { return none }
        if parts[0].utf8.count < 4, parts[2].utf8.count == 4 {
            return "\(text) is not a time: a date begins with the year, then the month and the day"
        }
        let (month, day) = (numbers[1], numbers[2])
        guard date.utf8.count == 10, parts[0].utf8.count == 4 else { return none }
        guard (1...12).contains(month) else {
            let swapped = (13...31).contains(month) && (1...12).contains(day)
            return
                "\(text) is not a time: there is no month \(parts[1])\(swapped ? "; if day and month are swapped, it is \(parts[0])-\(parts[2])-\(parts[1])" : "")"
        }
        guard numbers[0] >= 1970 else { return "\(text) is not a time: no year before 1970 is one" }
        return Self.written("\(parts[0])-\(parts[1])-\(parts[2])") == nil
            ? "\(text) is not a time: the month \(parts[0])-\(parts[1]) has no day \(parts[2])" : none
    }

    private static func length(_ text: String) -> Int64? {
        let units: [UInt8: Int64] = [
            UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600, UInt8(ascii: "d"): 86_400,
            UInt8(ascii: "w"): 604_800,
        ]
        var total: Int64 = 0
        var digits: [UInt8] = []
        for byte in text.utf8 {
            if (48...57).contains(byte) {
                digits.append(byte)
                guard digits.count <= 10 else { return nil }
            } else {
                guard let unit = units[byte], let count = Int64(String(decoding: digits, as: UTF8.self)) else {
                    return nil
                }
                let (part, isTooLong) = count.multipliedReportingOverflow(by: unit)
                guard !isTooLong, part <= Self.longest else { return nil }
                total += part
                guard total <= Self.longest else { return nil }
                digits = []
            }
        }
        return digits.isEmpty && total > 0 ? total : nil
    }

    private static func written(_ text: String) -> Timestamp? {
        guard text.utf8.count <= 40 else { return nil }
        if let moment = Timestamp(rfc3339: text) { return moment }
        var text = text
        if text.utf8.count > 10, let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
        var offset: Int64 = 0
        if text.hasSuffix("Z") || text.hasSuffix("z") {
            text.removeLast()
        } else if text.contains("T"), let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }),
            text.distance(from: text.startIndex, to: sign) > 10
        {
            let parts = text[text.index(after: sign)...].split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hours = Int64(parts[0]),
                let minutes = Int64(parts[1]), (0...23).contains(hours), (0...59).contains(minutes)
            else { return nil }
            offset = (hours * 60 + minutes) * (text[sign] == "-" ? -60 : 60)
            text = String(text[..<sign])
        }
        switch text.utf8.count {
        case 10: text += "T00:00:00"
        case 16: text += ":00"
        default: break
        }
        return Timestamp(rfc3339: text + "Z")?.adding(seconds: -offset)
    }
}

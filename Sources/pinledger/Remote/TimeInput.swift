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
        if let moment = Self.moment(text) {
            guard now < moment else { throw CommandFailure("\(text) is not in the future", status: .usage) }
            return (moment.microseconds - now.microseconds + 999_999) / 1_000_000
        }
        throw CommandFailure(
            "\(text) is not a time",
            advice: "Give a length such as 30m, 4h or 2d, or a moment such as 2026-11-22T18:30:00Z.",
            status: .usage)
    }

    /// A moment, in the API's form.
    static func rfc3339(
        _ text: String, _ direction: Direction, now: Timestamp = Node.clock()
    ) throws(CommandFailure) -> String {
        if text == "now" { return Timestamp(seconds: now.seconds).rfc3339 }
        if let moment = Self.moment(text) { return moment.rfc3339 }
        if let seconds = Self.length(text) {
            return Timestamp(seconds: now.seconds).adding(seconds: direction == .ahead ? seconds : -seconds).rfc3339
        }
        throw CommandFailure(
            "\(text) is not a time",
            advice:
                "Give a moment such as 2026-11-22 or 2026-11-22T18:30:00Z, or a length such as 30d, counted \(direction == .ahead ? "from now" : "back from now").",
            status: .usage)
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

    private static func moment(_ text: String) -> Timestamp? {
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

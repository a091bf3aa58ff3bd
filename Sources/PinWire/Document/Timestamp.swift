/// An instant in UTC, in whole microseconds since 1970-01-01T00:00:00Z (without leap seconds, as in POSIX).
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The start of a second since the epoch; the last or the first instant where that is beyond the range.
    public init(seconds: Int64) {
        let (microseconds, isBeyond) = seconds.multipliedReportingOverflow(by: 1_000_000)
        self.microseconds = isBeyond ? (seconds < 0 ? .min : .max) : microseconds
    }

    /// Whole seconds since the epoch, rounded down: JWT's NumericDate (RFC 7519 section 2).
    public var seconds: Int64 {
        let (seconds, rest) = self.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return rest < 0 ? seconds - 1 : seconds
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// The instant `seconds` later; the last or the first one where that is beyond the range.
    public func adding(seconds: Int64) -> Timestamp {
        let (added, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, isBeyond) = self.microseconds.addingReportingOverflow(added)
        guard !isTooLong, !isBeyond else { return Timestamp(microseconds: seconds < 0 ? .min : .max) }
        return Timestamp(microseconds: sum)
    }

    /// RFC 3339 in UTC with six digits of fraction where there is one: `2026-01-31T12:00:00.250000Z`.
    public var rfc3339: String {
        var out: [UInt8] = []
        self.appendRFC3339(to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends ``rfc3339`` as ASCII.
    package func appendRFC3339(to out: inout [UInt8]) {
        let seconds = self.seconds
        let rest = self.microseconds % 1_000_000
        let fraction = rest < 0 ? rest + 1_000_000 : rest
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let second = seconds - day * 86_400
        let date = Self.civil(day: day)
        // Years of more than four digits cannot come from a text, and are written as they are.
        if (0...9999).contains(date.year) {
            Self.append(date.year, width: 4, to: &out)
        } else {
            out.append(contentsOf: String(date.year).utf8)
        }
        for (mark, value) in [("-", date.month), ("-", date.day), ("T", second / 3600)] as [(Unicode.Scalar, Int64)] {
            out.append(UInt8(ascii: mark))
            Self.append(value, width: 2, to: &out)
        }
        for value in [second / 60 % 60, second % 60] {
            out.append(UInt8(ascii: ":"))
            Self.append(value, width: 2, to: &out)
        }
        if fraction != 0 {
            out.append(UInt8(ascii: "."))
            Self.append(fraction, width: 6, to: &out)
        }
        out.append(UInt8(ascii: "Z"))
    }

    private static func append(_ value: Int64, width: Int, to out: inout [UInt8]) {
        var unit: Int64 = 1
        for _ in 1..<width { unit *= 10 }
        while unit > 0 {
            out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / unit % 10))
            unit /= 10
        }
    }

    public var description: String { self.rfc3339 }

    /// Parses RFC 3339, with `Z` or an offset, years 1970 to 9999, up to six digits of fraction.
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ from: Int, _ count: Int) -> Int64? {
            guard from + count <= bytes.count else { return nil }
            var value: Int64 = 0
            for byte in bytes[from..<(from + count)] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        func has(_ character: Unicode.Scalar, at index: Int) -> Bool {
            index < bytes.count && bytes[index] == UInt8(ascii: character)
        }
        guard let year = number(0, 4), has("-", at: 4), let month = number(5, 2), has("-", at: 7),
            let day = number(8, 2), has("T", at: 10) || has("t", at: 10), let hour = number(11, 2), has(":", at: 13),
            let minute = number(14, 2), has(":", at: 16), let second = number(17, 2),
            (1970...9999).contains(year), (1...12).contains(month), hour < 24, minute < 60, second < 60,
            (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        var at = 19
        var fraction: Int64 = 0
        if has(".", at: at) {
            let start = at + 1
            at = start
            while number(at, 1) != nil { at += 1 }
            guard (1...6).contains(at - start), let digits = number(start, at - start) else { return nil }
            fraction = digits
            for _ in (at - start)..<6 { fraction *= 10 }
        }
        var offset: Int64 = 0
        if has("Z", at: at) || has("z", at: at) {
            at += 1
        } else {
            guard has("+", at: at) || has("-", at: at), let hours = number(at + 1, 2), has(":", at: at + 3),
                let minutes = number(at + 4, 2), hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (has("-", at: at) ? -1 : 1)
            at += 6
        }
        guard at == bytes.count else { return nil }
        let days = Self.dayNumber(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        // An offset may lead out of these years, and ``rfc3339`` must be readable again.
        guard (0..<Self.dayNumber(year: 10_000, month: 1, day: 1) * 86_400).contains(seconds) else { return nil }
        self.init(microseconds: seconds * 1_000_000 + fraction)
    }

    /// The beginning of a day in UTC, by the Gregorian calendar; nil for a day that it does not have, and outside of the
    /// years 1 to 9999.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1...9999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        self.init(seconds: Self.dayNumber(year: year, month: month, day: day) * 86_400)
    }

    // Days ⇄ civil date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

    private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

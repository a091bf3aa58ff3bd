import PinWire

/// A date as Android reads it: `SimpleDateFormat("yyyy-MM-dd")`, which is not lenient.
///
/// Three numbers with hyphens between them and any number of digits each, with spaces and tabs before each, and anything
/// after the day. A year of two digits is one of the first century.
struct AndroidDate: Hashable, Sendable {
    /// The beginning of the day in UTC; nil for years after 9999.
    let start: Timestamp?
    /// True where the text is the date in ten characters: `2026-01-31`.
    let isPlain: Bool

    /// Parses a text; nil for one at which Android throws.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let year = Self.number(&rest), rest.popFirst() == UInt8(ascii: "-"), let month = Self.number(&rest),
            rest.popFirst() == UInt8(ascii: "-"), let day = Self.number(&rest)
        else { return nil }
        if year > 9999 {
            // The calendar repeats itself after 400 years.
            guard Timestamp(year: 2000 + year % 400, month: month, day: day) != nil else { return nil }
            self.start = nil
            self.isPlain = false
            return
        }
        guard let start = Timestamp(year: year, month: month, day: day) else { return nil }
        self.start = start
        self.isPlain = start.day == text
    }

    /// Takes a number of at most nine digits, zeros before them not counted.
    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        let counted = digits.drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty, counted.count <= 9 else { return nil }
        return counted.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}

extension Timestamp {
    /// The day in UTC: `2026-01-31`.
    var day: String { String(self.rfc3339.prefix { $0 != "T" }) }
}

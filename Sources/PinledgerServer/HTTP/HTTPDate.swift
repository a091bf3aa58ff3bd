import PinWire

/// The date format of HTTP fields (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    static func text(_ time: Timestamp) -> String {
        let seconds = max(0, time.seconds)
        // 1970-01-01 was a Thursday.
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(seconds / 86_400 % 7)]
        // 2026-01-31T12:00:00Z
        let digits = Timestamp(seconds: seconds).rfc3339
        let parts = digits.dropLast().split(whereSeparator: { $0 == "-" || $0 == "T" })
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]) GMT"
    }
}

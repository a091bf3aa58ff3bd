package import PinWire

/// How long to wait before a message is sent again, and when to give it up.
package enum Backoff {
    /// The steps around which the waits are drawn, in seconds; the last one repeats.
    private static let steps: [Double] = [5, 30, 120, 600, 1800, 7200, 21_600]

    /// How long a message is tried, in seconds: three days.
    package static let patience: Int64 = 3 * 86_400

    /// The longest wait that a receiver may ask for, in seconds.
    package static let longestRequest: Double = 21_600

    /// Seconds to wait after an attempt: full jitter, from one second to twice the step.
    ///
    /// - Parameters:
    ///   - attempt: The number of the failed attempt, from 1.
    ///   - random: Uniform from 0 to 1.
    ///   - requested: The seconds that the receiver asked for; granted within bounds.
    package static func delay(after attempt: Int, random: Double, requested: Int64? = nil) -> Double {
        let step = Self.steps[min(max(attempt, 1), Self.steps.count) - 1]
        let drawn = max(1, 2 * step * min(max(random, 0), 1))
        return max(drawn, min(Double(requested ?? 0), Self.longestRequest))
    }

    /// Whether a message whose first attempt was at `first` is given up rather than tried again in `delay` seconds.
    package static func isOver(first: Timestamp, now: Timestamp, delay: Double) -> Bool {
        now.adding(seconds: Int64(delay)) > first.adding(seconds: Self.patience)
    }
}

/// The `Retry-After` field (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// The requested seconds from `now`; nil for a field that is neither a number nor a date.
    package static func seconds(_ text: String, now: Timestamp) -> Int64? {
        guard text.isASCII else { return nil }
        let text = text.drop { $0 == " " }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) { return Int64(text) ?? .max }
        return Self.date(text).map { max(0, $0.seconds - now.seconds) }
    }

    /// An IMF-fixdate, the one form that senders may use: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func date(_ text: Substring) -> Timestamp? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[1].utf8.count == 2,
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}

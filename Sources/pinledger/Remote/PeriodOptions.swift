import ArgumentParser
import PinWire

/// A period of the ledger's past.
struct PeriodOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "From this time on: 2026-11-22 (its beginning), 2026-11-22T18:30:00Z or 7d (ago).", valueName: "time"))
    var since: String?
    @Option(help: ArgumentHelp("Before this time, written like --since.", valueName: "time")) var until: String?
    @Option(help: ArgumentHelp("On this day (UTC), instead of --since and --until: 2026-11-22.", valueName: "date"))
    var day: String?

    /// Both ends in the API's form.
    ///
    /// - Parameter since: The beginning where none is given, as an option is written.
    func range(since: String? = nil) throws(CommandFailure) -> (since: String?, until: String?) {
        if let day {
            guard self.since == nil, self.until == nil else {
                throw CommandFailure("give --day or --since and --until, not both", status: .usage)
            }
            let times = try TimeInput.wholeDay(day)
            return (times.lowerBound.rfc3339, times.upperBound.rfc3339)
        }
        let first = self.since ?? since
        let begin: Timestamp? = if let first { try TimeInput.moment(first, .back) } else { nil }
        let end: Timestamp? = if let until { try TimeInput.moment(until, .back) } else { nil }
        if let first, let begin, let until, let end {
            let date = until.utf8.count == 10 ? until : "2026-11-22"
            try TimeInput.checkOrder(
                ("--since", first, begin), ("--until", until, end),
                advice: "A date is its beginning. For a whole day give --day \(date).")
        }
        return (begin?.rfc3339, end?.rfc3339)
    }

    /// Both ends as parameters of a query.
    func parameters(since: String? = nil) throws(CommandFailure) -> [String] {
        let range = try self.range(since: since)
        return [("since", range.since), ("until", range.until)].compactMap { name, value in
            value.map { "\(name)=\(APIClient.escaped($0))" }
        }
    }
}

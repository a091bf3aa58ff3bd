import ArgumentParser
import PinWire

/// A moment of the ledger's past.
struct MomentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "At this time: 2026-11-22T18:30:00Z, 2026-11-22 (its end, in UTC) or 2d (ago).", valueName: "time"))
    var at: String?
    @Option(
        help: ArgumentHelp(
            "At this position of the ledger: before the event with this position.",
            valueName: "position"))
    var position: Int64?
    @Option(
        help: ArgumentHelp(
            "Right after the event with this position, as `history` shows it.", valueName: "position")
    )
    var event: Int64?

    /// The time in the API's form; nil for the present, as a date that is not over.
    var time: String? {
        get throws { try self.at.flatMap { try TimeInput.pastMoment($0) }?.rfc3339 }
    }

    /// The number of events before the moment.
    var place: Int64? {
        get throws {
            guard self.position == nil || self.event == nil else {
                throw CommandFailure("give --position or --event, not both", status: .usage)
            }
            guard (0..<JSON.largestInteger).contains(self.event ?? 0) else {
                throw CommandFailure("--event must be the position of an event, from 0", status: .usage)
            }
            return self.position ?? self.event.map { $0 + 1 }
        }
    }

    /// The moment as a query; nil for the present.
    var query: String? {
        get throws {
            switch (try self.place, try self.time) {
            case (nil, nil): return nil
            case (let place?, nil): return "position=\(place)"
            case (nil, let time?): return "at=\(APIClient.escaped(time))"
            default: throw CommandFailure("give --at or a position, not both", status: .usage)
            }
        }
    }
}

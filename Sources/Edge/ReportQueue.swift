import Synchronization

/// A client's report that is to be passed on as it came: the upstream reads it, and checks its signature.
package struct WaitingReport: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The path that it was sent to.
    package var path: String
    /// The fields of its head that say how its body is to be read.
    package var fields: [Field]
    /// The client's address.
    package var address: String
    package var body: [UInt8]

    package init(path: String, fields: [Field], address: String, body: [UInt8]) {
        self.path = path
        self.fields = fields
        self.address = address
        self.body = body
    }

    /// Memory that it takes.
    var size: Int { self.body.count + 512 }
}

/// The reports that wait to be passed on, those first that came first: bounded by their number and their bytes.
///
/// They are in memory alone. If the process dies, what has not been passed on is lost.
package final class ReportQueue: Sendable {
    /// A report, and when it came.
    package struct Place: Sendable {
        package let report: WaitingReport
        let since: ContinuousClock.Instant
        /// Before when it is not to be sent.
        var due: ContinuousClock.Instant
    }

    private struct Content {
        var waiting: [Place] = []
        var bytes = 0
        var outcomes: [Outcome: Int] = [:]
    }

    /// What has become of reports.
    package enum Outcome: String, CaseIterable, Sendable {
        /// The upstream has taken it.
        case forwarded
        /// The upstream has refused it.
        case refused
        /// It waited for too long.
        case expired
        /// There was no room for it, and the client was told to come again.
        case turnedAway = "turned_away"
    }

    private let content = Mutex(Content())
    private let countLimit: Int
    private let byteLimit: Int
    private let age: Duration

    /// - Parameter age: How long a report may wait. A signed one is refused by the upstream a few minutes after it was made.
    package init(countLimit: Int = 10_000, byteLimit: Int = 32 << 20, age: Duration = .seconds(600)) {
        self.countLimit = countLimit
        self.byteLimit = byteLimit
        self.age = age
    }

    package var count: Int { self.content.withLock { $0.waiting.count } }

    package var outcomes: [Outcome: Int] { self.content.withLock { $0.outcomes } }

    /// Takes a report; false where there is no room.
    package func add(_ report: WaitingReport) -> Bool {
        self.content.withLock { content in
            guard content.waiting.count < self.countLimit, content.bytes + report.size <= self.byteLimit else {
                content.outcomes[.turnedAway, default: 0] += 1
                return false
            }
            let now = ContinuousClock.now
            content.waiting.append(Place(report: report, since: now, due: now))
            content.bytes += report.size
            return true
        }
    }

    /// The reports that are due and have waited longest, at most so many. What has waited for too long is given up.
    package func take(_ limit: Int) -> [Place] {
        self.content.withLock { content in
            let now = ContinuousClock.now
            var (due, rest): ([Place], [Place]) = ([], [])
            for place in content.waiting {
                if now - place.since > self.age {
                    content.outcomes[.expired, default: 0] += 1
                    content.bytes -= place.report.size
                } else if due.count < limit, place.due <= now {
                    due.append(place)
                    content.bytes -= place.report.size
                } else {
                    rest.append(place)
                }
            }
            content.waiting = rest
            return due
        }
    }

    /// Puts back what could not be passed on, behind all others, for at least so long. It has had room before.
    package func putBack(_ place: Place, for pause: Duration) {
        self.content.withLock { content in
            var place = place
            place.due = .now + pause
            content.waiting.append(place)
            content.bytes += place.report.size
        }
    }

    package func count(_ outcome: Outcome, _ number: Int = 1) {
        self.content.withLock { $0.outcomes[outcome, default: 0] += number }
    }
}

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

    /// Memory that it takes, in bytes.
    var size: Int {
        let texts = self.fields.reduce(self.path.utf8.count + self.address.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 96
        }
        return self.body.count + texts + 512
    }
}

/// The reports that wait to be passed on, those first that came first: bounded by their number and their bytes, for all clients together
/// and for each network of them.
///
/// They are in memory alone. If the process dies, what has not been passed on is lost.
package final class ReportQueue: Sendable {
    /// A report, and when it came.
    package struct Place: Sendable {
        package let report: WaitingReport
        let network: String
        let since: ContinuousClock.Instant
        /// Before when it is not to be sent.
        var due: ContinuousClock.Instant
    }

    /// A number of reports, and the memory that they take.
    private struct Room {
        var count = 0
        var bytes = 0

        func has(place size: Int, within limit: Room) -> Bool {
            self.count < limit.count && self.bytes + size <= limit.bytes
        }

        mutating func take(_ size: Int) {
            self.count += 1
            self.bytes += size
        }

        mutating func giveBack(_ size: Int) {
            self.count -= 1
            self.bytes -= size
        }
    }

    private struct Content {
        /// The reports that may be sent, from `first` on.
        var ready: [Place] = []
        var first = 0
        /// The reports that the upstream has put off.
        var putOff: [Place] = []
        /// When the first of them is due, or before.
        var nextDue: ContinuousClock.Instant?
        var taken = Room()
        /// By network; none has zero.
        var shares: [String: Room] = [:]
        var outcomes: [Outcome: Int] = [:]

        mutating func enter(_ place: Place) {
            self.taken.take(place.report.size)
            self.shares[place.network, default: Room()].take(place.report.size)
        }

        mutating func leave(_ place: Place) {
            self.taken.giveBack(place.report.size)
            guard var share = self.shares[place.network] else { return }
            share.giveBack(place.report.size)
            self.shares[place.network] = share.count > 0 ? share : nil
        }

        /// Has those that were put off, and are due, wait with the others again.
        mutating func recall(at now: ContinuousClock.Instant) {
            guard let nextDue, nextDue <= now else { return }
            self.ready += self.putOff.filter { $0.due <= now }
            self.putOff.removeAll { $0.due <= now }
            self.nextDue = self.putOff.map(\.due).min()
        }

        mutating func next() -> Place? {
            guard self.first < self.ready.count else { return nil }
            defer {
                self.first += 1
                if self.first * 2 > self.ready.count {
                    self.ready.removeFirst(self.first)
                    self.first = 0
                }
            }
            return self.ready[self.first]
        }
    }

    /// What has become of reports.
    package enum Outcome: String, CaseIterable, Sendable {
        /// The upstream has taken it.
        case forwarded
        /// The upstream has refused it.
        case refused
        /// It waited for too long.
        case expired
        /// The upstream had put it off, and it gave way to a new one.
        case displaced
        /// There was no room for it, and the client was told to come again.
        case turnedAway = "turned_away"
    }

    private let content = Mutex(Content())
    private let limit: Room
    private let share: Room
    private let age: Duration

    /// - Parameters:
    ///   - sharers: The networks that fill the queue together: each may take so many parts of it.
    ///   - age: How long a report may wait. A signed one is refused by the upstream a few minutes after it was made.
    package init(
        countLimit: Int = 10_000, byteLimit: Int = 32 << 20, sharers: Int = 8, age: Duration = .seconds(600)
    ) {
        self.limit = Room(count: countLimit, bytes: byteLimit)
        self.share = Room(count: max(1, countLimit / sharers), bytes: byteLimit / sharers)
        self.age = age
    }

    package var count: Int { self.content.withLock { $0.taken.count } }

    package var outcomes: [Outcome: Int] { self.content.withLock { $0.outcomes } }

    /// The reason for which a report is not taken.
    package enum Refusal: Error, Hashable, Sendable {
        /// Reports of its network fill their part of the queue.
        case networkIsFull
        case isFull
    }

    /// Takes a report. Where all is full, reports that the upstream has put off give way.
    ///
    /// - Parameter network: The part of the internet that it comes from.
    package func add(_ report: WaitingReport, from network: String) throws(Refusal) {
        try self.content.withLock { (content) throws(Refusal) in
            let size = report.size
            guard content.shares[network, default: Room()].has(place: size, within: self.share) else {
                content.outcomes[.turnedAway, default: 0] += 1
                throw .networkIsFull
            }
            while !content.taken.has(place: size, within: self.limit) {
                guard let place = content.putOff.popLast() else {
                    content.outcomes[.turnedAway, default: 0] += 1
                    throw .isFull
                }
                content.leave(place)
                content.outcomes[.displaced, default: 0] += 1
            }
            let now = ContinuousClock.now
            let place = Place(report: report, network: network, since: now, due: now)
            content.ready.append(place)
            content.enter(place)
        }
    }

    /// The reports that are due and have waited longest, at most so many. What has waited for too long is given up.
    package func take(_ limit: Int) -> [Place] {
        self.content.withLock { content in
            let now = ContinuousClock.now
            content.recall(at: now)
            var due: [Place] = []
            while due.count < limit, let place = content.next() {
                content.leave(place)
                if now - place.since > self.age {
                    content.outcomes[.expired, default: 0] += 1
                } else {
                    due.append(place)
                }
            }
            return due
        }
    }

    /// Puts back what could not be passed on, behind all others, for at least so long. It has had room before.
    package func putBack(_ place: Place, for pause: Duration) {
        self.content.withLock { content in
            var place = place
            content.enter(place)
            guard pause > .zero else { return content.ready.append(place) }
            place.due = .now + pause
            content.putOff.append(place)
            content.nextDue = content.nextDue.map { min($0, place.due) } ?? place.due
        }
    }

    package func count(_ outcome: Outcome, _ number: Int = 1) {
        self.content.withLock { $0.outcomes[outcome, default: 0] += number }
    }
}

import PinWire
import Pinning

/// Folds entries one after the other, and names those that cannot follow on what came before them. A pure value.
struct EventCheck: Sendable {
    /// The fold of what could be read.
    private(set) var state = LedgerState()
    /// Where each stream ends, as far as it could be read.
    private(set) var ends: [StreamID: LedgerAuditor.StreamEnd] = [:]
    /// Streams of which an event is damaged or missing: later mismatches in them are consequences.
    private(set) var damagedStreams: Set<String> = []
    /// The time of the latest event.
    private(set) var lastTime = Timestamp(microseconds: 0)
    /// The time of the event before the next one; nil where that is missing or cannot be read.
    private var timeBefore: Timestamp? = Timestamp(microseconds: 0)
    /// The last position whose event is missing; below zero where none is.
    private(set) var lastMissing: Int64 = -1
    /// The positions of events that lie in the future by the clock that recorded them, each run of them; at most ``runLimit``. Events behind
    /// them, which have their time and were decided later, are none.
    private(set) var ahead: [ClosedRange<Int64>] = []
    /// Nil where approvals' signatures are not verified.
    private let approvals: ApprovalVerifier?
    /// The latest time that an event may have by the auditor's clock.
    private let limit: Timestamp

    /// - Parameter now: The time by the auditor's clock; nil where events may have any.
    init(approvals: ApprovalVerifier? = nil, at now: Timestamp? = nil) {
        self.approvals = approvals
        self.limit = now?.adding(seconds: Head.tolerance) ?? Timestamp(microseconds: .max)
    }

    /// Whether nothing so far was damaged, so that ``fold(_:ends:)`` tells as much as ``take(_:at:)``.
    var isSound: Bool { self.damagedStreams.isEmpty }

    /// Takes in events as long as they fit.
    ///
    /// - Parameter ends: The place of each stream's last event among them.
    /// - Returns: How many fit.
    mutating func fold(_ steps: [ReplayedEvent], ends: [StreamID: Int]) -> Int {
        let fitting = steps.indices.first { !self.fold(steps[$0]) } ?? steps.count
        if fitting == steps.count {
            for place in ends.values { self.end(with: steps[place]) }
        } else {
            for step in steps[..<fitting] { self.end(with: step) }
        }
        return fitting
    }

    /// False, with nothing changed, where the event does not follow on those before it.
    private mutating func fold(_ step: ReplayedEvent) -> Bool {
        guard step.time >= self.lastTime, self.isRight(step.decidedAt, stamped: step.time),
            self.approvals?.defect(of: step.event, in: self.state) == nil,
            self.state.apply(step.event, of: step.stream, version: step.streamVersion, at: step.effectiveAt)
                == .applied
        else { return false }
        self.note(step.time, step.decidedAt, at: step.position)
        return true
    }

    private mutating func note(_ time: Timestamp, _ decidedAt: Timestamp?, at position: Int64) {
        (self.lastTime, self.timeBefore) = (max(self.lastTime, time), time)
        guard self.limit < decidedAt ?? time else { return }
        guard let last = self.ahead.last, last.upperBound + 1 == position || self.ahead.count == Self.runLimit else {
            return self.ahead.append(position...position)
        }
        self.ahead[self.ahead.count - 1] = last.lowerBound...position
    }

    /// The most runs of events of the future that are told apart.
    private static let runLimit = 100

    private mutating func end(with step: ReplayedEvent) {
        self.ends[step.stream] = .init(version: step.streamVersion, position: step.position, time: step.effectiveAt)
    }

    /// True of the time of a decision as nodes record it: only where the event before is further ahead than clocks differ, whose stamp
    /// the event then has.
    private func isRight(_ decidedAt: Timestamp?, stamped time: Timestamp) -> Bool {
        guard let decidedAt else { return true }
        return decidedAt.adding(seconds: Head.lag) < time && self.timeBefore.map { $0 == time } ?? true
    }

    /// Takes in an entry, and says what is wrong with its place in its stream.
    mutating func take(_ entry: Entry, at position: Int64) -> [LedgerFinding] {
        let name = entry.stream.text
        let before = self.ends[entry.stream]
        let next = (before?.version ?? 0) &+ 1
        var findings: [LedgerFinding] = []
        if entry.streamVersion > next, self.lastMissing > before?.position ?? -1 {
            // The events between are among those that are missing.
            self.damagedStreams.insert(name)
        } else if entry.streamVersion != next {
            self.damagedStreams.insert(name)
            findings.append(
                LedgerFinding(
                    .streamVersionWrong, at: position, of: name,
                    "the event has version \(entry.streamVersion) of its stream, where \(next) is the next"))
        }
        if entry.time < self.lastTime {
            findings.append(LedgerFinding(.timeFalls, at: position, "the event lies before the one before it"))
        }
        if !self.isRight(entry.decidedAt, stamped: entry.time) {
            findings.append(
                LedgerFinding(
                    .decidedAtWrong, at: position,
                    "the event says that it was decided before its time, and the event before it is not of the future"))
        }
        if let defect = self.approvals?.defect(of: entry.event, in: self.state),
            self.damagedStreams.isDisjoint(with: [name, StreamID.access.text])
        {
            findings.append(LedgerFinding(.approvalWrong, at: position, of: name, defect))
        }
        self.note(entry.time, entry.decidedAt, at: position)
        self.ends[entry.stream] = .init(version: entry.streamVersion, position: position, time: entry.effectiveAt)
        if !self.state.apply(entry.event, of: entry.stream, at: entry.effectiveAt), !self.damagedStreams.contains(name)
        {
            self.damagedStreams.insert(name)
            findings.append(
                LedgerFinding(
                    .eventUnfit, at: position, of: name,
                    "\(entry.event.type) cannot follow on what came before it in the stream"))
        }
        return findings
    }

    /// Leaves out an entry that cannot be read, and of which only what stands beside it is known.
    mutating func skip(_ name: String, version: Int64, position: Int64, time: Timestamp) {
        if let stream = StreamID(text: name) {
            self.ends[stream] = .init(version: version, position: position, time: time)
        }
        self.timeBefore = nil
        self.damagedStreams.insert(name)
    }

    /// Notes that events are missing, of whatever streams.
    mutating func miss(through position: Int64) { (self.lastMissing, self.timeBefore) = (position, nil) }

    /// Notes that a stream's events are not all there.
    mutating func damage(_ name: String) { self.damagedStreams.insert(name) }
}

import PinWire
import Pinning
import TransparencyLog

/// Commands decided together on one base, ready to be appended in one transaction. A pure value.
struct Batch: Sendable {
    enum Outcome: Sendable {
        /// The command's entries, as indices in ``Batch/entries``.
        case recorded(Range<Int>, streamVersion: Int64, findings: [Finding])
        case failed(WriteFailure)
        /// The same request as an earlier one of this batch.
        case repeats(Int)
        /// Left out: it is answered in another way.
        case left
        /// The decision that it brought rests on what has changed since.
        case outdated
    }

    let base: LedgerView
    /// The stamp of all entries, which never falls.
    private let time: Timestamp
    /// The time of all decisions, where it is earlier than their stamp.
    private let decidedAt: Timestamp?
    /// What is known to every command's decision, from outside as it was when the batch was begun.
    private let context: DecisionContext
    /// The requests' digests, by place.
    private var digests: [[UInt8]] = []
    private(set) var after: LedgerView
    private(set) var outcomes: [Outcome] = []
    /// The indices of commands that are refused and have an idempotency key.
    private(set) var refusedWithKey: [Int] = []
    private(set) var entries: [Entry] = []
    /// ``entries`` as they are hashed and stored.
    private(set) var bytes: [[UInt8]] = []
    private(set) var rows = AppendRows()
    private(set) var tileRoots: [TileRoot] = []
    /// Streams that grow: their versions before and after, and the position of their last event.
    private(set) var streams: [StreamID: (before: Int64, after: Int64, last: Int64)] = [:]
    private var placesByKey: [CommandKey: Int] = [:]

    /// The largest entry that fits an entry bundle (C2SP tlog-tiles).
    static let entryLimit = 65_535

    /// An empty batch, whose commands are all decided at one time and recorded at one: the present, and no earlier than the last
    /// event.
    init(on base: LedgerView, at now: Timestamp, environment: DecisionEnvironment) {
        self.base = base
        self.after = base
        self.time = max(now, base.head.lastTime)
        let present = base.head.present(by: now)
        self.decidedAt = present < self.time ? present : nil
        self.context = environment.context(at: present)
    }

    /// A batch of the open commands of a pending batch: of the first ones only, where deciding them takes longer than the limits say. The
    /// very first is decided in any case.
    init(
        _ pending: PendingBatch, on base: LedgerView, at now: Timestamp, environment: DecisionEnvironment,
        within limits: Writer.Limits
    ) {
        self.init(on: base, at: now, environment: environment)
        let begun = ContinuousClock.now
        for (place, request) in pending.requests.enumerated() {
            let limit = request.isUrgent ? limits.decidingUrgent : limits.deciding
            guard place == 0 || ContinuousClock.now < begun + limit else { return }
            if pending.answers[place] == nil { self.add(request) } else { self.leaveOut(request) }
        }
    }

    /// The number of commands so far.
    var count: Int { self.outcomes.count }

    /// Keeps an index for a command that is answered in another way.
    mutating func leaveOut(_ request: CommandRequest) {
        self.digests.append(request.digest)
        self.outcomes.append(.left)
    }

    /// Decides one more command, on the result of those before it. Its refusal changes nothing for its neighbours.
    mutating func add(_ request: CommandRequest) {
        let place = self.count
        self.digests.append(request.digest)
        if let key = request.key {
            if let first = self.placesByKey[key] {
                let isRepetition = self.digests[first] == request.digest
                self.outcomes.append(isRepetition ? .repeats(first) : .failed(.keyReused))
                if !isRepetition { self.refusedWithKey.append(place) }
                return
            }
            self.placesByKey[key] = place
        }
        do {
            guard let (range, findings) = try self.take(request) else { return self.outcomes.append(.outdated) }
            let version = self.after.state.version(of: request.command.stream)
            self.outcomes.append(.recorded(range, streamVersion: version, findings: findings))
            if let key = request.key {
                let first = self.base.head.position + Int64(range.lowerBound)
                self.rows.append(key, digest: request.digest, first: first, count: range.count)
            }
        } catch {
            self.outcomes.append(.failed(error))
            if request.key != nil { self.refusedWithKey.append(place) }
        }
    }

    /// The result of a command; nil where the decision that it brought is outdated.
    private mutating func take(
        _ request: CommandRequest
    ) throws(WriteFailure) -> (range: Range<Int>, findings: [Finding])? {
        let context = request.context(in: self.context)
        // First: a stream's version tells that it is there.
        do { try self.after.state.authorize(request.command, in: context) } catch { throw .refused(error) }
        let stream = request.command.stream
        let version = self.after.state.version(of: stream)
        let epoch = self.after.state.fleet.epoch
        if let expected = request.expectedVersion {
            let stream = request.expectedStream ?? stream
            let version = self.after.state.version(of: stream)
            guard expected == version, request.expectedEpoch ?? epoch == epoch else {
                throw .stale(stream, expected: expected, actual: version, epoch: epoch)
            }
        }
        guard let decision = try self.decision(on: request, in: context) else { return nil }
        if let plan = request.expectedPlan {
            guard plan == Decision.plan(of: decision.events, after: version) else { throw .planStale }
        }

        // Nothing of the batch changes before all of the command's entries are known to fit.
        var origin = request.origin
        if let change = decision.applied {
            origin.correlationID = change.id
            origin.isForced = origin.isForced || change.isForced
            origin.reason = origin.reason ?? change.reason
        }
        let parts = decision.effects.map { ($0.stream, $0.events) } + [(stream, decision.events)]
        var made: [(entry: Entry, bytes: [UInt8])] = []
        var grown: [StreamID: (before: Int64, after: Int64, last: Int64)] = [:]
        for (stream, events) in parts {
            for event in events {
                let position = self.after.head.position + Int64(made.count)
                let known = grown[stream] ?? { ($0, $0, 0) }(self.after.state.version(of: stream))
                let entry = Entry(
                    position: position, stream: stream, streamVersion: known.after + 1, time: self.time,
                    decidedAt: self.decidedAt, event: event, origin: origin
                )
                let bytes = entry.bytes
                guard bytes.count <= Self.entryLimit else { throw .tooLarge(bytes: bytes.count) }
                // Requests were parsed at the edge; events of nodes take values from rows of the database, too.
                if origin.actor.kind == .system {
                    do { _ = try Entry(bytes: bytes) } catch { throw .unreadable("\(entry.event.type): \(error)") }
                }
                made.append((entry, bytes))
                grown[stream] = (known.before, known.after + 1, position)
            }
        }
        let start = self.entries.count
        guard !made.isEmpty else { return (start..<start, decision.findings) }
        // `decide` makes only events that fit; otherwise the streams' versions would not add up and the database would
        // refuse the batch (PL001).
        for effect in decision.effects { self.after.state.take(effect.after) }
        self.after.state.take(decision.after)
        for (entry, bytes) in made {
            self.tileRoots += self.after.extend(with: bytes, at: self.time)
            self.entries.append(entry)
            self.rows.append(entry, of: entry.stream.text, bytes: bytes)
            self.bytes.append(bytes)
        }
        for (stream, grown) in grown {
            self.streams[stream] = (self.streams[stream]?.before ?? grown.before, grown.after, grown.last)
        }
        return (start..<self.entries.count, decision.findings)
    }

    private func decision(
        on request: CommandRequest, in context: DecisionContext
    ) throws(WriteFailure) -> Decision? {
        do throws(Refusal) {
            guard let prepared = request.prepared else {
                return try self.after.state.decide(request.command, in: context)
            }
            return try self.after.state.confirm(prepared, at: context.now)
        } catch {
            throw .refused(error)
        }
    }

    /// Whether there is anything to write.
    var isEmpty: Bool { self.rows.isEmpty }

    /// Whether a sender gets the answer that nothing needs to change.
    var confirms: Bool {
        self.outcomes.contains { if case .recorded = $0 { true } else { false } }
    }

    /// What the command at `place` recorded; nil where its outcome is another.
    func recorded(at place: Int) -> Recorded? {
        guard case .recorded(let range, let streamVersion, let findings) = self.outcomes[place] else { return nil }
        let entries = Array(self.entries[range])
        return Recorded(
            entries: entries, position: self.base.head.position + Int64(range.upperBound), streamVersion: streamVersion,
            isReplay: false, findings: findings
        )
    }
}

package import PinWire

/// What an install has to report, and what it has told today: a value, which a store keeps between runs.
///
/// Outcomes of one day with the same id are one. What was told is not told again on that day.
package struct ReportJournal: Hashable, Sendable {
    /// The most outcomes of a request.
    static let batchLimit = 100
    /// The most different outcomes of a day; there is no room for further ones.
    static let dayLimit = 500
    /// How many of them may be successes: failures always have room.
    static let successLimit = 400
    /// The most versions of a day that are told to be held.
    private static let adoptedLimit = 100
    /// How long an outcome waits for a service that takes it, in seconds: older ones say nothing of today's servers.
    private static let longestWait: Int64 = 2 * 86_400
    /// The most outcomes that wait: those of two days.
    private static let pendingLimit = 2 * Self.dayLimit
    /// The most bytes of ``bytes(of:)``: an outcome takes some 1,200 at most.
    static let byteLimit = 2 << 20

    /// Outcomes that no service has taken yet, in the order in which they happened first.
    private(set) var pending: [OutcomeReport] = []
    /// When a service last took a batch.
    private(set) var lastSent: Timestamp?
    /// The day of what follows.
    private var day: ReportDay?
    /// The ids of that day's outcomes that were told.
    private var told: Set<String> = []
    /// The versions of the document that were told to be held on that day.
    private var adopted: Set<Int64> = []
    /// Whether a failure happened on that day.
    private var hasFailed = false
    /// The ids of that day's outcomes, which have neither time nor id there.
    private var ids: [OutcomeReport: String] = [:]

    package init() {}

    /// How a connection changed the journal.
    package enum Change: Hashable, Sendable {
        /// Not at all: it was told before, or there is no room.
        case none
        /// It was counted with one that is there.
        case counted
        case added
        /// The day's first failure.
        case firstFailure
    }

    /// Takes up a connection's outcome, which has a time.
    package mutating func note(_ outcome: OutcomeReport, of install: InstallID) -> Change {
        guard let time = outcome.time else { return .none }
        let day = ReportDay(time)
        self.begin(day)
        let id = self.id(of: outcome, on: day, install)
        guard !self.told.contains(id) else { return .none }
        if let place = self.pending.firstIndex(where: { $0.id == id }) {
            let sum = self.pending[place].count + outcome.count
            self.pending[place].count = min(sum, OutcomeReport.largestCount)
            return .counted
        }
        let isFailure = outcome.outcome.isFailure
        let known = self.told.count + self.pending.count { $0.time.map(ReportDay.init) == day }
        guard known < (isFailure ? Self.dayLimit : Self.successLimit), self.pending.count < Self.pendingLimit else {
            return .none
        }
        let isFirst = isFailure && !self.hasFailed
        self.pending.append(outcome)
        self.pending[self.pending.count - 1].id = id
        if isFailure { self.hasFailed = true }
        return isFirst ? .firstFailure : .added
    }

    /// The id of an outcome, which is computed once a day: connections with the same outcome are many.
    private mutating func id(of outcome: OutcomeReport, on day: ReportDay, _ install: InstallID) -> String {
        var plain = outcome
        plain.time = nil
        plain.id = nil
        plain.count = 1
        if let id = self.ids[plain] { return id }
        let id = plain.id(on: day, of: install)
        if self.ids.count < 2 * Self.dayLimit { self.ids[plain] = id }
        return id
    }

    /// Forgets what was told on another day.
    private mutating func begin(_ day: ReportDay) {
        guard day != self.day else { return }
        self.day = day
        self.ids = [:]
        self.told = []
        self.adopted = []
        self.hasFailed = false
    }

    /// One request's worth: the oldest outcomes.
    package struct Batch: Hashable, Sendable {
        /// The version that the install holds.
        let version: Int64
        let outcomes: [OutcomeReport]
    }

    /// What there is to send; nil for nothing.
    ///
    /// - Parameters:
    ///   - version: The version of the document that is held, and stored; 0 for none.
    ///   - isSampled: Whether the install reports today. What it kept on another day is sent all the same.
    package mutating func batch(holding version: Int64, at now: Timestamp, isSampled: Bool = true) -> Batch? {
        self.begin(ReportDay(now))
        let oldest = now.adding(seconds: -Self.longestWait)
        self.pending.removeAll { $0.time.map { $0 < oldest } ?? true }
        let isNews = !self.adopted.contains(version) && self.adopted.count < Self.adoptedLimit
        guard !self.pending.isEmpty || isSampled && isNews else { return nil }
        return Batch(version: version, outcomes: Array(self.pending.prefix(Self.batchLimit)))
    }

    /// Settles a batch that a service has taken.
    package mutating func settle(_ batch: Batch, at now: Timestamp) {
        self.drop(batch)
        self.lastSent = now
        if self.adopted.count < Self.adoptedLimit { self.adopted.insert(batch.version) }
    }

    /// Settles a batch that no service will ever take.
    mutating func drop(_ batch: Batch) {
        let ids = Set(batch.outcomes.compactMap(\.id))
        self.pending.removeAll { $0.id.map(ids.contains) ?? true }
        self.told.formUnion(batch.outcomes.filter { $0.time.map(ReportDay.init) == self.day }.compactMap(\.id))
    }

    /// Forgets what was not sent: the document asks for no reports any more.
    ///
    /// - Returns: Whether there was anything.
    mutating func dropPending() -> Bool {
        defer { self.pending = [] }
        return !self.pending.isEmpty
    }
}

extension ReportJournal.Batch {
    /// The request's body: canonical JSON as the page `telemetry` lists it.
    package func body(of configuration: ReportConfiguration) -> [UInt8] {
        let release = configuration.appVersion.flatMap { try? AppVersion($0) }?.release
        return JSON.members([
            "install": .string(configuration.install.text),
            "platform": configuration.platform.map { .string($0.rawValue) },
            "app_version": release.map { .string($0.description) },
            "document_version": .integer(self.version),
            "outcomes": .array(self.outcomes.map(\.json)),
        ]).canonicalBytes
    }
}

// MARK: - Keeping

extension ReportJournal {
    /// What ``bytes(of:)`` begins with: canonical JSON sorts its members.
    static let beginning = Array(#"{"adopted":"#.utf8)

    /// What a store keeps: JSON.
    func bytes(of install: InstallID) -> [UInt8] {
        JSON.members([
            "batch": ["install": .string(install.text), "outcomes": .array(self.pending.map(\.json))],
            "last_sent": self.lastSent.map { .integer($0.seconds) },
            "day": self.day.map { .string($0.text) },
            "told": .array(self.told.sorted().map { .string($0) }),
            "adopted": .array(self.adopted.sorted().map { .integer($0) }),
            "has_failed": .bool(self.hasFailed),
        ]).canonicalBytes
    }

    /// Reads ``bytes(of:)``; nil for anything else, and for another install's: a backup is restored on another device.
    init?(_ bytes: [UInt8], of install: InstallID) {
        guard bytes.count <= Self.byteLimit,
            let json = try? JSON(parsing: bytes, limits: JSONLimits(depth: 8, nodes: 100_000)),
            let kept = json["batch"], kept["install"]?.stringValue == install.text,
            let outcomes = kept["outcomes"]?.arrayValue.flatMap({ Self.outcomes($0, of: install) }),
            let told = json["told"]?.arrayValue, told.count <= Self.dayLimit,
            let adopted = json["adopted"]?.arrayValue, adopted.count <= Self.adoptedLimit
        else { return nil }
        self.pending = outcomes
        self.lastSent = json["last_sent"]?.integerValue.map { Timestamp(seconds: $0) }
        self.day = json["day"]?.stringValue.flatMap { ReportDay(text: $0) }
        self.told = Set(told.compactMap { $0.stringValue })
        self.adopted = Set(adopted.compactMap { $0.integerValue })
        self.hasFailed = json["has_failed"] == true
    }

    /// Reads outcomes as a service reads a batch, in as many of them as it takes; nil where one would be refused.
    private static func outcomes(_ kept: [JSON], of install: InstallID) -> [OutcomeReport]? {
        guard kept.count <= Self.pendingLimit else { return nil }
        var outcomes: [OutcomeReport] = []
        for begin in stride(from: 0, to: kept.count, by: Self.batchLimit) {
            let part = kept[begin..<min(begin + Self.batchLimit, kept.count)]
            let bytes = JSON.object(["install": .string(install.text), "outcomes": .array(Array(part))]).canonicalBytes
            guard let batch = try? ReportBatch(parsing: bytes), batch.refusals.isEmpty else { return nil }
            for var outcome in batch.outcomes {
                guard outcome.install == install, outcome.id != nil, outcome.time != nil else { return nil }
                outcome.install = nil
                outcomes.append(outcome)
            }
        }
        return outcomes
    }
}

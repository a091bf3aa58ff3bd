package import PinWire

/// What an install has to report, and what it has told today: a value, which a store keeps between runs.
///
/// Outcomes of one day with the same id are one. What was told is not told again on that day.
package struct ReportJournal: Hashable, Sendable {
    /// The most outcomes of a request.
    static let batchLimit = 100
    /// The most different outcomes of a day; further ones are only counted.
    static let dayLimit = 500
    /// How many of them may be successes: failures always have room.
    static let successLimit = 400
    /// The most versions of a day that are told to be held.
    private static let adoptedLimit = 100
    /// The most bytes of ``bytes(of:)``.
    static let byteLimit = 1 << 20

    /// Outcomes that no service has taken yet, in the order in which they happened first.
    private(set) var pending: [OutcomeReport] = []
    /// The day of ``told``, ``adopted`` and ``dropped``.
    private var day: ReportDay?
    /// The ids of outcomes that were told on that day.
    private var told: Set<String> = []
    /// The versions of the document that were told to be held on that day.
    private var adopted: Set<Int64> = []
    /// Outcomes of that day for which there was no room.
    private(set) var dropped: Int64 = 0
    /// Whether a failure happened on that day.
    private var hasFailed = false
    /// The ids of that day's outcomes, which have neither time nor id there.
    private var ids: [OutcomeReport: String] = [:]

    package init() {}

    /// How a connection changed the journal.
    package enum Change: Hashable, Sendable {
        /// It was told before, or counted with one that is there, or there was no room.
        case counted
        case added
        /// The day's first failure.
        case firstFailure
    }

    /// Takes up a connection's outcome, which has a time.
    package mutating func note(_ outcome: OutcomeReport, of install: InstallID) -> Change {
        guard let time = outcome.time else { return .counted }
        let day = ReportDay(time)
        self.begin(day)
        let id = self.id(of: outcome, on: day, install)
        guard !self.told.contains(id) else { return .counted }
        if let place = self.pending.firstIndex(where: { $0.id == id }) {
            let sum = self.pending[place].count + outcome.count
            self.pending[place].count = min(sum, OutcomeReport.largestCount)
            return .counted
        }
        let isFailure = outcome.outcome.isFailure
        let known = self.pending.count + self.told.count
        guard known < (isFailure ? Self.dayLimit : Self.successLimit) else {
            self.dropped += 1
            return .counted
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
        self.dropped = 0
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
    ///   - version: The version of the document that is held; 0 for none.
    ///   - isSampled: Whether the install reports today. What it kept on another day is sent all the same.
    package mutating func batch(holding version: Int64, at now: Timestamp, isSampled: Bool = true) -> Batch? {
        self.begin(ReportDay(now))
        guard !self.pending.isEmpty || isSampled && !self.adopted.contains(version) else { return nil }
        return Batch(version: version, outcomes: Array(self.pending.prefix(Self.batchLimit)))
    }

    /// Settles a batch: a service has taken it, or will never.
    mutating func settle(_ batch: Batch) {
        let ids = Set(batch.outcomes.compactMap(\.id))
        self.pending.removeAll { $0.id.map(ids.contains) ?? true }
        self.told.formUnion(ids)
        if self.adopted.count < Self.adoptedLimit { self.adopted.insert(batch.version) }
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
    /// What a store keeps: JSON.
    func bytes(of install: InstallID) -> [UInt8] {
        JSON.members([
            "batch": ["install": .string(install.text), "outcomes": .array(self.pending.map(\.json))],
            "day": self.day.map { .string($0.text) },
            "told": .array(self.told.sorted().map { .string($0) }),
            "adopted": .array(self.adopted.sorted().map { .integer($0) }),
            "dropped": .integer(self.dropped),
            "has_failed": .bool(self.hasFailed),
        ]).canonicalBytes
    }

    /// Reads ``bytes(of:)``; nil for anything else, and for another install's: a backup is restored on another device.
    init?(_ bytes: [UInt8], of install: InstallID) {
        guard bytes.count <= Self.byteLimit,
            let json = try? JSON(parsing: bytes, limits: JSONLimits(depth: 8, nodes: 50_000)),
            let kept = json["batch"], let batch = try? ReportBatch(parsing: kept.canonicalBytes),
            batch.refusals.isEmpty,
            batch.outcomes.allSatisfy({ $0.install == install && $0.id != nil && $0.time != nil }),
            kept["install"]?.stringValue == install.text,
            let told = json["told"]?.arrayValue, told.count <= Self.dayLimit,
            let adopted = json["adopted"]?.arrayValue, adopted.count <= Self.adoptedLimit,
            let dropped = json["dropped"]?.integerValue, dropped >= 0
        else { return nil }
        self.pending = batch.outcomes.map { outcome in
            var outcome = outcome
            outcome.install = nil
            return outcome
        }
        self.day = json["day"]?.stringValue.flatMap { ReportDay(text: $0) }
        self.told = Set(told.compactMap { $0.stringValue })
        self.adopted = Set(adopted.compactMap { $0.integerValue })
        self.dropped = dropped
        self.hasFailed = json["has_failed"] == true
    }
}

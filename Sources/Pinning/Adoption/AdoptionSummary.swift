package import PinWire

/// All facts about the versions that an app's clients hold, for people to read.
package struct AdoptionSummary: Hashable, Sendable {
    /// The window. Counts are kept by the hour and sketches by the day (UTC), so that each span begins with its first
    /// hour or day. A day's sketches hold the sightings of that day and the next, and no two days' can be merged
    /// (``AdoptionTally/Sketch``): installs are known of two days at most.
    package struct Spans: Hashable, Sendable {
        package let measuredAt: Timestamp
        package let windowSeconds: Int64

        package init(measuredAt: Timestamp, windowSeconds: Int64) {
            self.measuredAt = measuredAt
            self.windowSeconds = windowSeconds
        }

        package func start(_ seconds: Int64) -> Timestamp { self.measuredAt.adding(seconds: -seconds).startOfHour }
        package var hour: Timestamp { self.start(3600) }
        package var day: Timestamp { self.start(86_400) }
        package var week: Timestamp { self.start(7 * 86_400) }
        package var window: Timestamp { self.start(self.windowSeconds) }
        /// The day of the sketches.
        package var installs: Timestamp {
            max(
                self.measuredAt.adding(seconds: -self.windowSeconds).startOfDay,
                self.measuredAt.adding(seconds: -86_400).startOfDay)
        }
    }

    /// The sightings of one ``AdoptionKey``.
    package struct Line: Hashable, Sendable {
        package var key: AdoptionKey
        /// Requests in the last hour, day and seven days.
        package var hour: Int64 = 0
        package var day: Int64 = 0
        package var week: Int64 = 0
        /// In the window.
        package var window = AdoptionCount()

        package init(_ key: AdoptionKey) { self.key = key }

        package static func += (left: inout Line, right: Line) {
            left.hour += right.hour
            left.day += right.day
            left.week += right.week
            left.window += right.window
        }
    }

    /// The clients that hold a version.
    package struct Version: Hashable, Sendable {
        package var holding: AdoptionFacts.Holding
        package var hour: Int64 = 0
        package var day: Int64 = 0
        package var week: Int64 = 0
        /// Requests and reports in the window, the most frequent first; nil for clients that did not state it.
        package var platforms: [Part] = []
        package var releases: [Part] = []
    }

    /// How many of the sightings are named.
    package struct Part: Hashable, Sendable {
        package var name: String?
        package var sightings: Int64
    }

    package let app: AppID
    package let spans: Spans
    private var lines: [AdoptionKey: Line] = [:]
    /// The installs that stated an id, and those whose reports were signed.
    private var sketches: [HeldVersion: InstallSketch] = [:]
    private var signed: [HeldVersion: InstallSketch] = [:]

    package init(app: AppID, spans: Spans) {
        self.app = app
        self.spans = spans
    }

    package mutating func add(_ line: Line) { self.lines[line.key, default: Line(line.key)] += line }

    /// Takes in a stored count.
    package mutating func add(_ row: AdoptionTally.Row) {
        var line = Line(row.key)
        if row.hour >= self.spans.hour { line.hour = row.count.requests }
        if row.hour >= self.spans.day { line.day = row.count.requests }
        if row.hour >= self.spans.week { line.week = row.count.requests }
        if row.hour >= self.spans.window { line.window = row.count }
        if line != Line(row.key) { self.add(line) }
    }

    /// Takes in a stored sketch.
    package mutating func add(_ sketch: AdoptionTally.Sketch) {
        guard sketch.day == self.spans.installs else { return }
        self.add(sketch.sketch, sketch.held, isSigned: sketch.isSigned)
    }

    package mutating func add(_ sketch: InstallSketch, _ held: HeldVersion, isSigned: Bool) {
        if isSigned {
            self.signed[held, default: InstallSketch()].formUnion(sketch)
        } else {
            self.sketches[held, default: InstallSketch()].formUnion(sketch)
        }
    }

    // MARK: Reading

    /// The small form.
    package var facts: AdoptionFacts {
        AdoptionFacts(
            measuredAt: self.spans.measuredAt, windowSeconds: self.spans.windowSeconds,
            holdings: self.versions.map(\.holding), signed: SignedHoldings(self.signed))
    }

    /// Every version that was seen, the newest first.
    package var versions: [Version] {
        var versions: [HeldVersion: Version] = [:]
        var platforms: [HeldVersion: [String?: Int64]] = [:]
        var releases: [HeldVersion: [String?: Int64]] = [:]
        for line in self.lines.values {
            let held = line.key.held
            var version = versions[held] ?? Self.empty(held)
            version.hour += line.hour
            version.day += line.day
            version.week += line.week
            version.holding.count += line.window
            versions[held] = version
            guard line.window.sightings > 0 else { continue }
            platforms[held, default: [:]][line.key.platform?.rawValue, default: 0] += line.window.sightings
            let release = line.key.release == .unsaid ? nil : line.key.release.text
            releases[held, default: [:]][release, default: 0] += line.window.sightings
        }
        let all = self.sketches.values.reduce(into: InstallSketch()) { $0.formUnion($1) }
        for (held, sketch) in self.sketches {
            versions[held, default: Self.empty(held)].holding.installs = Int64(sketch.estimate.rounded())
        }
        var holders = InstallSketch()
        return versions.keys.sorted(by: >).compactMap { held in
            guard var version = versions[held] else { return nil }
            if let sketch = self.sketches[held] { holders.formUnion(sketch) }
            if !self.sketches.isEmpty { version.holding.comparison = InstallComparison(of: holders, in: all) }
            version.platforms = Self.ranked(platforms[held])
            version.releases = Self.ranked(releases[held])
            return version
        }
    }

    /// The kinds of devices seen in the window, by app version and platform, each with its sightings; devices of which
    /// neither is known are one kind.
    package var cohorts: [Population.Cohort] {
        var weights: [AdoptionKey: Int64] = [:]
        for line in self.lines.values where line.window.sightings > 0 {
            var key = line.key
            key.held = .unknown
            weights[key, default: 0] += line.window.sightings
        }
        let cohorts = weights.map { key, weight in
            var release: String?
            if case .release(let known) = key.release { release = known.description }
            return Population.Cohort(appVersion: release, platform: key.platform, weight: weight)
        }
        let ranked = cohorts.sorted {
            ($1.weight, $0.appVersion ?? "", $0.platform?.rawValue ?? "")
                < ($0.weight, $1.appVersion ?? "", $1.platform?.rawValue ?? "")
        }
        return Array(ranked.prefix(Population.cohortLimit))
    }

    private static func empty(_ held: HeldVersion) -> Version {
        Version(holding: AdoptionFacts.Holding(held: held, count: AdoptionCount()))
    }

    private static func ranked(_ counts: [String?: Int64]?) -> [Part] {
        (counts ?? [:]).map { Part(name: $0.key, sightings: $0.value) }
            .sorted { ($1.sightings, $0.name ?? "") < ($0.sightings, $1.name ?? "") }
    }
}

package import PinWire

/// Sightings of clients, counted in bounded memory until they are recorded: by app, hour and ``AdoptionKey``, and as
/// one sketch of installs for each app, day and version.
///
/// Clients can invent everything that they state, and each new combination takes memory here and a row in the database.
/// So an hour of an app takes a limited number of combinations, for as long as the hour lasts; further ones count with
/// the app version `other`, and impossible versions as one of them. Installs have room of their own (``InstallTally``),
/// signed ones separately from unsigned ones.
package struct AdoptionTally: Sendable {
    /// The limits of its memory.
    package struct Limits: Sendable {
        /// Combinations in one hour of one app.
        package var keysPerHour = 1024
        /// Combinations in all.
        package var keys = 131_072
        /// Versions in one hour of one app that are later than any existing one.
        package var aheadPerHour = 16
        /// Versions in one day of one app that have a sketch, signed and not.
        package var versionsPerDay = 64
        /// Sketches in all, of 2 KiB each, signed and not.
        package var sketches = 8192

        package init() {}
    }

    /// A count to be recorded.
    package struct Row: Hashable, Sendable {
        package var app: AppID
        /// When its hour begins.
        package var hour: Timestamp
        package var key: AdoptionKey
        package var count: AdoptionCount
    }

    /// A sketch to be recorded.
    package struct Sketch: Hashable, Sendable {
        package var app: AppID
        /// The beginning of the day (UTC) of its salt. It holds the sightings of that day and of the next, so that an
        /// install is known again from one day to the next, and after two is not.
        package var day: Timestamp
        package var held: HeldVersion
        /// Whether the installs showed that they are installs of the app.
        package var isSigned: Bool
        package var sketch: InstallSketch
    }

    private let limits: Limits
    /// By the beginning of the hour, and by app.
    private var counts: [Timestamp: [AppID: [AdoptionKey: AdoptionCount]]] = [:]
    /// The number of combinations with impossible versions.
    private var aheads: [Timestamp: [AppID: Int]] = [:]
    private var claimed: InstallTally
    private var signed: InstallTally
    private var keyCount = 0
    /// Sightings for which there was no room since the last ``takeDropped()``.
    private var dropped: Int64 = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        self.claimed = InstallTally(isSigned: false, versionsPerDay: limits.versionsPerDay, sketches: limits.sketches)
        self.signed = InstallTally(isSigned: true, versionsPerDay: limits.versionsPerDay, sketches: limits.sketches)
    }

    // MARK: Counting

    package mutating func add(_ count: AdoptionCount, _ key: AdoptionKey, of app: AppID, at time: Timestamp) {
        let hour = time.startOfHour
        if self.counts[hour]?[app]?[key] != nil {
            self.counts[hour]?[app]?[key]? += count
            return
        }
        if key.held.isAhead, key.held != .ahead(0) {
            guard self.aheads[hour]?[app] ?? 0 < self.limits.aheadPerHour else {
                return self.add(count, AdoptionKey(held: .ahead(0), release: .other), of: app, at: hour)
            }
            self.aheads[hour, default: [:]][app, default: 0] += 1
        }
        self.makeRoom(for: hour)
        let taken = self.counts[hour]?[app]?.count ?? 0
        // Some combinations without their app version fit in beyond the limit of an hour: versions are worth
        // distinguishing.
        let isLumped = key == key.lumped
        let limit = isLumped ? self.limits.keysPerHour * 5 / 4 : self.limits.keysPerHour
        guard taken < limit, self.keyCount < self.limits.keys else {
            if isLumped { self.dropped += count.sightings } else { self.add(count, key.lumped, of: app, at: hour) }
            return
        }
        self.counts[hour, default: [:]][app, default: [:]][key] = count
        self.keyCount += 1
    }

    /// The oldest hour gives way to a newer one: it is there only where nothing could be recorded for long.
    private mutating func makeRoom(for hour: Timestamp) {
        while self.keyCount >= self.limits.keys, let oldest = self.counts.keys.min(), oldest < hour {
            self.aheads[oldest] = nil
            for gone in (self.counts.removeValue(forKey: oldest) ?? [:]).values {
                self.keyCount -= gone.count
                self.dropped += gone.values.reduce(0) { $0 + $1.sightings }
            }
        }
    }

    /// - Parameter time: A time in the day whose salt hashed the install.
    package mutating func mark(
        _ install: InstallMark, _ held: HeldVersion, isSigned: Bool = false, of app: AppID, at time: Timestamp
    ) {
        if isSigned {
            self.signed.mark(install, held, of: app, on: time.startOfDay)
        } else {
            self.claimed.mark(install, held, of: app, on: time.startOfDay)
        }
    }

    // MARK: Recording

    /// All counts not taken before, which the caller now owns. Ended hours and days are forgotten; of the others the
    /// tally remembers their combinations.
    package mutating func take(at time: Timestamp) -> (rows: [Row], sketches: [Sketch]) {
        let rows = self.rows
        for (hour, apps) in self.counts {
            if hour < time.startOfHour {
                self.counts[hour] = nil
                self.aheads[hour] = nil
                self.keyCount -= apps.values.reduce(0) { $0 + $1.count }
            } else {
                self.counts[hour] = apps.mapValues { $0.mapValues { _ in AdoptionCount() } }
            }
        }
        // A day's sketches are added to for one day more.
        let oldest = time.startOfDay.adding(seconds: -86_400)
        return (rows, self.signed.take(from: oldest) + self.claimed.take(from: oldest))
    }

    /// Takes back counts that could not be recorded.
    package mutating func putBack(_ rows: [Row], _ sketches: [Sketch]) {
        for row in rows { self.add(row.count, row.key, of: row.app, at: row.hour) }
        for sketch in sketches {
            if sketch.isSigned { self.signed.putBack(sketch) } else { self.claimed.putBack(sketch) }
        }
    }

    /// The counts not taken yet.
    package var rows: [Row] {
        self.counts.flatMap { hour, apps in apps.flatMap { Self.rows(of: $0.key, hour, $0.value) } }
    }

    /// An app's counts not taken yet.
    package func rows(of app: AppID) -> [Row] {
        self.counts.flatMap { hour, apps in apps[app].map { Self.rows(of: app, hour, $0) } ?? [] }
    }

    private static func rows(of app: AppID, _ hour: Timestamp, _ counts: [AdoptionKey: AdoptionCount]) -> [Row] {
        counts.filter { $0.value != AdoptionCount() }
            .map { Row(app: app, hour: hour, key: $0.key, count: $0.value) }
    }

    /// The sketches of an app, taken or not.
    package func sketches(of app: AppID) -> [Sketch] { self.signed.sketches(of: app) + self.claimed.sketches(of: app) }

    /// How many sightings found no room since this was last asked.
    package mutating func takeDropped() -> Int64 {
        defer { self.dropped = 0 }
        return self.dropped + self.signed.takeDropped() + self.claimed.takeDropped()
    }
}

extension Timestamp {
    /// When the hour of this time began.
    package var startOfHour: Timestamp { self.start(of: 3600) }
    /// When the day (UTC) of this time began.
    package var startOfDay: Timestamp { self.start(of: 86_400) }

    private func start(of seconds: Int64) -> Timestamp {
        let time = self.seconds
        return Timestamp(seconds: time - ((time % seconds) + seconds) % seconds)
    }
}

package import PinWire

/// Clients seen, counted in bounded memory until they are recorded: by app, hour and ``AdoptionKey``, and as one sketch
/// of installs for each app, day and version.
///
/// Everything a client says can be made up, and each new combination takes memory here and a row in the database. So an
/// hour of an app takes so many combinations and no more, for as long as the hour lasts; what is beyond is counted as
/// of app version `other`. An install for whose version there is no room counts for the next lower version that has
/// one: too little is claimed of it, never too much.
package struct AdoptionTally: Sendable {
    /// What bounds it.
    package struct Limits: Sendable {
        /// Combinations in one hour of one app.
        package var keysPerHour = 1024
        /// Combinations in all.
        package var keys = 131_072
        /// Versions in one day of one app that have a sketch.
        package var versionsPerDay = 64
        /// Sketches in all, of 2 KiB each.
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
        /// When its day (UTC) begins.
        package var day: Timestamp
        package var held: HeldVersion
        package var sketch: InstallSketch
    }

    private let limits: Limits
    /// By the beginning of the hour, and by app.
    private var counts: [Timestamp: [AppID: [AdoptionKey: AdoptionCount]]] = [:]
    /// By the beginning of the day, and by app.
    private var sketches: [Timestamp: [AppID: [HeldVersion: (sketch: InstallSketch, isChanged: Bool)]]] = [:]
    private var keyCount = 0
    private var sketchCount = 0
    /// Sightings and installs for which there was no room since the last ``takeDropped()``.
    private var dropped: Int64 = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    // MARK: Counting

    package mutating func add(_ count: AdoptionCount, _ key: AdoptionKey, of app: AppID, at time: Timestamp) {
        let hour = time.startOfHour
        if self.counts[hour]?[app]?[key] != nil {
            self.counts[hour]?[app]?[key]? += count
            return
        }
        self.makeRoom(for: hour)
        let taken = self.counts[hour]?[app]?.count ?? 0
        // Some lumped ones fit in beyond the limit of an hour: versions are worth telling apart.
        let isLumped = key == key.lumped
        let limit = isLumped ? self.limits.keysPerHour * 5 / 4 : self.limits.keysPerHour
        guard taken < limit, self.keyCount < self.limits.keys else {
            if isLumped { self.dropped += count.sightings } else { self.add(count, key.lumped, of: app, at: hour) }
            return
        }
        self.counts[hour, default: [:]][app, default: [:]][key] = count
        self.keyCount += 1
    }

    /// The oldest hour goes where a newer one needs its room: it is there only where nothing could be recorded for long.
    private mutating func makeRoom(for hour: Timestamp) {
        while self.keyCount >= self.limits.keys, let oldest = self.counts.keys.min(), oldest < hour {
            for gone in (self.counts.removeValue(forKey: oldest) ?? [:]).values {
                self.keyCount -= gone.count
                self.dropped += gone.values.reduce(0) { $0 + $1.sightings }
            }
        }
    }

    package mutating func mark(_ install: InstallMark, _ held: HeldVersion, of app: AppID, at time: Timestamp) {
        let day = time.startOfDay
        var held = held
        let known = self.sketches[day]?[app]?.count ?? 0
        if self.sketches[day]?[app]?[held] == nil {
            if known < self.limits.versionsPerDay, self.sketchCount < self.limits.sketches {
                self.sketches[day, default: [:]][app, default: [:]][held] = (InstallSketch(), false)
                self.sketchCount += 1
            } else if let lower = self.sketches[day]?[app]?.keys.filter({ $0 < held }).max() {
                held = lower
            } else {
                self.dropped += 1
                return
            }
        }
        if self.sketches[day]?[app]?[held]?.sketch.insert(install) == true {
            self.sketches[day]?[app]?[held]?.isChanged = true
        }
    }

    // MARK: Recording

    /// Everything that was not taken before, which is from here on the taker's. What belongs to hours and days that are
    /// over is forgotten; of the others is remembered which combinations there are.
    package mutating func take(at time: Timestamp) -> (rows: [Row], sketches: [Sketch]) {
        let rows = self.rows
        var sketches: [Sketch] = []
        for (hour, apps) in self.counts {
            if hour < time.startOfHour {
                self.counts[hour] = nil
                self.keyCount -= apps.values.reduce(0) { $0 + $1.count }
            } else {
                self.counts[hour] = apps.mapValues { $0.mapValues { _ in AdoptionCount() } }
            }
        }
        for (day, apps) in self.sketches {
            for (app, versions) in apps {
                for (held, entry) in versions where entry.isChanged {
                    sketches.append(Sketch(app: app, day: day, held: held, sketch: entry.sketch))
                    self.sketches[day]?[app]?[held]?.isChanged = false
                }
            }
            if day < time.startOfDay {
                self.sketches[day] = nil
                self.sketchCount -= apps.values.reduce(0) { $0 + $1.count }
            }
        }
        return (rows, sketches)
    }

    /// Takes back what could not be recorded.
    package mutating func putBack(_ rows: [Row], _ sketches: [Sketch]) {
        for row in rows { self.add(row.count, row.key, of: row.app, at: row.hour) }
        for sketch in sketches {
            let (day, app, held) = (sketch.day, sketch.app, sketch.held)
            if self.sketches[day]?[app]?[held] != nil {
                self.sketches[day]?[app]?[held]?.sketch.formUnion(sketch.sketch)
                self.sketches[day]?[app]?[held]?.isChanged = true
            } else if self.sketchCount < self.limits.sketches {
                self.sketches[day, default: [:]][app, default: [:]][held] = (sketch.sketch, true)
                self.sketchCount += 1
            } else {
                self.dropped += 1
            }
        }
    }

    /// What is counted and not taken.
    package var rows: [Row] {
        self.counts.flatMap { hour, apps in apps.flatMap { Self.rows(of: $0.key, hour, $0.value) } }
    }

    /// What is counted of an app and not taken.
    package func rows(of app: AppID) -> [Row] {
        self.counts.flatMap { hour, apps in apps[app].map { Self.rows(of: app, hour, $0) } ?? [] }
    }

    private static func rows(of app: AppID, _ hour: Timestamp, _ counts: [AdoptionKey: AdoptionCount]) -> [Row] {
        counts.filter { $0.value != AdoptionCount() }
            .map { Row(app: app, hour: hour, key: $0.key, count: $0.value) }
    }

    /// The sketches of an app, taken or not.
    package func sketches(of app: AppID) -> [Sketch] {
        self.sketches.flatMap { day, apps in
            (apps[app] ?? [:]).map { Sketch(app: app, day: day, held: $0.key, sketch: $0.value.sketch) }
        }
    }

    /// How much found no room since this was asked last.
    package mutating func takeDropped() -> Int64 {
        defer { self.dropped = 0 }
        return self.dropped
    }
}

extension Timestamp {
    /// When the hour began that this time is in.
    package var startOfHour: Timestamp { self.start(of: 3600) }
    /// When the day (UTC) began that this time is in.
    package var startOfDay: Timestamp { self.start(of: 86_400) }

    private func start(of seconds: Int64) -> Timestamp {
        let time = self.seconds
        return Timestamp(seconds: time - ((time % seconds) + seconds) % seconds)
    }
}

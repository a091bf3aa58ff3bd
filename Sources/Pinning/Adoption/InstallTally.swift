import PinWire

/// Sketches of the installs that were seen with a version, in bounded memory until they are recorded.
///
/// A day of an app has a limited number of versions with a sketch. An install for whose version there is no room counts
/// for the next lower version that has one: that claims too little, never too much. Signed installs have a tally of
/// their own: invented ones take none of their room.
struct InstallTally: Sendable {
    private struct Entry: Sendable {
        var sketch = InstallSketch()
        var isChanged = false
    }

    private let isSigned: Bool
    private let versionsPerDay: Int
    private let limit: Int
    /// By the beginning of the day, and by app.
    private var entries: [Timestamp: [AppID: [HeldVersion: Entry]]] = [:]
    private var count = 0
    /// Installs for which there was no room since the last ``takeDropped()``.
    private var dropped: Int64 = 0

    init(isSigned: Bool, versionsPerDay: Int, sketches: Int) {
        self.isSigned = isSigned
        self.versionsPerDay = versionsPerDay
        self.limit = sketches
    }

    mutating func mark(_ install: InstallMark, _ held: HeldVersion, of app: AppID, on day: Timestamp) {
        var held = held
        let known = self.entries[day]?[app]?.count ?? 0
        if self.entries[day]?[app]?[held] == nil {
            if known < self.versionsPerDay, self.count < self.limit {
                self.entries[day, default: [:]][app, default: [:]][held] = Entry()
                self.count += 1
            } else if let lower = self.entries[day]?[app]?.keys.filter({ $0 < held }).max() {
                held = lower
            } else {
                self.dropped += 1
                return
            }
        }
        if self.entries[day]?[app]?[held]?.sketch.insert(install) == true {
            self.entries[day]?[app]?[held]?.isChanged = true
        }
    }

    /// The changes since they were last taken. Days before `oldest` are forgotten then.
    mutating func take(from oldest: Timestamp) -> [AdoptionTally.Sketch] {
        var taken: [AdoptionTally.Sketch] = []
        for (day, apps) in self.entries {
            for (app, versions) in apps {
                for (held, entry) in versions where entry.isChanged {
                    taken.append(self.sketch(app, day, held, entry))
                    self.entries[day]?[app]?[held]?.isChanged = false
                }
            }
            if day < oldest {
                self.entries[day] = nil
                self.count -= apps.values.reduce(0) { $0 + $1.count }
            }
        }
        return taken
    }

    /// Takes back sketches that could not be recorded.
    mutating func putBack(_ sketch: AdoptionTally.Sketch) {
        let (day, app, held) = (sketch.day, sketch.app, sketch.held)
        if self.entries[day]?[app]?[held] != nil {
            self.entries[day]?[app]?[held]?.sketch.formUnion(sketch.sketch)
            self.entries[day]?[app]?[held]?.isChanged = true
        } else if self.count < self.limit {
            self.entries[day, default: [:]][app, default: [:]][held] = Entry(sketch: sketch.sketch, isChanged: true)
            self.count += 1
        } else {
            self.dropped += 1
        }
    }

    /// The sketches of an app, taken or not.
    func sketches(of app: AppID) -> [AdoptionTally.Sketch] {
        self.entries.flatMap { day, apps in (apps[app] ?? [:]).map { self.sketch(app, day, $0.key, $0.value) } }
    }

    private func sketch(_ app: AppID, _ day: Timestamp, _ held: HeldVersion, _ entry: Entry) -> AdoptionTally.Sketch {
        AdoptionTally.Sketch(app: app, day: day, held: held, isSigned: self.isSigned, sketch: entry.sketch)
    }

    mutating func takeDropped() -> Int64 {
        defer { self.dropped = 0 }
        return self.dropped
    }
}

import Logging
import PinWire
import Pinning
import Synchronization

/// Finds apps that are counted far more often in an hour than before. Nothing is refused because of it: the log warns.
struct SurgeWatch: Sendable {
    private var hour = Timestamp(seconds: 0)
    /// This node's counts in the hour, by app: existing apps only.
    private var seen: [AppID: Int64] = [:]
    /// The counts of the busiest hour before, of the apps examined in this one.
    private var usual: [AppID: Int64] = [:]
    private var told: Set<AppID> = []

    mutating func add(_ seen: [AppID: Int64], at time: Timestamp) {
        if self.hour != time.startOfHour { self = SurgeWatch(hour: time.startOfHour) }
        self.seen.merge(seen, uniquingKeysWith: +)
    }

    init(hour: Timestamp = Timestamp(seconds: 0)) { self.hour = hour }

    /// The apps whose counts are so high that the earlier counts are needed.
    var unknown: [AppID] {
        self.seen.filter { $0.value >= AdoptionSurge.least && self.usual[$0.key] == nil }.map(\.key).sorted()
    }

    mutating func learn(_ usual: Int64, of app: AppID) { self.usual[app] = usual }

    /// The week before the examined hour.
    var before: Range<Timestamp> { self.hour.adding(seconds: -7 * 86_400)..<self.hour }

    /// The surges not yet reported in this hour.
    mutating func takeNew() -> [AppID: AdoptionSurge] {
        var new: [AppID: AdoptionSurge] = [:]
        for (app, usual) in self.usual where !self.told.contains(app) {
            let surge = AdoptionSurge(hour: self.hour, sightings: self.seen[app] ?? 0, usual: usual)
            guard surge.isOne else { continue }
            self.told.insert(app)
            new[app] = surge
        }
        return new
    }
}

/// The surges of the last day that a node has found.
final class KnownSurges: Sendable {
    private let surges = Mutex<[AppID: AdoptionSurge]>([:])

    func surge(of app: AppID) -> AdoptionSurge? { self.surges.withLock { $0[app] } }

    func add(_ new: [AppID: AdoptionSurge], at now: Timestamp) {
        self.surges.withLock { surges in
            surges = surges.filter { now < $0.value.hour.adding(seconds: 86_400) }
            surges.merge(new) { $1 }
        }
    }
}

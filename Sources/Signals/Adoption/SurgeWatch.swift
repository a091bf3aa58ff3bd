import Logging
import PinWire
import Pinning
import Synchronization

/// Looks for apps of which far more is counted in an hour than before. Nothing is refused because of it: somebody is told.
struct SurgeWatch: Sendable {
    private var hour = Timestamp(seconds: 0)
    /// What this node counted in the hour, by app: only of apps that there are.
    private var seen: [AppID: Int64] = [:]
    /// What was counted in the busiest hour before, of those that were looked at in this one.
    private var usual: [AppID: Int64] = [:]
    private var told: Set<AppID> = []

    mutating func add(_ seen: [AppID: Int64], at time: Timestamp) {
        if self.hour != time.startOfHour { self = SurgeWatch(hour: time.startOfHour) }
        self.seen.merge(seen, uniquingKeysWith: +)
    }

    init(hour: Timestamp = Timestamp(seconds: 0)) { self.hour = hour }

    /// Apps of which so much was counted that it is to be known how much there was before.
    var unknown: [AppID] {
        self.seen.filter { $0.value >= AdoptionSurge.least && self.usual[$0.key] == nil }.map(\.key).sorted()
    }

    mutating func learn(_ usual: Int64, of app: AppID) { self.usual[app] = usual }

    /// The week before the hour that is looked at.
    var before: Range<Timestamp> { self.hour.adding(seconds: -7 * 86_400)..<self.hour }

    /// The surges that were not told of in this hour.
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

/// The surges of the last day that a node has found, for whoever asks.
final class SurgeBook: Sendable {
    private let surges = Mutex<[AppID: AdoptionSurge]>([:])

    func surge(of app: AppID) -> AdoptionSurge? { self.surges.withLock { $0[app] } }

    func add(_ new: [AppID: AdoptionSurge], at now: Timestamp) {
        self.surges.withLock { surges in
            surges = surges.filter { now < $0.value.hour.adding(seconds: 86_400) }
            surges.merge(new) { $1 }
        }
    }
}

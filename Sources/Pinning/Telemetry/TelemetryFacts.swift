package import PinWire

/// The reports of an app's clients about their TLS connections over a window of time: the small form for rules.
///
/// The unit is a distinct install per host, arm and document version in one hour, and its outcome is the first that it
/// reported in that hour: a failing client retries, and its retries are no further failures.
package struct TelemetryFacts: Hashable, Sendable {
    package var measuredAt: Timestamp
    package var cells: [OutcomeCell]

    package init(measuredAt: Timestamp, cells: [OutcomeCell]) {
        self.measuredAt = measuredAt
        self.cells = cells
    }
}

/// The reports about one host, one arm and one version of the document.
package struct OutcomeCell: Hashable, Sendable {
    package var host: HostPattern
    /// Nil where the clients did not state it.
    package var arm: PolicySlot?
    /// The version of the document that the clients held; 0 where they did not state it.
    package var version: Int64
    /// Whether the reports were signed with a key of the app. Unsigned ones are a cell of their own, and advisory:
    /// anyone can make them.
    package var isAuthenticated: Bool
    /// Ascending, only minutes with reports; for rules at most ``minuteLimit``.
    package var minutes: [OutcomeMinute]
    /// The networks of failing installs, the one with the most of them first, at most ``networkLimit``.
    package var networks: [NetworkShare]
    /// Distinct networks among failing installs.
    package var networkCount: Int
    /// By the app's own version, the most installs first, at most ``releaseLimit``.
    package var releases: [ReleaseShare]
    /// The keys that failing clients report as presented, the most frequent first, at most ``pinLimit``.
    package var servedPins: [Pin]
    /// Over the whole window. In an hour in which more installs report than are counted exactly, those of a sample that
    /// their hashes draw, the same for every host, arm and version: counts compare, and claim no more evidence than
    /// there is.
    package var installs: Int
    /// Those of them whose first outcome was a failure.
    package var failing: Int

    package static let minuteLimit = 1440
    package static let networkLimit = 32
    package static let releaseLimit = 32
    package static let pinLimit = 8

    package init(
        host: HostPattern, arm: PolicySlot?, version: Int64, isAuthenticated: Bool, minutes: [OutcomeMinute] = [],
        networks: [NetworkShare] = [], networkCount: Int = 0, releases: [ReleaseShare] = [], servedPins: [Pin] = [],
        installs: Int = 0, failing: Int = 0
    ) {
        self.host = host
        self.arm = arm
        self.version = version
        self.isAuthenticated = isAuthenticated
        self.minutes = minutes
        self.networks = networks
        self.networkCount = networkCount
        self.releases = releases
        self.servedPins = servedPins
        self.installs = installs
        self.failing = failing
    }

    /// The approximate number of installs that reported in the hour with the most, samples scaled up.
    package var largestHour: Int { self.minutes.largestHour }
}

/// The installs that reported for the first time in their hour in one minute.
package struct OutcomeMinute: Hashable, Sendable {
    /// When it began.
    package var minute: Timestamp
    package var installs: Int
    package var failing: Int
    /// How many installs each counted one stands for: more than one in an hour with a sample.
    package var oneIn: Int
    /// The installs by network, each a keyed hash that distinguishes networks within a day (UTC); empty where reports
    /// are signed, which count wherever they come from.
    package var origins: [UInt32: Int]

    package init(minute: Timestamp, installs: Int, failing: Int, oneIn: Int = 1, origins: [UInt32: Int] = [:]) {
        self.minute = minute
        self.installs = installs
        self.failing = failing
        self.oneIn = oneIn
        self.origins = origins
    }
}

extension [OutcomeMinute] {
    /// The approximate number of installs in the hour with the most, samples scaled up: within an hour none counts
    /// twice.
    package var largestHour: Int {
        var hours: [Int64: Int] = [:]
        for minute in self { hours[minute.minute.seconds / 3600, default: 0] += minute.installs * minute.oneIn }
        return hours.values.max() ?? 0
    }

    /// The same where no network counts for more than so many installs: those of unknown networks count as one network.
    package func largestHour(ofOneNetworkAtMost limit: Int) -> Int {
        var hours: [Int64: [UInt32?: Int]] = [:]
        for minute in self {
            let hour = minute.minute.seconds / 3600
            for (network, installs) in minute.origins {
                hours[hour, default: [:]][network, default: 0] += installs * minute.oneIn
            }
            let unknown = minute.installs - minute.origins.values.reduce(0, +)
            if unknown > 0 { hours[hour, default: [:]][nil, default: 0] += unknown * minute.oneIn }
        }
        return hours.values.map { $0.values.reduce(0) { $0 + Swift.min($1, limit) } }.max() ?? 0
    }
}

/// The failing installs of one network.
package struct NetworkShare: Hashable, Sendable {
    /// A keyed hash of the network, only useful for telling networks apart.
    package var network: String
    package var failing: Int

    package init(network: String, failing: Int) {
        self.network = network
        self.failing = failing
    }
}

/// The installs of one version of the app.
package struct ReleaseShare: Hashable, Sendable {
    package var release: AdoptionKey.Release
    package var installs: Int
    package var failing: Int

    package init(release: AdoptionKey.Release, installs: Int, failing: Int) {
        self.release = release
        self.installs = installs
        self.failing = failing
    }
}

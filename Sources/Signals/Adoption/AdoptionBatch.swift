package import PinWire
package import Pinning

/// The counts of one event loop since it last handed them over. Apps are named by their indices in ``AdoptionIntake``.
package struct AdoptionBatch: Sendable {
    /// The two most frequent cases, for one version: the sender holds it, or has nothing.
    package struct Steady: Sendable {
        package var index: Int
        package var version: Int64
        package var holding: Int64
        package var empty: Int64

        package init(index: Int, version: Int64, holding: Int64, empty: Int64) {
            self.index = index
            self.version = version
            self.holding = holding
            self.empty = empty
        }
    }

    /// All other keys by which requests are counted.
    package struct Kind: Hashable, Sendable {
        package var index: Int
        package var key: AdoptionKey
    }

    /// An install that was seen with a version.
    package struct Install: Sendable {
        package var index: Int
        package var held: HeldVersion
        package var mark: DatedMark
        package var isSigned: Bool
    }

    package var steady: [Steady] = []
    package private(set) var kinds: [Kind: AdoptionCount] = [:]
    package private(set) var installs: [Install] = []

    package init() {}

    package var isEmpty: Bool { self.steady.isEmpty && self.kinds.isEmpty }

    /// All counts of the batch.
    var sightings: Int64 {
        self.steady.reduce(0) { $0 + $1.holding + $1.empty } + self.kinds.values.reduce(0) { $0 + $1.sightings }
    }

    /// Whether it should be handed over before anything is added.
    package var isFull: Bool { self.kinds.count >= 1024 || self.installs.count >= 2048 }

    package mutating func add(_ sighting: AdoptionSighting) {
        self.kinds[Kind(index: sighting.index, key: sighting.key), default: AdoptionCount()] += sighting.count
        // No client holds a version that does not exist, so such a statement is not counted.
        guard !sighting.key.held.isAhead else { return }
        for mark in sighting.marks {
            self.installs.append(
                Install(index: sighting.index, held: sighting.key.held, mark: mark, isSigned: sighting.isSigned))
        }
    }
}

/// The hash of an install id with the salt of a day.
package struct DatedMark: Hashable, Sendable {
    /// The day (UTC).
    package var day: Timestamp
    package var mark: InstallMark
}

/// A client that was seen once.
package struct AdoptionSighting: Sendable {
    /// The app's index in ``AdoptionIntake``.
    package var index: Int
    package var key: AdoptionKey
    /// With the salts of the day and of the day before, so that the install is known again tomorrow; none where it
    /// stated no id, or the node has no salts.
    package var marks: [DatedMark]
    /// Whether it showed that it is a client of the app.
    package var isSigned: Bool
    package var count: AdoptionCount
}

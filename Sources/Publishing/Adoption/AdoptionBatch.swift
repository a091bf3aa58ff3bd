package import Pinning

/// What one event loop has counted since it handed over last. Apps are named by their places in ``AdoptionIntake``.
package struct AdoptionBatch: Sendable {
    /// The two cases that nearly all requests are, of one version: the sender holds it, or has nothing.
    package struct Steady: Sendable {
        package var place: Int
        package var version: Int64
        package var holding: Int64
        package var empty: Int64

        package init(place: Int, version: Int64, holding: Int64, empty: Int64) {
            self.place = place
            self.version = version
            self.holding = holding
            self.empty = empty
        }
    }

    /// Everything else that requests are counted by.
    package struct Kind: Hashable, Sendable {
        package var place: Int
        package var key: AdoptionKey
    }

    /// An install that was seen with a version.
    package struct Install: Sendable {
        package var place: Int
        package var held: HeldVersion
        package var mark: InstallMark
    }

    package var steady: [Steady] = []
    package private(set) var kinds: [Kind: AdoptionCount] = [:]
    package private(set) var installs: [Install] = []

    package init() {}

    package var isEmpty: Bool { self.steady.isEmpty && self.kinds.isEmpty }

    /// Whether it should be handed over before anything is added.
    package var isFull: Bool { self.kinds.count >= 1024 || self.installs.count >= 1024 }

    package mutating func add(_ sighting: AdoptionSighting) {
        self.kinds[Kind(place: sighting.place, key: sighting.key), default: AdoptionCount()] += sighting.count
        guard let mark = sighting.mark else { return }
        self.installs.append(Install(place: sighting.place, held: sighting.key.held, mark: mark))
    }
}

/// A client that was seen once.
package struct AdoptionSighting: Sendable {
    /// Of its app in ``AdoptionIntake``.
    package var place: Int
    package var key: AdoptionKey
    package var mark: InstallMark?
    package var count: AdoptionCount
}

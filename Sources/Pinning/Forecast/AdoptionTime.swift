import PinWire

/// How long clients take to hold a new document, as far as it was measured: between two bounds, in seconds.
///
/// One moment tells, for each version of the document that pins or the last change are of, which share holds it by now: a version that the
/// wanted share holds was taken over within its age, and one that it does not hold takes longer than its age.
package struct AdoptionTime: Hashable, Sendable {
    package let atLeast: Int64
    /// Nil where no version is held by so many.
    package let atMost: Int64?

    /// The share of clients that is waited for: 99 %.
    package static let basisPoints = 9_900

    package init(atLeast: Int64, atMost: Int64?) {
        self.atLeast = atLeast
        self.atMost = atMost
    }

    /// - Parameters:
    ///   - points: Versions of the document, and when each was published.
    ///   - share: The share of clients that holds a version or a newer one; nil where it is unknown.
    init(_ points: [(version: Int64, since: Timestamp)], at now: Timestamp, share: (Int64) -> AdoptionShare?) {
        var (atLeast, atMost) = (Int64(0), Int64?.none)
        for point in points {
            let age = max(0, now.seconds - point.since.seconds)
            guard let share = share(point.version) else { continue }
            // The lower bound of the share: few clients prove little.
            if share.lowerBasisPoints >= Self.basisPoints {
                atMost = min(atMost ?? age, age)
            } else if share.upperBasisPoints < Self.basisPoints {
                atLeast = max(atLeast, age)
            }
        }
        // An older version that is held by fewer than a newer one is an effect of the measurement.
        self.init(atLeast: min(atLeast, atMost ?? atLeast), atMost: atMost)
    }
}

package import PinWire
import Pinning
import Synchronization

/// Where the event loops, and whoever else sees a client, leave what they have counted. Never waits for anything, and
/// holds so much and no more: what comes faster than ``AdoptionRecorder`` takes it away is not counted.
package final class AdoptionIntake: Sendable {
    private struct Content {
        var places: [AppID: Int] = [:]
        var apps: [AppID] = []
        var batches: [AdoptionBatch] = []
        /// From those who count too little for a batch of their own.
        var single = AdoptionBatch()
        var lost: Int64 = 0
    }

    private let content = Mutex(Content())
    /// What install ids are hashed with.
    private let salt: [UInt8]
    private let signal = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private static let batchLimit = 256

    init(salt: [UInt8]) { self.salt = salt }

    // MARK: Seeing

    /// The place of an app, for good. Only for apps that there are: places are never given back.
    package func place(of app: AppID) -> Int {
        self.content.withLock { content in
            if let place = content.places[app] { return place }
            content.places[app] = content.apps.count
            content.apps.append(app)
            return content.apps.count - 1
        }
    }

    /// Reads a request for a document.
    ///
    /// - Parameters:
    ///   - place: The app's.
    ///   - version: Of the app's current document. Nobody holds a newer one, whatever they say.
    ///   - isCurrent: Whether `condition` names it.
    ///   - condition: The value of `If-None-Match`.
    ///   - report: The value of `Pinledger-Client`.
    package func sighting(
        at place: Int, current version: Int64, isCurrent: Bool, condition: String?, report: String?
    ) -> AdoptionSighting {
        let report = report.flatMap(ClientReport.init(field:)) ?? ClientReport()
        let held: HeldVersion =
            if let claimed = report.version {
                HeldVersion(claimed: claimed)
            } else if let condition {
                // `*` is whatever there is.
                if isCurrent, condition.utf8.count > 1 {
                    .document(version)
                } else {
                    DocumentTag.newestVersion(in: condition).map(HeldVersion.document) ?? .unknown
                }
            } else {
                .nothing
            }
        return self.sighting(at: place, held.atMost(version), report, AdoptionCount(requests: 1))
    }

    private func sighting(
        at place: Int, _ held: HeldVersion, _ report: ClientReport, _ count: AdoptionCount
    ) -> AdoptionSighting {
        var count = count
        let mark = report.install.map { install in
            InstallMark(install, of: self.content.withLock { $0.apps[place] }, salt: self.salt)
        }
        if mark != nil { count.identified = 1 }
        return AdoptionSighting(
            place: place,
            key: AdoptionKey(
                held: held, release: report.release.map(AdoptionKey.Release.release) ?? .unsaid,
                platform: report.platform),
            mark: mark, count: count
        )
    }

    /// Counts what a client has reported elsewhere than with a request for the document.
    ///
    /// - Parameter version: Of the app's current document.
    func note(_ report: ClientReport, of app: AppID, current version: Int64) {
        let held = report.version.map(HeldVersion.init(claimed:)) ?? .unknown
        self.count(
            self.sighting(at: self.place(of: app), held.atMost(version), report, AdoptionCount(reports: 1)))
    }

    // MARK: Handing over

    package func count(_ sighting: AdoptionSighting) {
        self.content.withLock { content in
            if content.single.isFull { content.lost += 1 } else { content.single.add(sighting) }
        }
        self.signal.continuation.yield()
    }

    package func take(_ batch: AdoptionBatch) {
        self.content.withLock { content in
            if content.batches.count < Self.batchLimit {
                content.batches.append(batch)
            } else {
                content.lost += batch.steady.reduce(0) { $0 + $1.holding + $1.empty }
                content.lost += batch.kinds.values.reduce(0) { $0 + $1.sightings }
            }
        }
        self.signal.continuation.yield()
    }

    // MARK: Taking away

    /// Something came.
    var arrivals: AsyncStream<Void> { self.signal.stream }

    /// Adds everything that came to a tally.
    ///
    /// - Returns: How many sightings found no room here.
    func empty(into tally: inout AdoptionTally, at time: Timestamp) -> Int64 {
        let (batches, apps, lost) = self.content.withLock { content in
            defer {
                content.batches = []
                content.single = AdoptionBatch()
                content.lost = 0
            }
            return (content.batches + [content.single], content.apps, content.lost)
        }
        for batch in batches {
            for steady in batch.steady {
                let app = apps[steady.place]
                if steady.holding > 0 {
                    tally.add(
                        AdoptionCount(requests: steady.holding), AdoptionKey(held: .document(steady.version)), of: app,
                        at: time)
                }
                if steady.empty > 0 {
                    tally.add(AdoptionCount(requests: steady.empty), AdoptionKey(held: .nothing), of: app, at: time)
                }
            }
            for (kind, count) in batch.kinds { tally.add(count, kind.key, of: apps[kind.place], at: time) }
            for install in batch.installs { tally.mark(install.mark, install.held, of: apps[install.place], at: time) }
        }
        return lost
    }
}

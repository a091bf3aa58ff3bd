import Keys
package import PinWire
import Pinning
import Synchronization

/// Where the event loops, and all other code that sees a client, leave their counts. It never waits, and its memory is
/// bounded: counts that come faster than ``AdoptionRecorder`` takes them away are dropped.
package final class AdoptionIntake: Sendable {
    private struct Content {
        var indices: [AppID: Int] = [:]
        var apps: [AppID] = []
        var batches: [AdoptionBatch] = []
        /// The batches of signed reports: unsigned ones take none of their room.
        var signed: [AdoptionBatch] = []
        /// From callers that count too little for a batch of their own.
        var single = AdoptionBatch()
        var lost: Int64 = 0
    }

    private let content = Mutex(Content())
    /// The salts for install ids; nil where the node does not count installs.
    private let salts: DailySalts?
    private let clock: @Sendable () -> Timestamp
    private let signal = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private static let batchLimit = 256

    init(salts: DailySalts?, clock: @escaping @Sendable () -> Timestamp) {
        self.salts = salts
        self.clock = clock
    }

    // MARK: Seeing

    /// The index of an app, permanently. Only for existing apps: indices are never given back.
    package func index(of app: AppID) -> Int {
        self.content.withLock { content in
            if let index = content.indices[app] { return index }
            content.indices[app] = content.apps.count
            content.apps.append(app)
            return content.apps.count - 1
        }
    }

    /// Reads a request for a document.
    ///
    /// - Parameters:
    ///   - index: The app's index.
    ///   - version: The version of the app's current document. A statement to hold a newer one is counted apart.
    ///   - isCurrent: Whether `condition` names it.
    ///   - condition: The value of `If-None-Match`.
    ///   - report: The value of `Pinledger-Client`.
    package func sighting(
        at index: Int, current version: Int64, isCurrent: Bool, condition: String?, report: String?
    ) -> AdoptionSighting {
        let report = report.flatMap(ClientReport.init(field:)) ?? ClientReport()
        let held: HeldVersion =
            if let claimed = report.version {
                HeldVersion(claimed: claimed)
            } else if let condition {
                // `*` stands for any document.
                if isCurrent, condition.utf8.count > 1 {
                    .document(version)
                } else {
                    DocumentTag.newestVersion(in: condition).map(HeldVersion.document) ?? .unknown
                }
            } else {
                .nothing
            }
        return self.sighting(at: index, held.known(upTo: version), report, AdoptionCount(requests: 1))
    }

    private func sighting(
        at index: Int, _ held: HeldVersion, _ report: ClientReport, _ count: AdoptionCount, isSigned: Bool = false
    ) -> AdoptionSighting {
        var count = count
        var marks: [DatedMark] = []
        if let install = report.install, let salts = self.salts {
            count.identified = 1
            let app = self.content.withLock { $0.apps[index] }
            let today = self.clock().startOfDay
            marks = [today, today.adding(seconds: -DailySalts.daySeconds)].map {
                DatedMark(day: $0, mark: InstallMark(install, of: app, salt: salts.salt(at: $0)))
            }
        }
        return AdoptionSighting(
            index: index,
            key: AdoptionKey(
                held: held, release: report.release.map(AdoptionKey.Release.release) ?? .unsaid,
                platform: report.platform),
            marks: marks, isSigned: isSigned, count: count
        )
    }

    /// Counts clients' reports that came without a request for the document.
    ///
    /// - Parameters:
    ///   - version: The version of the app's current document.
    ///   - isSigned: Whether they showed that they are clients of the app.
    func note(_ reports: some Collection<ClientReport>, of app: AppID, current version: Int64, isSigned: Bool) {
        let index = self.index(of: app)
        var batch = AdoptionBatch()
        for report in reports {
            let held = report.version.map(HeldVersion.init(claimed:)) ?? .unknown
            batch.add(
                self.sighting(
                    at: index, held.known(upTo: version), report, AdoptionCount(reports: 1), isSigned: isSigned))
        }
        self.take(batch, isSigned: isSigned)
    }

    // MARK: Handing over

    /// Counts one sighting, in a batch that all callers share; drops it where that batch is full.
    package func count(_ sighting: AdoptionSighting) {
        self.content.withLock { content in
            if content.single.isFull { content.lost += 1 } else { content.single.add(sighting) }
        }
        self.signal.continuation.yield()
    }

    /// Takes over an event loop's counts; drops them where too many batches wait.
    package func take(_ batch: AdoptionBatch) { self.take(batch, isSigned: false) }

    private func take(_ batch: AdoptionBatch, isSigned: Bool) {
        self.content.withLock { content in
            if isSigned, content.signed.count < Self.batchLimit {
                content.signed.append(batch)
            } else if !isSigned, content.batches.count < Self.batchLimit {
                content.batches.append(batch)
            } else {
                content.lost += batch.sightings
            }
        }
        self.signal.continuation.yield()
    }

    // MARK: Taking away

    /// Counts have come.
    var arrivals: AsyncStream<Void> { self.signal.stream }

    /// Adds all counts to a tally.
    ///
    /// - Returns: The number of sightings of each app, and the number that found no room here.
    func empty(into tally: inout AdoptionTally, at time: Timestamp) -> (seen: [AppID: Int64], lost: Int64) {
        let (batches, apps, lost) = self.content.withLock { content in
            defer {
                content.batches = []
                content.signed = []
                content.single = AdoptionBatch()
                content.lost = 0
            }
            return (content.signed + content.batches + [content.single], content.apps, content.lost)
        }
        var seen: [AppID: Int64] = [:]
        for batch in batches {
            for steady in batch.steady {
                let app = apps[steady.index]
                seen[app, default: 0] += steady.holding + steady.empty
                if steady.holding > 0 {
                    tally.add(
                        AdoptionCount(requests: steady.holding), AdoptionKey(held: .document(steady.version)), of: app,
                        at: time)
                }
                if steady.empty > 0 {
                    tally.add(AdoptionCount(requests: steady.empty), AdoptionKey(held: .nothing), of: app, at: time)
                }
            }
            for (kind, count) in batch.kinds {
                seen[apps[kind.index], default: 0] += count.sightings
                tally.add(count, kind.key, of: apps[kind.index], at: time)
            }
            for install in batch.installs {
                tally.mark(
                    install.mark.mark, install.held, isSigned: install.isSigned, of: apps[install.index],
                    at: install.mark.day)
            }
        }
        return (seen, lost)
    }
}

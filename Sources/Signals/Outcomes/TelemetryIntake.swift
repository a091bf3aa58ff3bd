package import Keys
package import PinWire
import Pinning
import Postgres
import Synchronization

/// What became of a batch of reports.
package struct ReportReceipt: Hashable, Sendable {
    package var taken = 0
    /// Reports whose ids came before.
    package var duplicate = 0
    package var refusals: [ReportBatch.Refusal: Int] = [:]

    package init() {}

    package var refused: Int { self.refusals.values.reduce(0, +) }
}

/// What came to a node since it started.
package struct TelemetryCounts: Hashable, Sendable {
    package var batches: Int64 = 0
    package var taken: Int64 = 0
    package var duplicate: Int64 = 0
    package var refused: Int64 = 0
    /// Requests that were turned away because there were too many.
    package var turnedAway: Int64 = 0
    /// Reports that were taken and could not be recorded.
    package var lost: Int64 = 0
}

/// Where reports are left. Never waits for anything, and holds so much and no more.
package final class TelemetryIntake: Sendable {
    fileprivate struct Content {
        var tally: TelemetryTally
        /// Reports' ids, of those that were signed and of those that were not; and signatures. None crowds out another.
        var signed: RecentReports
        var unsigned: RecentReports
        var seals: RecentReports
        var counts = TelemetryCounts()

        init(limits: TelemetryTally.Limits, recent: RecentReports) {
            self.tally = TelemetryTally(limits: limits)
            (self.signed, self.unsigned, self.seals) = (recent, recent, recent)
        }
    }

    private let content: Mutex<Content>
    private let buckets: Mutex<NetworkBuckets>
    /// Apart from the rest: who is turned away waits for nobody who is not.
    private let turnedAway = Atomic<Int64>(0)
    private let salts: DailySalts?
    /// Of this process: what it limits networks by, and tells installs apart by where there are no other salts.
    private let ownSalt = Random.bytes(32)

    /// - Parameters:
    ///   - salts: What installs and networks are hashed with, the same on every node that has them. Nil for a node without
    ///     the key-encryption key: it takes all networks for one, so that nothing that waits for several goes by what it
    ///     counted, and tells installs apart from those of no other node.
    ///   - rate: Outcomes a second that one network may report; 0 for as many as come.
    ///   - recent: Ids, and signatures, that are remembered at least.
    package init(
        salts: DailySalts?, rate: Double, limits: TelemetryTally.Limits = .init(), recent: Int = RecentReports.usual
    ) {
        self.salts = salts
        self.content = Mutex(Content(limits: limits, recent: RecentReports(limit: recent)))
        self.buckets = Mutex(NetworkBuckets(rate: rate))
    }

    /// The network of an address of 4 or 16 bytes, as it is recorded at a time.
    package func network(of address: [UInt8], at time: Timestamp) -> CoarseNetwork {
        self.salts.map { CoarseNetwork(of: address, salt: $0.salt(at: time)) } ?? .untold
    }

    /// The network of an address of 4 or 16 bytes, as its reports are limited by: the same for as long as the process lasts,
    /// and recorded nowhere.
    package func bucket(of address: [UInt8]) -> CoarseNetwork { CoarseNetwork(of: address, salt: self.ownSalt) }

    /// Lets a network's request in, whatever it turns out to be; else says how many seconds it has to wait.
    ///
    /// - Parameter network: Of ``bucket(of:)``.
    package func admit(_ network: CoarseNetwork) -> Double? {
        let wait = self.buckets.withLock { buckets in
            let wait = buckets.wait(of: network.bits, at: .now)
            if wait == nil { buckets.charge(1, to: network.bits, at: .now) }
            return wait
        }
        if wait != nil { self.countTurnedAway() }
        return wait
    }

    /// Notes that a request was turned away.
    package func countTurnedAway() { self.turnedAway.add(1, ordering: .relaxed) }

    /// How a batch came.
    package struct Origin: Sendable {
        package var app: AppID
        package var hosts: ReportedHosts
        /// The app's version: nobody holds a newer document.
        package var version: Int64
        package var network: CoarseNetwork
        /// What its reports are limited by.
        package var bucket: CoarseNetwork
        /// What authenticates the batch; nil where nothing does.
        package var seal: [UInt8]?

        package init(
            app: AppID, hosts: ReportedHosts, version: Int64, network: CoarseNetwork, bucket: CoarseNetwork,
            seal: [UInt8]?
        ) {
            self.app = app
            self.hosts = hosts
            self.version = version
            self.network = network
            self.bucket = bucket
            self.seal = seal
        }
    }

    /// Counts a batch that was let in. The thread that does it gives way again and again.
    package func take(_ batch: ReportBatch, from origin: Origin, at time: Timestamp) -> ReportReceipt {
        ThreadExecutor.giveWay()
        let salt = self.salts?.salt(at: time) ?? self.ownSalt
        let outcomes = batch.outcomes.map { report in
            // Who has no id is told apart by where it is: too little is counted, never too much.
            let mark =
                report.install.map { InstallMark($0, of: origin.app, salt: salt) }
                ?? InstallMark(bits: UInt64(origin.network.bits) &* 0x9E37_79B9_7F4A_7C15)
            return (report: report, mark: mark, key: origin.hosts.key(of: report))
        }
        let total = batch.outcomes.count + batch.refusals.values.reduce(0, +)
        self.buckets.withLock { $0.charge(max(0, total - 1), to: origin.bucket.bits, at: .now) }
        let account = TelemetryTally.Account(app: origin.app, isAuthenticated: origin.seal != nil)
        return self.content.withLock { content in
            var receipt = ReportReceipt()
            receipt.refusals = batch.refusals
            // The same request once more, whoever sent it.
            let isReplay = origin.seal.map { !content.seals.insert($0, of: origin.app) } ?? false
            for (place, (report, mark, key)) in outcomes.enumerated() {
                if place.isMultiple(of: Self.takenAtOnce) { ThreadExecutor.giveWay() }
                guard let key else {
                    receipt.refusals[.hostUnknown, default: 0] += 1
                    continue
                }
                guard report.documentVersion <= origin.version else {
                    receipt.refusals[.versionUnknown, default: 0] += 1
                    continue
                }
                guard !isReplay, content.isNew(report, of: mark, by: account) else {
                    receipt.duplicate += 1
                    continue
                }
                if content.tally.add(
                    report, as: key, of: mark, in: origin.network.bits, by: account, newest: origin.version, at: time)
                {
                    receipt.taken += 1
                } else {
                    receipt.refusals[.noRoom, default: 0] += 1
                }
            }
            content.counts.batches += 1
            content.counts.taken += Int64(receipt.taken)
            content.counts.duplicate += Int64(receipt.duplicate)
            content.counts.refused += Int64(receipt.refused)
            return receipt
        }
    }

    /// Outcomes that are taken without giving way.
    private static let takenAtOnce = 32

    // MARK: Taking away

    /// What came to this node.
    package var counts: TelemetryCounts {
        var counts = self.content.withLock { $0.counts }
        counts.turnedAway = self.turnedAway.load(ordering: .relaxed)
        return counts
    }

    /// Everything that has changed since it was taken last, and how much could not be kept.
    func empty(at time: Timestamp) -> (rows: [TelemetryRow], lost: Int64) {
        let (taken, lost) = self.content.withLock { content in
            let taken = content.tally.take(at: time)
            let lost = content.tally.takeDropped()
            content.counts.lost += lost
            return (taken, lost)
        }
        // Nobody who reports waits for this.
        return (taken.map(\.row), lost)
    }

    func countLost(_ count: Int64) { self.content.withLock { $0.counts.lost += count } }
}

extension TelemetryIntake.Content {
    /// Whether a report did not come before. One without an id always did not: its install counts once an hour anyway.
    /// Ids are each install's own: many number their reports from one.
    mutating func isNew(
        _ report: OutcomeReport, of install: InstallMark, by account: TelemetryTally.Account
    ) -> Bool {
        guard let id = report.id else { return true }
        let name = ReportName(install: install, id: id)
        return account.isAuthenticated
            ? self.signed.insert(name, of: account.app) : self.unsigned.insert(name, of: account.app)
    }
}

/// What an install calls a report.
private struct ReportName: Hashable {
    var install: InstallMark
    var id: String
}

package import Keys
package import PinWire
import Pinning
import Postgres
import Synchronization

/// The result of a batch of reports.
package struct ReportReceipt: Hashable, Sendable {
    package var taken = 0
    /// Reports whose ids came before.
    package var duplicate = 0
    package var refusals: [ReportBatch.Refusal: Int] = [:]

    package init() {}

    package var refused: Int { self.refusals.values.reduce(0, +) }
}

/// A node's counts since it started.
package struct TelemetryCounts: Hashable, Sendable {
    package var batches: Int64 = 0
    package var taken: Int64 = 0
    package var duplicate: Int64 = 0
    package var refused: Int64 = 0
    /// Requests that were refused because there were too many.
    package var turnedAway: Int64 = 0
    /// Reports that were accepted and could not be recorded.
    package var lost: Int64 = 0
}

/// Where reports are left. It never waits, and its memory is bounded.
package final class TelemetryIntake: Sendable {
    fileprivate struct Content {
        var tally: TelemetryTally
        /// The ids of reports, of signed and of unsigned ones; and signatures. None displaces another kind.
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
    /// Under a lock of its own: a refused request does not wait for accepted ones.
    private let turnedAway = Atomic<Int64>(0)
    private let salts: DailySalts?
    /// The process's own key: it limits networks with it, and tells installs apart where there are no other salts.
    private let ownSalt = Random.bytes(32)

    /// - Parameters:
    ///   - salts: The salts for installs and networks, the same on every node that has them. Nil for a node without the
    ///     key-encryption key: it counts all networks as one, so that its counts never satisfy a rule that requires
    ///     several networks, and its installs never match those of another node.
    ///   - rate: Outcomes a second that one network may report; 0 for no limit.
    ///   - recent: The least number of ids, and of signatures, that are remembered.
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

    /// The network of an address of 4 or 16 bytes, for the limit on its reports: the same for as long as the process
    /// lives, and recorded nowhere.
    package func bucket(of address: [UInt8]) -> CoarseNetwork { CoarseNetwork(of: address, salt: self.ownSalt) }

    /// Accepts a network's request, whatever its content; otherwise returns how many seconds it has to wait.
    ///
    /// - Parameter network: The result of ``bucket(of:)``.
    package func admit(_ network: CoarseNetwork) -> Double? {
        let wait = self.buckets.withLock { buckets in
            let wait = buckets.wait(of: network.bits, at: .now)
            if wait == nil { buckets.charge(1, to: network.bits, at: .now) }
            return wait
        }
        if wait != nil { self.countTurnedAway() }
        return wait
    }

    /// Counts a refused request.
    package func countTurnedAway() { self.turnedAway.add(1, ordering: .relaxed) }

    /// The origin of a batch.
    package struct Origin: Sendable {
        package var app: AppID
        package var hosts: ReportedHosts
        /// The version of the app's document: no client holds a newer one.
        package var version: Int64
        package var network: CoarseNetwork
        /// The network by which its reports are limited.
        package var bucket: CoarseNetwork
        /// The key that authenticates the batch; nil where it is unsigned.
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

    /// Counts a batch that was accepted. The thread that does it yields again and again.
    package func take(_ batch: ReportBatch, from origin: Origin, at time: Timestamp) -> ReportReceipt {
        ThreadExecutor.giveWay()
        let salt = self.salts?.salt(at: time) ?? self.ownSalt
        let outcomes = batch.outcomes.map { report in
            // An install without an id is identified by its network: that counts too few, never too many.
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
            // The same request again, from any sender.
            let isReplay = origin.seal.map { !content.seals.insert($0, of: origin.app) } ?? false
            for (index, (report, mark, key)) in outcomes.enumerated() {
                if index.isMultiple(of: Self.takenAtOnce) { ThreadExecutor.giveWay() }
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

    /// The number of outcomes that are counted without yielding.
    private static let takenAtOnce = 32

    // MARK: Taking away

    /// This node's counts.
    package var counts: TelemetryCounts {
        var counts = self.content.withLock { $0.counts }
        counts.turnedAway = self.turnedAway.load(ordering: .relaxed)
        return counts
    }

    /// All changes since they were last taken, and the number of reports that could not be kept.
    func empty(at time: Timestamp) -> (rows: [TelemetryRow], lost: Int64) {
        let (taken, lost) = self.content.withLock { content in
            let taken = content.tally.take(at: time)
            let lost = content.tally.takeDropped()
            content.counts.lost += lost
            return (taken, lost)
        }
        // No reporting client waits for this.
        return (taken.map(\.row), lost)
    }

    func countLost(_ count: Int64) { self.content.withLock { $0.counts.lost += count } }
}

extension TelemetryIntake.Content {
    /// Whether a report did not come before. A report without an id always counts as new: its install counts once an
    /// hour anyway. Ids belong to the install: many number their reports from one.
    mutating func isNew(
        _ report: OutcomeReport, of install: InstallMark, by account: TelemetryTally.Account
    ) -> Bool {
        guard let id = report.id else { return true }
        let name = ReportName(install: install, id: id)
        return account.isAuthenticated
            ? self.signed.insert(name, of: account.app) : self.unsigned.insert(name, of: account.app)
    }
}

/// An install's id of a report.
private struct ReportName: Hashable {
    var install: InstallMark
    var id: String
}

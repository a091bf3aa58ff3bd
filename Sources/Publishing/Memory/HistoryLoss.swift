package import EventStore
package import PinWire
package import Pinning
import TransparencyLog

/// The difference between a verified ledger and what is known of it from outside the database: which events were lost, as
/// far as anything remembers them, and by how much versions have to be raised.
package struct HistoryLoss: Sendable {
    /// A source that the ledger does not go on from.
    package struct Contradiction: Sendable {
        package var source: String
        package var fault: LedgerFault
    }

    /// An app whose clients were served a version that the ledger has not reached.
    package struct Overtaken: Hashable, Sendable {
        package var app: AppID
        package var served: Int64
        /// The version in this ledger; nil for an app that it does not have.
        package var present: Int64?
    }

    package private(set) var contradictions: [Contradiction] = []
    /// The furthest end of the lost history that is known.
    package private(set) var lost: HistoryRestoration.End?
    /// The number of events that the ledger shares with the lost history, as far as it is known.
    package private(set) var keptSize: Int64
    /// The lost events that a node has kept, in their order.
    package private(set) var events: [Entry] = []
    /// How many lost events nothing has kept.
    package private(set) var unknownEvents: Int64 = 0
    package private(set) var overtaken: [Overtaken] = []
    /// The highest number of an epoch that is known.
    package private(set) var epoch: Int64
    /// The least raise with which the next version of every document is above all that are known to have been served.
    package private(set) var leastRaise: Int64 = 1

    /// Whether no epoch has begun since the events were lost.
    package private(set) var isOpen = false

    /// Whether the ledger goes on from everything that is known of it.
    package var isNone: Bool { self.contradictions.isEmpty && self.overtaken.isEmpty }

    /// Compares what is known with a ledger.
    ///
    /// - Parameters:
    ///   - known: Everything that is known.
    ///   - view: The ledger, verified to its end.
    ///   - stored: The versions of the documents that the database holds.
    /// - Throws: The database's error, or a defect of the stored ledger.
    package init(
        of known: [KnownHistory], against view: LedgerView, stored: [AppID: Int64], reader: LedgerReader
    ) async throws {
        self.keptSize = view.head.position
        self.epoch = max(view.state.fleet.epoch, known.map(\.epoch).max() ?? 0)
        var lost: KnownHistory?
        var confirmed: Int64 = 0
        for each in known {
            do {
                try await reader.check(view.head, goesOnFrom: each.position, root: each.root)
                confirmed = max(confirmed, each.position)
            } catch let fault as LedgerFault where fault.contradictsMemory {
                self.contradictions.append(Contradiction(source: each.source, fault: fault))
                if each.epoch >= view.state.fleet.epoch { self.isOpen = true }
                if lost.map({ ($0.epoch, $0.position) < (each.epoch, each.position) }) ?? true { lost = each }
            }
        }
        if let lost {
            self.lost = HistoryRestoration.End(size: lost.position, root: lost.root.bytes)
            try await self.compare(lost, view, confirmed, reader)
        }
        self.raise(above: known.map(\.versions) + [stored], view.state)
    }

    /// Finds out where the lost history left the one of the ledger, and what its events were from there.
    private mutating func compare(
        _ lost: KnownHistory, _ view: LedgerView, _ confirmed: Int64, _ reader: LedgerReader
    ) async throws {
        let end = view.head.position
        guard let journal = lost.journal else {
            // Where the database only lacks the end, what it has may be the beginning of it; else nobody knows.
            self.keptSize = lost.position > end ? end : confirmed
            self.unknownEvents = lost.position - min(self.keptSize, lost.position)
            return
        }
        let start = Int64(journal.start.size)
        var first = start
        if start > end {
            self.keptSize = end
            self.unknownEvents = start - end
        } else if try await reader.storedFrontier(at: start) == journal.start {
            let leaves = journal.entries.map { MerkleTree.leafHash($0) }
            let stop = min(end, start + Int64(leaves.count))
            compared: while first < stop {
                let hashes = try await reader.leafHashes(at: first..<min(stop, first + 1000))
                guard !hashes.isEmpty else { break }
                for hash in hashes {
                    guard hash == leaves[Int(first - start)] else { break compared }
                    first += 1
                }
            }
            self.keptSize = first
        } else {
            // They parted before the journal begins.
            self.keptSize = min(confirmed, start)
            self.unknownEvents = start - self.keptSize
        }
        self.unknownEvents += lost.position - (start + Int64(journal.entries.count))
        for bytes in journal.entries.dropFirst(Int(first - start)) {
            do { self.events.append(try Entry(bytes: bytes)) } catch {
                // A program of another version may have recorded it. It is authentic all the same.
                self.unknownEvents += 1
            }
        }
    }

    private mutating func raise(above served: [[AppID: Int64]], _ state: LedgerState) {
        var highest: [AppID: Int64] = [:]
        for versions in served { highest.merge(versions, uniquingKeysWith: max) }
        for (app, version) in highest.sorted(by: { $0.key < $1.key }) {
            let present = state.documentVersion(of: app)
            // An app that is made again begins one above what the fleet adds. The event that restores is one itself.
            self.leastRaise = max(self.leastRaise, version - (present ?? state.fleet.versionOffset))
            guard present ?? 0 < version else { continue }
            self.overtaken.append(Overtaken(app: app, served: version, present: present))
        }
    }
}

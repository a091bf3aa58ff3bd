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

    /// Whether no recovery has taken note of the loss yet.
    package private(set) var isOpen = false

    /// Whether the ledger goes on from everything that is known of it.
    package var isNone: Bool { self.contradictions.isEmpty && self.overtaken.isEmpty }

    /// Compares what is known with a ledger.
    ///
    /// - Parameters:
    ///   - known: Everything that is known of whole histories.
    ///   - delivered: Events that something outside the database has, with the name of each source.
    ///   - view: The ledger, verified to its end.
    ///   - stored: The versions of the documents that the database holds.
    /// - Throws: The database's error, or a defect of the stored ledger.
    package init(
        of known: [KnownHistory], delivered: [(source: String, events: [DeliveredEvent])] = [],
        against view: LedgerView, stored: [AppID: Int64], reader: LedgerReader
    ) async throws {
        self.keptSize = view.head.position
        let fleet = view.state.fleet
        let epochs = known.compactMap(\.epoch) + delivered.flatMap { $0.events.compactMap(\.epoch) }
        self.epoch = max(fleet.epoch, epochs.max() ?? 0)
        var lost: [KnownHistory] = []
        var confirmed: [Int64] = []
        for each in known {
            do {
                try await reader.check(view.head, goesOnFrom: each.position, root: each.root)
                confirmed.append(each.position)
            } catch let fault as LedgerFault where fault.contradictsMemory {
                self.contradictions.append(Contradiction(source: each.source, fault: fault))
                if !fleet.hasEnded(historyOf: each.position, in: each.epoch) { self.isOpen = true }
                lost.append(each)
            }
        }
        // A source that does not say its epoch is taken to be of the last one.
        if let furthest = lost.max(by: { ($0.epoch ?? self.epoch, $0.position) < ($1.epoch ?? self.epoch, $1.position) }
        ) {
            self.lost = HistoryRestoration.End(size: furthest.position, root: furthest.root.bytes)
            let least = confirmed.filter { $0 <= furthest.position }.max() ?? 0
            try await self.compare(lost, furthest, view, least, reader)
        }
        var versions = known.map(\.versions) + [stored]
        for (source, events) in delivered {
            let missing = try await Self.missing(events, in: view, reader)
            guard !missing.isEmpty else { continue }
            self.take(missing, source, view)
            versions.append(Self.versions(after: missing, in: view.state))
        }
        self.raise(above: versions, view.state)
    }

    /// The delivered events that the ledger does not have, in the order of their positions. Those of a history that a recovery has
    /// ended are left out.
    private static func missing(
        _ events: [DeliveredEvent], in view: LedgerView, _ reader: LedgerReader
    ) async throws -> [DeliveredEvent] {
        var missing: [DeliveredEvent] = []
        var seen: Set<[UInt8]> = []
        for event in events.sorted(by: { $0.entry.position < $1.entry.position }) {
            let position = event.entry.position
            let isEnded = view.state.fleet.epochs.contains { epoch in
                position >= epoch.firstPosition
                    && (event.epoch.map { $0 < epoch.number } ?? false || event.entry.time < epoch.beganAt)
            }
            guard !isEnded, seen.insert(event.bytes).inserted else { continue }
            if position < view.head.position,
                try await reader.leafHashes(at: position..<position + 1).first == MerkleTree.leafHash(event.bytes)
            {
                continue
            }
            missing.append(event)
        }
        return missing
    }

    /// Takes in events that the ledger does not have.
    private mutating func take(_ missing: [DeliveredEvent], _ source: String, _ view: LedgerView) {
        let (first, last) = (missing[0].entry.position, missing[missing.count - 1].entry.position)
        let end = view.head.position
        self.contradictions.append(
            Contradiction(
                source: source,
                fault: first < end
                    ? .rewritten(remembered: first + 1) : .forgotten(remembered: last + 1, found: end)))
        self.isOpen = true
        if first < end { self.keptSize = min(self.keptSize, first) }
        let known = Set(self.events.map(\.bytes))
        let new = missing.filter { !known.contains($0.bytes) }
        let added = Set(new.map(\.entry.position).filter { $0 < self.lost?.size ?? 0 })
            .subtracting(self.events.map(\.position))
        self.unknownEvents = max(0, self.unknownEvents - Int64(added.count))
        self.events = (self.events + new.map(\.entry)).sorted {
            $0.position != $1.position
                ? $0.position < $1.position : $0.bytes.lexicographicallyPrecedes($1.bytes)
        }
    }

    /// The versions that documents had after lost events, as far as these say.
    private static func versions(after missing: [DeliveredEvent], in state: LedgerState) -> [AppID: Int64] {
        var fleet = state.fleet.version
        var apps: [AppID: Int64] = [:]
        for event in missing {
            switch event.entry.stream {
            case .fleet: fleet = max(fleet, event.entry.streamVersion)
            case .app(let id): apps[id] = max(apps[id] ?? 0, event.entry.streamVersion)
            case .watch, .keys, .access, .webhooks, .log: break
            }
        }
        if fleet > state.fleet.version {
            for app in state.apps.values { apps[app.id] = max(apps[app.id] ?? 0, app.version) }
        }
        return apps.mapValues { $0 + fleet + state.fleet.raisedBy }
    }

    /// Finds out where lost histories left the one of the ledger, and what their events were from there.
    ///
    /// - Parameters:
    ///   - furthest: The one of `lost` that went furthest.
    ///   - confirmed: The number of events that the ledger shares with it for certain.
    private mutating func compare(
        _ lost: [KnownHistory], _ furthest: KnownHistory, _ view: LedgerView, _ confirmed: Int64, _ reader: LedgerReader
    ) async throws {
        var partings: [Int64] = []
        var found: [Int64: Set<[UInt8]>] = [:]
        for journal in lost.compactMap(\.journal) {
            let (parting, isExact) = try await Self.parting(of: journal, from: view, reader)
            if isExact { partings.append(parting) }
            let start = Int64(journal.start.size)
            for (index, bytes) in journal.entries.enumerated() where start + Int64(index) >= parting {
                found[start + Int64(index), default: []].insert(bytes)
            }
        }
        // Where the database only lacks the end, what it has may be the beginning of the lost history; else only what
        // another source confirms is known to be.
        let least = furthest.position > view.head.position ? view.head.position : confirmed
        self.keptSize = partings.min() ?? least
        var unread: Int64 = 0
        for (_, entries) in found.sorted(by: { $0.key < $1.key }) {
            for bytes in entries.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                do { self.events.append(try Entry(bytes: bytes)) } catch {
                    // A program of another version may have recorded it. It is authentic all the same.
                    unread += 1
                }
            }
        }
        let covered = found.keys.count { $0 >= self.keptSize && $0 < furthest.position }
        self.unknownEvents = max(0, furthest.position - self.keptSize - Int64(covered)) + unread
    }

    /// The position from which a journal's events are not those of the ledger.
    ///
    /// - Returns: `isExact` is false where the two parted before the journal begins, or the ledger ends before that.
    private static func parting(
        of journal: EventJournal, from view: LedgerView, _ reader: LedgerReader
    ) async throws -> (position: Int64, isExact: Bool) {
        let start = Int64(journal.start.size)
        guard start <= view.head.position, try await reader.storedFrontier(at: start) == journal.start else {
            return (start, false)
        }
        let leaves = journal.entries.map { MerkleTree.leafHash($0) }
        let stop = min(view.head.position, start + Int64(leaves.count))
        var first = start
        while first < stop {
            let hashes = try await reader.leafHashes(at: first..<min(stop, first + 1000))
            guard !hashes.isEmpty else { break }
            for hash in hashes {
                guard hash == leaves[Int(first - start)] else { return (first, true) }
                first += 1
            }
        }
        // Where the journal ends within the ledger, its memory went on from there by events that nobody kept.
        return (first, first == view.head.position)
    }

    private mutating func raise(above served: [[AppID: Int64]], _ state: LedgerState) {
        var highest: [AppID: Int64] = [:]
        for versions in served { highest.merge(versions, uniquingKeysWith: max) }
        for (app, version) in highest.sorted(by: { $0.key < $1.key }) {
            let present = state.documentVersion(of: app)
            // An app that is made again begins one above what the fleet adds. The event that restores is one itself.
            self.leastRaise = max(self.leastRaise, version - (present ?? state.fleet.versionOffset))
            guard (present ?? state.fleet.versionOffset) < version else { continue }
            self.overtaken.append(Overtaken(app: app, served: version, present: present))
        }
    }
}

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
    /// The lost events that something has kept, in their order.
    package private(set) var events: [Entry] = []
    /// The same events, those that nodes have set aside at earlier losses, and those that the ledger has recorded since losses: by
    /// epoch and position. Only events that count for lost changes.
    package private(set) var history: [LostChanges.HistoryEvent] = []
    /// True where events since an earlier loss are pruned, so that nobody can tell which lost changes were made again since.
    package private(set) var isPruned = false
    /// How many lost events nothing has kept.
    package private(set) var unknownEvents: Int64 = 0
    package private(set) var overtaken: [Overtaken] = []
    /// The newest document of each app that was served by the lost histories and tells of events that nothing has kept.
    package private(set) var documents: [Document] = []
    /// The highest number of an epoch that is known.
    package private(set) var epoch: Int64
    /// The least raise with which the next version of every document is above all that are known to have been served.
    package private(set) var leastRaise: Int64 = 1

    /// Whether a recovery was lost of which only delivered events tell, and not by how much it raised versions.
    package private(set) var hasUnknownRaise = false

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
        self.epoch = max(fleet.epoch, known.compactMap(\.epoch).max() ?? 0)
        var (lost, earlier): ([KnownHistory], [KnownHistory]) = ([], [])
        var gathered = Gathered()
        for each in known {
            do {
                try await reader.check(view.head, goesOnFrom: each.position, root: each.root)
                gathered.confirmed.append(each.position)
            } catch let fault as LedgerFault where fault.contradictsMemory {
                let hasEnded = fleet.hasEnded(historyOf: each.position, in: each.epoch)
                guard !(hasEnded && each.isSetAside) else {
                    earlier.append(each)
                    continue
                }
                self.contradictions.append(Contradiction(source: each.source, fault: fault))
                if !hasEnded { self.isOpen = true }
                lost.append(each)
            }
        }
        // A source that does not say its epoch is taken to be of the last one.
        if let furthest = lost.max(by: { ($0.epoch ?? self.epoch, $0.position) < ($1.epoch ?? self.epoch, $1.position) }
        ) {
            self.lost = HistoryRestoration.End(size: furthest.position, root: furthest.root.bytes)
            try await self.compare(lost, furthest, view, &gathered, reader)
        }
        var versions = known.map(\.versions) + [stored]
        for (source, events) in delivered {
            let (missing, matching) = try await Self.missing(events, in: view, reader)
            gathered.confirmed += matching.map { $0 + 1 }
            guard !missing.isEmpty else { continue }
            versions.append(self.take(missing, source, view, &gathered))
        }
        for history in earlier {
            guard let journal = history.journal else {
                gathered.lacksEarlier = true
                continue
            }
            let (parting, isExact) = try await Self.parting(of: journal, from: view, reader)
            if !isExact { gathered.lacksEarlier = true }
            gathered.earlier.take(journal, of: history, from: parting)
        }
        self.finish(gathered)
        try await self.takeHistory(gathered, view, reader)
        self.takeDocuments(of: lost + earlier, lacksEarlier: gathered.lacksEarlier)
        self.raise(above: versions, view.state)
    }

    /// Takes in the newest documents of lost histories that say more than the events.
    ///
    /// - Parameter lacksEarlier: True where a history that a node has set aside has events that nothing has kept.
    private mutating func takeDocuments(of histories: [KnownHistory], lacksEarlier: Bool) {
        var (newest, known): ([AppID: Document], [AppID: Int64]) = ([:], [:])
        for history in histories {
            known.merge(history.versionsAtEnd, uniquingKeysWith: max)
            for document in history.documents where document.version > newest[document.app]?.version ?? 0 {
                newest[document.app] = document
            }
        }
        // Where every event is known, only a document behind all of them says more.
        let saysMore = self.unknownEvents > 0 || lacksEarlier
        self.documents = newest.values.filter { saysMore || $0.version > known[$0.app] ?? 0 }
            .sorted { $0.app < $1.app }
    }

    /// Puts the lost events and those since earlier losses in one order.
    private mutating func takeHistory(_ gathered: Gathered, _ view: LedgerView, _ reader: LedgerReader) async throws {
        let fleet = view.state.fleet
        var lost = (gathered.found.entries + gathered.earlier.entries).filter { LostChanges.counts($0.entry) }
        guard let oldest = lost.map(\.epoch).min() else { return }
        var recorded: [LostEvents.Numbered] = []
        if let began = fleet.epochs.first(where: { $0.number > oldest })?.firstPosition {
            do {
                recorded = try await Self.counted(began..<max(began, view.head.position), in: fleet, reader)
            } catch let fault as LedgerFault where fault.isPruned {
                lost.removeAll { event in fleet.epochs.contains { $0.number > event.epoch } }
                self.isPruned = true
            }
        }
        // Lost events of an epoch came behind those that are left of it.
        for epoch in Set((lost + recorded).map(\.epoch)).sorted() {
            for (events, isLost) in [(recorded, false), (lost, true)] {
                self.history += events.filter { $0.epoch == epoch }.sorted { $0.entry.position < $1.entry.position }
                    .map { LostChanges.HistoryEvent($0.entry, isLost: isLost) }
            }
        }
    }

    /// The events of the ledger at some positions that count for lost changes.
    private static func counted(
        _ positions: Range<Int64>, in fleet: Fleet, _ reader: LedgerReader
    ) async throws -> [LostEvents.Numbered] {
        var (counted, next) = ([LostEvents.Numbered](), positions.lowerBound)
        while next < positions.upperBound {
            let page = try await reader.entries(at: next..<positions.upperBound, limit: 1000)
            guard let last = page.last else { throw LedgerFault.position(expected: next, found: positions.upperBound) }
            for stored in page where LostChanges.counts(stored.entry) {
                counted.append(.init(epoch: fleet.epoch(at: stored.entry.position), entry: stored.entry))
            }
            next = last.entry.position + 1
        }
        return counted
    }

    /// What is found out on the way.
    private struct Gathered {
        /// Numbers of events that the ledger shares with the lost history for certain.
        var confirmed: [Int64] = []
        /// The lost events.
        var found = LostEvents()
        /// Those that nodes have set aside at earlier losses.
        var earlier = LostEvents()
        /// True where one of the histories that nodes have set aside has events that nothing has kept.
        var lacksEarlier = false
        /// The number of events of the lost history, as far as it is known.
        var end: Int64 = 0

        /// The most events that are shared for certain, of those before a position.
        func shared(before position: Int64) -> Int64 { self.confirmed.filter { $0 <= position }.max() ?? 0 }
    }

    /// Puts the lost events in their order, and counts those that nothing has kept.
    private mutating func finish(_ gathered: Gathered) {
        self.events = gathered.found.entries.map(\.entry)
        // A program of another version may have recorded what this one cannot read. It is authentic all the same.
        let unread = gathered.found.count - Int64(self.events.count)
        let covered = gathered.found.positions.count { $0 >= self.keptSize && $0 < gathered.end }
        self.unknownEvents = max(0, gathered.end - self.keptSize - Int64(covered)) + unread
    }

    /// Finds out where lost histories left the one of the ledger, and what their events were from there.
    ///
    /// - Parameter furthest: The one of `lost` that went furthest.
    private mutating func compare(
        _ lost: [KnownHistory], _ furthest: KnownHistory, _ view: LedgerView, _ gathered: inout Gathered,
        _ reader: LedgerReader
    ) async throws {
        var partings: [Int64] = []
        for history in lost {
            guard let journal = history.journal else { continue }
            let (parting, isExact) = try await Self.parting(of: journal, from: view, reader)
            if isExact { partings.append(parting) }
            gathered.found.take(journal, of: history, from: parting)
        }
        // Where the database only lacks the end, what it has may be the beginning of the lost history; else only what
        // another source confirms is known to be.
        let least =
            furthest.position > view.head.position
            ? view.head.position : gathered.shared(before: furthest.position)
        self.keptSize = partings.min() ?? least
        gathered.confirmed += partings
        gathered.end = furthest.position
    }

    /// The delivered events that the ledger does not have, in the order of their positions, and the positions of those that it has.
    private static func missing(
        _ events: [DeliveredEvent], in view: LedgerView, _ reader: LedgerReader
    ) async throws -> (missing: [DeliveredEvent], matching: [Int64]) {
        var (missing, matching) = ([DeliveredEvent](), [Int64]())
        var seen: Set<[UInt8]> = []
        var (hashes, start) = ([LogHash](), Int64(0))
        for event in events.sorted(by: { $0.position < $1.position }) where seen.insert(event.bytes).inserted {
            let position = event.position
            if position < view.head.position {
                if position >= start + Int64(hashes.count) || hashes.isEmpty {
                    start = position
                    hashes = try await reader.leafHashes(at: start..<min(view.head.position, start + 1000))
                }
                let place = Int(position - start)
                if place < hashes.count, hashes[place] == MerkleTree.leafHash(event.bytes) {
                    matching.append(position)
                    continue
                }
            }
            missing.append(event)
        }
        return (missing, matching)
    }

    /// Takes in events that the ledger does not have.
    ///
    /// - Returns: The versions that documents had after them, as far as they say.
    private mutating func take(
        _ missing: [DeliveredEvent], _ source: String, _ view: LedgerView, _ gathered: inout Gathered
    ) -> [AppID: Int64] {
        let (first, last) = (missing[0].position, missing[missing.count - 1].position)
        let (end, fleet) = (view.head.position, view.state.fleet)
        self.contradictions.append(
            Contradiction(
                source: source,
                fault: first < end
                    ? .rewritten(remembered: first + 1) : .forgotten(remembered: last + 1, found: end)))
        /// The last recovery that has ended the history of an event; nil where none has.
        func ended(_ event: DeliveredEvent) -> Epoch? {
            fleet.epochs.last {
                event.position >= $0.firstPosition
                    && (event.epoch.map { [number = $0.number] in $0 < number } ?? false
                        || event.entry.map { [began = $0.beganAt] in $0.effectiveAt < began } ?? false)
            }
        }
        // What a recovery has ended is shown, and can be repeated; no other epoch begins for it.
        let open = missing.filter { ended($0) == nil }
        if !open.isEmpty { self.isOpen = true }
        if first < end { self.keptSize = min(self.keptSize, gathered.shared(before: first)) }
        for event in missing {
            // One that does not say its epoch is of the last one that it can be of.
            let epoch = event.epoch ?? ended(event).map { $0.number - 1 } ?? fleet.epoch
            gathered.found.take(event.bytes, at: event.position, in: epoch)
        }
        gathered.end = max(gathered.end, last + 1)
        let epochs = open.compactMap(\.epoch)
        self.epoch = max(self.epoch, epochs.max() ?? 0)
        return self.versions(after: open, in: view.state)
    }

    /// The versions that documents had after lost events, as far as these say.
    private mutating func versions(after missing: [DeliveredEvent], in state: LedgerState) -> [AppID: Int64] {
        var (version, raised, begun) = (state.fleet.version, state.fleet.raisedBy, state.fleet.epoch)
        var apps: [AppID: Int64] = [:]
        for entry in missing.compactMap(\.entry) {
            switch entry.stream {
            case .fleet: version = max(version, entry.streamVersion)
            case .app(let id): apps[id] = max(apps[id] ?? 0, entry.streamVersion)
            case .watch, .keys, .access, .webhooks, .log, .changes, .audit: break
            }
            guard case .fleet(.historyRestored(let restoration)) = entry.event, restoration.epoch > begun else {
                continue
            }
            (raised, begun) = (raised + restoration.raisedBy, restoration.epoch)
        }
        self.hasUnknownRaise = self.hasUnknownRaise || missing.contains { $0.epoch ?? 0 > begun }
        if version + raised > state.fleet.versionOffset {
            for app in state.apps.values { apps[app.id] = max(apps[app.id] ?? 0, app.version) }
        }
        return apps.mapValues { $0 + version + raised }
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

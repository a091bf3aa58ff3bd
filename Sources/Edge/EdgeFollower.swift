import Concurrency
import LogLines
package import Logging
package import PinWire
import Publishing
import Synchronization

/// Keeps an edge's documents in step with its upstream's: by its stream of news, and by its list, which finds what the stream has missed.
///
/// Nothing that one of them waits for holds up the other: news that have to be fetched are fetched by a third.
package final class EdgeFollower: Sendable {
    private let upstream: Upstream
    private let documents: EdgeDocuments
    private let roots: EdgeRoots
    private let status: EdgeStatus
    private let logger: Logger
    /// Why the upstream's roots of trust were not taken the last time; nil where they were.
    private let rootRefusal = Mutex<String?>(nil)
    private let clock: @Sendable () -> Timestamp
    private let interval: Duration
    private let (asked, ask) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// Apps with news that are to be fetched. An app waits once, however often it changes.
    private let wanted = Mutex<Set<AppID>>([])
    private let (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Documents that are fetched at a time, for the list and for the stream.
    private static let parallel = 8
    /// The first and the longest pause before the stream is opened again, in seconds, and how long it has to stand before a pause is
    /// the first again.
    private static let (firstPause, longestPause, settled) = (0.2, 15.0, Duration.seconds(5))
    /// Apps that may wait to be fetched: the list finds the others.
    private static let wantedLimit = 100_000

    /// - Parameter interval: How often the upstream's list is asked for, whether or not the stream stands.
    package init(
        upstream: Upstream, documents: EdgeDocuments, roots: EdgeRoots, status: EdgeStatus, logger: Logger,
        interval: Duration,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.upstream = upstream
        self.documents = documents
        self.roots = roots
        self.status = status
        self.logger = logger
        self.interval = interval
        self.clock = clock
    }

    /// Follows until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.followStream() }
            group.addTask { await self.fetchWanted() }
            group.addTask { await self.compareLists() }
            group.addTask { await PeriodicWorker(every: self.interval, jitter: 0.1).run { self.ask.yield() } }
        }
    }

    /// Has the list asked for soon.
    package func askNow() { self.ask.yield() }

    // MARK: The stream

    private func followStream() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            let begun = ContinuousClock.now
            var wait: Double?
            do throws(UpstreamFailure) {
                wait = try await self.upstream.follow {
                    self.status.note(following: true)
                    self.note(nil, of: .stream)
                    // What was published before the stream stood.
                    self.ask.yield()
                } take: {
                    self.take($0)
                }
            } catch {
                self.note(error, of: .stream)
            }
            self.status.note(following: false)
            if ContinuousClock.now - begun > Self.settled { pause = Self.firstPause }
            // Edges that lose their upstream together do not come back in one instant: it gives each another time.
            let seconds = max(min(wait ?? 0, Self.longestPause), pause * Double.random(in: 0.5...1))
            try? await Task.sleep(for: .seconds(seconds))
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func take(_ news: DocumentNews) {
        guard self.documents.table[news.app]?.body.identity.tag != news.tag else { return }
        if let document = news.document {
            self.offer(document, of: news.app)
        } else {
            self.wanted.withLock { wanted in
                if wanted.count < Self.wantedLimit { wanted.insert(news.app) }
            }
            self.wakeup.yield()
        }
    }

    private func fetchWanted() async {
        for await _ in self.wakeups {
            let apps = self.wanted.withLock { wanted in
                defer { wanted = [] }
                return wanted
            }
            await self.fetch(Array(apps))
        }
    }

    // MARK: The list

    private func compareLists() async {
        var known: DocumentList?
        // What the list before had in an older version: several servers behind one address are not in step at every moment.
        var suspects: Set<AppID> = []
        for await _ in self.asked {
            await self.followRoots()
            do throws(UpstreamFailure) {
                let tag = known.flatMap { $0.tag.isEmpty ? nil : $0.tag }
                known = try await self.upstream.list(ifNoneMatch: tag) ?? known
                self.note(nil, of: .list)
            } catch {
                self.note(error, of: .list)
                continue
            }
            guard let known else { continue }
            self.documents.dropUntrusted()
            let (wanted, older) = self.differing(known)
            for app in older.intersection(suspects) {
                self.note(refused: "older", "the edge serves a newer one than the upstream lists", app)
            }
            self.status.note(behind: older.intersection(suspects).union(wanted), at: self.clock())
            suspects = older
            await self.fetch(wanted)
            self.status.noteRound(at: self.clock())
        }
    }

    /// Before the documents: a new root may be what makes them trusted.
    private func followRoots() async {
        do throws(UpstreamFailure) {
            let outcome = try await self.roots.refresh(from: self.upstream)
            if let version = outcome.version { self.logger.log(.rootTaken, ["version": "\(version)"]) }
            if outcome.hasNewKeys { self.documents.takeOverKeys() }
            let before = self.rootRefusal.withLock { last in
                defer { last = outcome.refusal }
                return last
            }
            // Once, and not at each round.
            if let refusal = outcome.refusal, refusal != before {
                self.logger.log(.rootRefused, ["reason": "\(refusal)"])
            }
            self.note(nil, of: .roots)
        } catch { self.note(error, of: .roots) }
    }

    /// The apps of whose documents the upstream lists others than are served: those to fetch, and those that it lists in an older
    /// version.
    private func differing(_ list: DocumentList) -> (wanted: [AppID], older: Set<AppID>) {
        var (wanted, older): ([AppID], Set<AppID>) = ([], [])
        for entry in list.entries {
            let served = self.documents.table[entry.app]
            guard served?.body.identity.tag != entry.tag else { continue }
            if let served, entry.version < served.version { older.insert(entry.app) } else { wanted.append(entry.app) }
        }
        return (wanted, older)
    }

    // MARK: Documents

    /// Fetches documents, some at a time.
    private func fetch(_ apps: [AppID]) async {
        guard !apps.isEmpty else { return }
        let failure = await withTaskGroup(of: UpstreamFailure?.self) { group in
            var rest = apps[...]
            var failure: UpstreamFailure?
            func begin() {
                guard let app = rest.popFirst() else { return }
                group.addTask { await self.fetch(app) }
            }
            for _ in 0..<Self.parallel { begin() }
            while let failed = await group.next() {
                failure = failed ?? failure
                if !Task.isCancelled { begin() }
            }
            return failure
        }
        self.note(failure, of: .documents)
    }

    private func fetch(_ app: AppID) async -> UpstreamFailure? {
        let before = self.documents.table[app]?.version ?? 0
        do throws(UpstreamFailure) {
            self.offer(try await self.upstream.document(of: app), of: app, servedBefore: before)
            return nil
        } catch {
            // A document that was withdrawn between the list and now is no trouble.
            guard case .status(404, _) = error else { return error }
            self.status.note(settled: app)
            return nil
        }
    }

    /// - Parameter servedBefore: The version that was served when the document was asked for: an older one than that is no accident.
    private func offer(_ bytes: [UInt8], of app: AppID, servedBefore: Int64? = nil) {
        switch self.documents.offer(bytes, of: app) {
        case .served, .asGood: self.status.note(settled: app)
        case .refused("older", _)
        where servedBefore.map { $0 < self.documents.table[app]?.version ?? 0 } ?? false:
            // A newer one has come meanwhile.
            self.status.note(settled: app)
        case .refused(let cause, let reason): self.note(refused: cause, reason, app)
        }
    }

    private func note(refused cause: String, _ reason: String, _ app: AppID) {
        guard self.status.note(refused: cause, of: app) else { return }
        self.logger.log(.upstreamDocumentRefused, ["app": "\(app)", "cause": "\(cause)", "reason": "\(reason)"])
    }

    private func note(_ failure: UpstreamFailure?, of part: EdgeStatus.Part) {
        guard !Task.isCancelled, self.status.note(failure, of: part) else { return }
        if let failure {
            self.logger.log(.upstreamLost, ["part": "\(part.rawValue)", "error": "\(failure)"])
        } else {
            self.logger.log(.upstreamBack, ["part": "\(part.rawValue)"])
        }
    }
}

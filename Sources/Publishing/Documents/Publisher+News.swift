import LogLines
import Logging
import Pinning
import Postgres

/// How a node learns of the documents that other nodes publish.
extension Publisher {
    /// Notes which documents other nodes publish.
    func followStore() async {
        var ticks = 0
        var isListening = false
        for await event in self.listener.events(on: DocumentStore.channel) {
            switch event {
            case .notification(_, let payload): self.news.note(payload, self.table)
            case .disconnected: isListening = false
            case .connected:
                isListening = true
                // Perhaps to another server, which has other changes.
                self.lookAtAllStored()
                self.news.noteLook()
            case .tick:
                ticks += 1
                // A fallback for a notification that is lost while nothing else happens.
                if !isListening || ticks % 5 == 0 { self.news.noteLook() }
            }
        }
    }

    /// Fetches the documents that other nodes publish: all that was noted in one look, and then again.
    func fetchNews() async {
        for await _ in self.news.arrivals {
            do {
                switch self.news.take() {
                case .nothing: continue
                case .apps(let apps): await self.take(try await self.store.load(apps).stored)
                case .everything: try await self.loadOutdated()
                }
            } catch is CancellationError {
                return
            } catch {
                self.logger.log(.documentsUnreadable, ["error": "\(error)"])
                // The documents are among the changes of the next look.
                try? await Task.sleep(for: Self.sweepInterval)
                self.news.noteLook()
            }
            try? await Task.sleep(for: Self.newsPause)
        }
    }

    /// The pause between two looks at what other nodes publish.
    private static let newsPause = Duration.milliseconds(5)

    func loadOutdated() async throws { try await self.loadOutdated { await self.take($0) } }

    /// Has the next look at stored documents be one at all of them.
    func lookAtAllStored() {
        self.seenChange = 0
        self.looks += 1
    }

    /// Reads the stored documents that are newer than those in place, as far as they have changed since the last look.
    func loadOutdated(_ take: ([DocumentStore.Stored]) async -> Void) async throws {
        if self.hasPassedOver {
            self.hasPassedOver = false
            self.lookAtAllStored()
        }
        let looks = self.looks
        var seen = self.seenChange
        while true {
            let changes = try await self.store.changes(from: max(1, seen), newerThan: self.table)
            for start in stride(from: 0, to: changes.outdated.count, by: 100) {
                let part = changes.outdated[start..<min(start + 100, changes.outdated.count)]
                let stored = try await self.store.load(part.map(\.app)).stored
                await take(stored)
                // Else another server has answered, which lags behind: the next look begins here again.
                guard DocumentStore.News.areAll(part, among: stored, at: self.clock()) else { return }
            }
            let isKnown = changes.last != nil || seen == 0
            seen = changes.last ?? 0
            guard looks == self.looks else { return }
            self.seenChange = seen
            guard changes.isPart || !isKnown else { return }
        }
    }
}

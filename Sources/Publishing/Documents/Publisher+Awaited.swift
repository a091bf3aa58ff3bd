import EventStore
import LogLines
import Logging
import PinWire
import Pinning
import Secrets

/// The documents of changes that a node takes in which signs nothing.
extension Publisher {
    /// The pauses between looks for a document that its event has preceded: as the signing node takes a moment, and a standby another.
    private static let shortestPause = Duration.milliseconds(10)
    /// The pause at which the looks of ``followStore()`` are enough.
    private static let longestPause = Duration.seconds(1)
    /// The number of apps whose documents are read without looking which of them are newer.
    private static let fewApps = 100

    /// Fetches the documents of the changes that the ledger has taken in, whether or not they are announced: a standby announces nothing.
    func awaitOthers() async {
        guard !self.keys.canSign else { return }
        for await _ in self.ledger.positions() {
            do { try await self.fetchAwaited() } catch is CancellationError {
                return
            } catch {
                guard !Task.isCancelled else { return }
                self.logger.log(.documentsUnreadable, ["error": "\(error)"])
            }
        }
    }

    private func fetchAwaited() async throws {
        var awaited = Ledger.Changes.none
        var pause = Self.shortestPause
        while pause < Self.longestPause {
            let new = self.ledger.takeAwaitedChanges()
            if !new.isEmpty { pause = Self.shortestPause }
            awaited = await self.behind(
                Ledger.Changes(
                    apps: awaited.apps.union(new.apps), isEverything: awaited.isEverything || new.isEverything
                ))
            guard !awaited.isEmpty else { return }
            if awaited.isEverything || awaited.apps.count > Self.fewApps {
                try await self.loadOutdated()
            } else {
                await self.take(try await self.store.load(Array(awaited.apps)).stored)
            }
            awaited = await self.behind(awaited)
            guard !awaited.isEmpty else { continue }
            try await Task.sleep(for: pause)
            pause *= 2
        }
    }

    /// The part of some changes whose documents this node does not have yet.
    private func behind(_ changes: Ledger.Changes) async -> Ledger.Changes {
        let state = self.ledger.view.state
        var apps: Set<AppID> = []
        for (count, app) in (changes.isEverything ? Array(state.apps.keys) : Array(changes.apps)).enumerated() {
            // After a start the look-up verifies a document, which takes as long as signing one.
            if count % 20 == 19 { await Task.yield() }
            guard (state.documentVersion(of: app) ?? 0) > self.table.held(app)?.version ?? 0 else { continue }
            guard !changes.isEverything else { return changes }
            apps.insert(app)
        }
        return Ledger.Changes(apps: apps)
    }
}

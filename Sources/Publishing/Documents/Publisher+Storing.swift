import EventStore
import LogLines
import Logging
import Pinning
import Postgres

/// How signed documents get into the database, where every node finds them.
extension Publisher {
    /// Wakes the task that stores documents of this kind.
    func startStoring(_ kind: UnstoredDocuments.Kind) {
        guard !self.unstored.isEmpty(kind) else { return }
        switch kind {
        case .changed: self.storing.changed.continuation.yield()
        case .fleet: self.storing.fleet.continuation.yield()
        }
    }

    /// Has those stored that the database has refused: what was wrong may have been mended.
    func offerRefused() {
        self.unstored.offerRefused()
        self.startStoring(.fleet)
    }

    /// Stores what is signed, many documents at a time, until cancelled.
    func storeSigned(_ kind: UnstoredDocuments.Kind) async {
        var pause = Duration.milliseconds(50)
        for await _ in kind == .changed ? self.storing.changed.stream : self.storing.fleet.stream {
            while !self.unstored.isEmpty(kind), self.mayPublish, !Task.isCancelled {
                let signed = self.unstored.take(kind)
                do {
                    try await self.store(signed)
                    pause = .milliseconds(50)
                } catch {
                    // Documents that were signed again meanwhile replace those to be tried again.
                    let now = self.clock()
                    for each in signed { self.unstored.add(each, as: kind, at: now) }
                    guard !Task.isCancelled else { return }
                    self.logger.log(.documentsNotStored, ["error": "\(error)"])
                    try? await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(5))
                }
            }
        }
    }

    /// Stores the rest when the node stops. The next node that starts signs again what cannot be stored now.
    func storeRest() async {
        for kind in [UnstoredDocuments.Kind.changed, .fleet] {
            while !self.unstored.isEmpty(kind), self.mayPublish, !Task.isCancelled {
                do { try await self.store(self.unstored.take(kind)) } catch {
                    return self.logger.log(.documentsLeftOver, ["error": "\(error)"])
                }
            }
        }
    }

    private func store(_ signed: [DocumentStore.Outgoing]) async throws {
        let apps = signed.map(\.document.app)
        let outgoing = signed.map { each in
            DocumentStore.Outgoing(document: each.document, leaf: each.leaf, unfit: self.unfit[each.document.app])
        }
        do {
            let taken = try await self.store.publish(outgoing)
            for app in taken { self.unfit[app] = nil }
            let passedOver = apps.filter { !taken.contains($0) }
            if !passedOver.isEmpty { await self.take(try await self.store.load(passedOver).stored) }
        } catch let error as PostgresError where error.concernsRows {
            // What one app's document meets must not hold back the others'.
            guard signed.count == 1 else {
                try await self.store(Array(signed[..<(signed.count / 2)]))
                return try await self.store(Array(signed[(signed.count / 2)...]))
            }
            guard error.sqlState == "PL003" else {
                self.unstored.refuse(signed[0], at: self.clock())
                self.logger.log(.documentNotStored, ["app": "\(apps[0])", "error": "\(error)"])
                return
            }
            self.logger.log(
                .documentClash, ["app": "\(apps[0])", "version": "\(signed[0].document.version)", "error": "\(error)"])
            // What stands there is refused, or halts this node.
            await self.take(try await self.store.load(apps).stored)
        } catch let error as PostgresError where error.sqlState == "PL004" {
            let position = signed.map(\.document.position).max() ?? 0
            let end = try await self.store.ledgerEnd()
            let fault: LedgerFault =
                end < position ? .shrunk(from: position, to: end) : .fork(position: position)
            self.ledger.halt(fault)
            self.logger.log(.documentsForked, ["fault": "\(fault)", "error": "\(error)"])
        }
    }
}

extension PostgresError {
    /// True where the statement may succeed without one of its rows: not where the server, the session or the rights are the cause.
    fileprivate var concernsRows: Bool {
        guard case .server(let state) = self.code else { return false }
        // Values, constraints, limits of size, exceptions that a trigger raises, and damaged pages and indexes.
        return state == "PL003" || ["22", "23", "54", "P0", "XX"].contains { state.hasPrefix($0) }
    }
}

import EventStore
import Foundation
import Keys
import LogLines
import Logging
import PinWire
import Pinning
import Secrets

/// How a node publishes what concerns every app: a change of the whole fleet, another signing key, and documents that grow old.
///
/// That takes a millisecond for each app. Changes of single apps do not wait for it; documents are signed beside the actor, on several
/// threads; and what another node has stored meanwhile is taken from there.
extension Publisher {
    /// Threads that sign at once: one core is left to requests.
    private static let lanes = max(1, min(4, ProcessInfo.processInfo.activeProcessorCount - 1))
    /// Documents that one of them signs before the node looks at what has come from others.
    private static let laneSize = 8
    /// Apps that are looked at before other tasks run on the actor's thread.
    private static let lookSize = 20

    /// Has all documents published that need it.
    ///
    /// - Parameter position: The ledger's position, where requests wait for that.
    func publishEverything(through position: Int64? = nil) {
        self.fleet.ask(through: position)
        self.fleetWork.continuation.yield()
    }

    /// Notes that the ledger has come to `position` without a local change of everything.
    func passFleet(_ position: Int64) {
        if self.fleet.pass(position) { self.fleetWaiters.advance(to: position) }
    }

    /// Has the next apps looked at: documents grow old, and something may have been missed. Called every ten seconds: in that time a small
    /// fleet is looked at as a whole, and in an eighth of a document's age at renewal any fleet.
    func lookAtFleet() {
        let rounds = max(1, Int(clamping: self.schedule.renewalSeconds / 80))
        self.fleet.ask(for: max(2000, self.ledger.view.state.apps.count / rounds + 1))
        self.fleetWork.continuation.yield()
    }

    /// Works through what is asked for, until cancelled.
    func workOnFleet() async {
        for await _ in self.fleetWork.stream {
            while !self.fleet.isDone, !Task.isCancelled { await self.takeTurns() }
        }
    }

    /// Gives some apps their turn.
    private func takeTurns() async {
        guard self.ledger.fault == nil, self.keys.hasKeyEncryptionKey, let active = self.ledger.view.state.keys.active
        else {
            return self.abandonFleet()
        }
        guard self.ledger.suspension == nil else {
            self.ledger.giveBack(.everything)
            return self.abandonFleet()
        }
        do {
            let key = try await self.keys.privateKey(of: active)
            while self.fleet.isShort(of: self.ledger.view.state.apps.count) {
                self.fleet.take(order: await Self.order(self.ledger.view.state.apps, seed: self.fleetSeed))
            }
            self.fleet.begin()
            // The view of this moment has all changes that were asked for: nothing else runs between the two.
            let view = self.ledger.view
            guard view.state.keys.activeKeyID == active.kid else { return }
            let now = Timestamp(seconds: self.clock().seconds)
            let due = self.takeDue(of: view, active.kid, at: now)
            if due.isEmpty {
                await Task.yield()
            } else {
                try await self.sign(due, of: view, with: key, active.kid, at: now)
            }
            self.hasFleetFailed = false
            if let position = self.fleet.finish() { self.fleetWaiters.advance(to: position) }
        } catch is CancellationError {
            self.abandonFleet()
        } catch {
            self.logger.log(.documentsNotSigned, ["error": "\(error)"])
            self.hasFleetFailed = true
            self.ledger.giveBack(.everything)
            self.abandonFleet()
        }
    }

    /// Gives up the work, and lets go on who waits for it.
    private func abandonFleet() {
        if let position = self.fleet.abandon() { self.fleetWaiters.advance(to: position) }
    }

    @concurrent
    private nonisolated static func order(_ apps: AppTable, seed: UInt64) async -> [AppID] {
        FleetRound.order(apps.keys, seed: seed)
    }

    /// The next apps whose documents need to be signed.
    private func takeDue(of view: LedgerView, _ kid: String, at now: Timestamp) -> [AppID] {
        var due: [AppID] = []
        for _ in 0..<Self.lookSize where due.count < Self.lanes * Self.laneSize {
            guard let app = self.fleet.take() else { break }
            if self.needsSignature(app, of: view, kid, at: now) { due.append(app) }
        }
        return due
    }

    /// False where the app's document is certainly as good as one that would be signed now.
    private func needsSignature(_ app: AppID, of view: LedgerView, _ kid: String, at now: Timestamp) -> Bool {
        guard let version = view.state.documentVersion(of: app) else { return false }
        guard let held = self.table.held(app) else { return true }
        guard held.version == version else { return held.version < version }
        let renewal = held.issuedAt.adding(seconds: self.schedule.renewalSeconds(of: app))
        return held.keyID != kid || renewal <= now || Issuance.isAhead(held.issuedAt, of: now)
            || self.unfit[app] != nil
    }

    /// The mark by which two documents of one app are told apart.
    private struct Edition: Equatable {
        var version: Int64
        var issuedAt: Timestamp

        init(_ document: PublishedDocument) { (self.version, self.issuedAt) = (document.version, document.issuedAt) }
    }

    /// A document that was signed beside the actor.
    private struct SignedAside: Sendable {
        var document: DocumentStore.Signed
        /// Its predecessor; nil where there was none.
        var before: Edition?
    }

    /// Signs and serves documents.
    private func sign(
        _ apps: [AppID], of view: LedgerView, with key: Ed25519PrivateKey, _ kid: String, at now: Timestamp
    ) async throws {
        let unfit = Set(apps.filter { self.unfit[$0] != nil })
        let signed = try await self.signAside(apps, of: view, with: key, kid, at: now, unfit: unfit)
        defer { self.startStoring(.fleet) }
        for aside in signed {
            guard self.mayPublish else { return self.ledger.giveBack(.everything) }
            let app = aside.document.app
            guard self.table.held(app).map(Edition.init) != aside.before else {
                self.serve(aside.document, of: view, as: .fleet)
                continue
            }
            // Another document has come meanwhile, whose version and issue time count.
            let isUnfit = self.unfit[app] != nil
            if let document = try self.sign(app, of: view, with: key, kid, at: now, isUnfit: isUnfit) {
                self.serve(document, of: view, as: .fleet)
            }
        }
    }

    /// Signs the documents of some apps, without serving them.
    @concurrent
    private nonisolated func signAside(
        _ apps: [AppID], of view: LedgerView, with key: Ed25519PrivateKey, _ kid: String, at now: Timestamp,
        unfit: Set<AppID>
    ) async throws -> [SignedAside] {
        let size = (apps.count + Self.lanes - 1) / Self.lanes
        return try await withThrowingTaskGroup(of: [SignedAside].self) { group in
            for start in stride(from: 0, to: apps.count, by: size) {
                let part = apps[start..<min(start + size, apps.count)]
                group.addTask {
                    try part.compactMap { app in
                        let before = self.table.held(app).map(Edition.init)
                        return try self.sign(app, of: view, with: key, kid, at: now, isUnfit: unfit.contains(app))
                            .map { SignedAside(document: $0, before: before) }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}

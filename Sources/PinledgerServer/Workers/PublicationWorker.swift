import Concurrency
package import EventStore
import LogLines
import Logging
import PinWire
import Pinning
import Publishing

/// Records each published version of a document, where the log is to have proofs of documents.
///
/// A document is published before it is recorded, so that a kill switch never waits for this. The node that signed a document
/// records it at once; what no node has recorded some seconds later, any other one does. If the process dies before a version
/// is recorded, another node or its next start records it, unless another version has replaced it by then.
package struct PublicationWorker: Sendable {
    private let services: Services
    private let commands: SystemCommands

    /// Apps whose publications are recorded at the same time: they share batches.
    private static let width = 32
    /// The age at which any node records a document.
    private static let grace: Int64 = 5

    package init(services: Services, commands: SystemCommands) {
        self.services = services
        self.commands = commands
    }

    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.recordSigned() }
            group.addTask { await self.commands.worker(every: .seconds(Self.grace)).run { await self.recordRest() } }
        }
    }

    private func recordSigned() async {
        let unrecorded = self.services.publisher.unrecorded
        for await _ in unrecorded.arrivals where self.services.ledger.refusal == nil {
            await self.record(unrecorded.take())
        }
    }

    /// Records documents that are published, for a while by now, and not recorded.
    private func recordRest() async {
        await self.record(self.services.publisher.unrecorded.take())
        let state = self.services.ledger.view.state
        guard state.log.recordsDocuments else { return }
        let due = self.services.clock().adding(seconds: -Self.grace)
        var rest: [AppID: [Publication]] = [:]
        for (number, app) in state.apps.values.enumerated() {
            if number % 256 == 255 { await Task.yield() }
            guard let document = self.services.publisher.table[app.id], document.issuedAt < due,
                !app.watch.hasRecorded(document.version)
            else { continue }
            rest[app.id] = [document.publication]
        }
        await self.record(rest)
    }

    /// Records the versions of each app in their order, and those of different apps side by side. What cannot be recorded now
    /// waits for the next round.
    private func record(_ publications: [AppID: [Publication]]) async {
        await withTaskGroup(of: Void.self) { group in
            var places = Self.width
            for (app, versions) in publications {
                if places > 0 { places -= 1 } else { await group.next() }
                group.addTask { await self.record(versions, of: app) }
            }
        }
    }

    private func record(_ versions: [Publication], of app: AppID) async {
        for (index, publication) in versions.enumerated() {
            let ledger = self.services.ledger
            if ledger.view.state.apps[app]?.watch.hasRecorded(publication.version) == true { continue }
            // Where nothing can be recorded, the node has logged why: no line for each app.
            guard ledger.refusal == nil,
                await self.commands.submit(
                    .publication(app, publication), failure: .publicationNotRecorded,
                    ["app": "\(app)", "version": "\(publication.version)"]) != .unavailable
            else { return self.services.publisher.unrecorded.giveBack(Array(versions[index...]), of: app) }
        }
    }
}

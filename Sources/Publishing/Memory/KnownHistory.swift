package import EventStore
package import PinWire
package import TransparencyLog

/// What is known of a ledger from outside its database: by a node's memory, a checkpoint or a report of `fsck`.
package struct KnownHistory: Sendable {
    /// Where it comes from, for people: a path.
    package var source: String
    /// The number of events.
    package var position: Int64
    /// The root of the Merkle tree over them.
    package var root: LogHash
    /// The number of the epoch; nil where the source does not say.
    package var epoch: Int64?
    /// The versions of documents that were served.
    package var versions: [AppID: Int64]
    /// The last events; nil where none were kept, or the file is damaged.
    package var journal: EventJournal?
    /// The newest documents that were served, as far as they were kept.
    package var documents: [Document] = []
    /// The versions of documents that were made of the first ``position`` events.
    package var versionsAtEnd: [AppID: Int64] = [:]
    /// True where the node has gone on with a later epoch since, and has set its files aside.
    package var isSetAside = false

    /// What a node remembers.
    ///
    /// - Parameter kept: The documents that it has kept.
    package init(
        _ memory: NodeMemory, journal: EventJournal?, kept: KeptDocuments = .none, source: String,
        isSetAside: Bool = false
    ) {
        let served = memory.documents.merging(kept.remembered) { $1 }
        self.init(
            position: memory.position, root: memory.root, epoch: memory.epoch, versions: served.mapValues(\.version),
            journal: journal, source: source)
        self.documents = kept.documents
        self.versionsAtEnd = memory.documents.mapValues(\.version)
        self.isSetAside = isSetAside
    }

    /// What an earlier report of `fsck` states.
    package init(_ report: AuditReport, source: String) {
        var versions: [AppID: Int64] = [:]
        for (name, version) in report.documents {
            if let app = try? AppID(name) { versions[app] = version }
        }
        self.init(
            position: report.position, root: report.root, epoch: report.epoch, versions: versions, source: source)
    }

    package init(
        position: Int64, root: LogHash, epoch: Int64? = nil, versions: [AppID: Int64] = [:],
        journal: EventJournal? = nil, source: String
    ) {
        self.source = source
        self.position = position
        self.root = root
        self.epoch = epoch
        self.versions = versions
        self.journal = journal
    }
}

import PinWire

/// Documents that are signed and served here, and not stored yet: the newest of each app, so never more than there are apps.
struct UnstoredDocuments {
    /// Why a document was signed. Each kind is stored by a task of its own, so that a changed app does not wait for the whole fleet.
    enum Kind: Sendable { case changed, fleet }

    private var changed: [AppID: DocumentStore.Outgoing] = [:]
    private var fleet: [AppID: DocumentStore.Outgoing] = [:]
    /// Documents that the database has refused, and no others beside them: they are offered again later.
    private var refused: [AppID: DocumentStore.Outgoing] = [:]

    /// The most documents that are stored in one statement, so that one of a changed app waits for few others' locks.
    private static let partCount = 100
    /// The most bytes of them, except of one alone.
    private static let partSize = 4 << 20

    func isEmpty(_ kind: Kind) -> Bool {
        switch kind {
        case .changed: self.changed.isEmpty
        case .fleet: self.fleet.isEmpty
        }
    }

    /// Adds a document, unless one of its app is there that is as new at `now`.
    mutating func add(_ outgoing: DocumentStore.Outgoing, as kind: Kind, at now: Timestamp) {
        guard self.makeRoom(for: outgoing, at: now) else { return }
        switch kind {
        case .changed: self.changed[outgoing.document.app] = outgoing
        case .fleet: self.fleet[outgoing.document.app] = outgoing
        }
    }

    /// Keeps a document that the database has refused until ``offerRefused()``, unless one of its app is there that is as new at `now`.
    mutating func refuse(_ outgoing: DocumentStore.Outgoing, at now: Timestamp) {
        if self.makeRoom(for: outgoing, at: now) { self.refused[outgoing.document.app] = outgoing }
    }

    /// Removes an older document of the app; false where there is one that is as new.
    private mutating func makeRoom(for outgoing: DocumentStore.Outgoing, at now: Timestamp) -> Bool {
        let (app, new) = (outgoing.document.app, outgoing.document)
        let old = (self.changed[app] ?? self.fleet[app] ?? self.refused[app])?.document
        if let old, old.issuance(at: now) >= new.issuance(at: now) { return false }
        (self.changed[app], self.fleet[app], self.refused[app]) = (nil, nil, nil)
        return true
    }

    /// Takes out documents of a kind, as many as are stored at once.
    mutating func take(_ kind: Kind) -> [DocumentStore.Outgoing] {
        var taken: [DocumentStore.Outgoing] = []
        var size = 0
        for outgoing in (kind == .changed ? self.changed : self.fleet).values.prefix(Self.partCount) {
            size += outgoing.document.body.count
            guard taken.isEmpty || size <= Self.partSize else { break }
            taken.append(outgoing)
        }
        for outgoing in taken { (self.changed[outgoing.document.app], self.fleet[outgoing.document.app]) = (nil, nil) }
        return taken
    }

    /// Counts those that the database has refused as documents of the fleet again.
    mutating func offerRefused() {
        self.fleet.merge(self.refused) { one, _ in one }
        self.refused = [:]
    }
}

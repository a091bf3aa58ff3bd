import Pinning
import Postgres

extension Ledger {
    /// The number of entries read in one statement.
    static let pageSize = 2000

    /// What brings a node forward: the fold at a later end of the ledger, made of its view, and the streams that grew.
    struct Growth {
        var base: Head
        var view: LedgerView
        var streams: Set<StreamID>
        /// The entries between the two; nil where the node holds none.
        var entries: [[UInt8]]?
    }

    /// Brings the node to the ledger's end.
    ///
    /// The entries are folded aside, and the fold is shown only where it makes the tree that the head has.
    func catchUp(on connection: isolated PostgresConnection) throws {
        let known = self.view.head
        let head = try self.head(try StoredEnd(try connection.query(Statements.head)), behind: known)
        try self.take(try self.growth(to: head, on: connection), on: connection)
    }

    /// Locks the ledger's end until the transaction ends, so that no other node appends until then, and reads up to it.
    ///
    /// What is read is to be shown by ``take(_:on:)`` once the transaction's commit is confirmed: until then, no standby may
    /// have it.
    func lockEnd(on connection: isolated PostgresConnection) throws -> Growth {
        let known = self.view.head
        let end = try StoredEnd(try connection.query(prepared: Statements.lockHead))
        return try self.growth(to: try self.head(end, behind: known), on: connection)
    }

    /// Shows what was read. Where a follower has shown a part of it meanwhile, the rest is read again.
    func take(_ growth: Growth, on connection: isolated PostgresConnection) throws {
        var growth = growth
        while !self.advance(
            from: growth.base, to: growth.view, changing: growth.streams, isLocal: false, entries: growth.entries)
        {
            growth = try self.growth(to: growth.view.head, on: connection)
        }
    }

    private func head(_ end: StoredEnd, behind known: Head) throws -> Head {
        let head = try self.authenticated(end)
        guard head.position >= known.position else {
            throw LedgerFault.shrunk(from: known.position, to: head.position)
        }
        return head
    }

    private func growth(to head: Head, on connection: isolated PostgresConnection) throws -> Growth {
        if let fault = self.fault { throw fault }
        let base = self.view
        var growth = Growth(base: base.head, view: base, streams: [], entries: self.holdsRecent ? [] : nil)
        // A follower may have read on further since the end was found.
        guard base.head.position <= head.position else { return growth }
        while growth.view.head.position < head.position {
            let page = LedgerPage(
                try connection.query(
                    prepared: Statements.entries,
                    [.int64(growth.view.head.position), .int64(head.position), .int64(Int64(Self.pageSize))]
                ), knowing: self.knownLevel, holdsEntries: growth.entries != nil)
            growth.entries?.append(contentsOf: page.entries)
            try growth.view.apply(page, before: head)
            growth.streams.formUnion(page.steps.map(\.stream))
        }
        try head.check(growth.view.head)
        return growth
    }
}

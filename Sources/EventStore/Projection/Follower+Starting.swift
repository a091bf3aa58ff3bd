import LogLines
import Logging
import PinWire

/// The first reading of a node that starts.
extension Follower {
    /// No standby confirmed in time that it has what was read.
    package struct Unconfirmed: Error, CustomStringConvertible {
        package let description: String
    }

    /// How many seconds a node that starts waits for a server that lacks what another one has.
    private static let lagLimit = 60

    /// Reads to the ledger's present end, as a node does that starts. What ``run(beside:)`` would not take in yet, this waits for.
    ///
    /// - Parameters:
    ///   - isTrusting: Whether to believe an end that is not authenticated, as an operator has said.
    ///   - onWaiting: Called when it has to wait for a standby; nil to fail instead.
    /// - Throws: ``Unconfirmed`` where it does not wait, ``LedgerReader/Behind`` where no server has what the node knows within a
    ///   minute, and otherwise as ``catchUp(trusting:confirms:)``.
    package func readToEnd(trusting isTrusting: Bool = false, onWaiting: (@Sendable () -> Void)? = nil) async throws {
        var isReported = false
        var lags = 0
        while true {
            do {
                if try await self.catchUp(trusting: isTrusting, confirms: self.confirms) { return }
                lags += 1
                guard lags < Self.lagLimit else { throw LedgerReader.Behind(position: self.ledger.endSeen - 1) }
            } catch let unconfirmed as Unconfirmed {
                try Task.checkCancellation()
                guard let onWaiting else { throw unconfirmed }
                // The database does answer.
                self.ledger.database.find(.reading, self.logger)
                if !isReported { self.logger.log(.endUnconfirmed, ["error": "\(unconfirmed)"]) }
                isReported = true
                onWaiting()
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Reads on until the node has `end` events, which the database has by what was read from it, perhaps from another server.
    ///
    /// - Throws: ``LedgerFault/shrunk(from:to:)`` where a primary says twice that it has fewer, ``LedgerReader/Behind`` where a
    ///   standby still has fewer after a minute, and otherwise as ``readToEnd(trusting:onWaiting:)``.
    package func readToEnd(through end: Int64, onWaiting: (@Sendable () -> Void)? = nil) async throws {
        for _ in 0..<Self.lagLimit {
            try await self.readToEnd(onWaiting: onWaiting)
            guard self.ledger.endSeen < end else { return }
            if let found = try await self.reader.loss(before: end) { throw LedgerFault.shrunk(from: end, to: found) }
            try await Task.sleep(for: .seconds(1))
        }
        throw LedgerReader.Behind(position: end - 1)
    }

    /// Reads on to the last end of the ledger that one of the node's keys authenticates, where its present end is not: a node that starts
    /// then knows keys and apps as its kind has recorded them, and can serve documents.
    ///
    /// Where nothing in the last ``searchLimit`` batches is authenticated the view stays as it is.
    package func catchUpToAuthenticated() async throws {
        guard let keys = self.ledger.keys else { return }
        try await self.reader.onOneServer { reader in
            let (base, end) = (self.ledger.view, try await reader.head())
            // A damaged head may lie below the snapshot from which the node started.
            guard base.head.position < end.position,
                let authentic = try await self.lastEnd(
                    authenticatedBy: keys, in: base.head.position..<end.position, reader)
            else { return }
            let fold = try await self.fold(base, to: authentic, reader)
            self.ledger.advance(
                from: base.head, to: fold.view, changing: fold.grown, isLocal: false, halting: fold.fault,
                entries: fold.entries)
            if let fault = fold.fault { throw fault }
        }
    }

    /// True where one of the node's keys authenticates one of the last ``searchLimit`` ends of the ledger: it is or was the ledger's key then,
    /// whatever has become of the present end and of the secrets.
    package func keyIsOfLedger() async throws -> Bool {
        guard let keys = self.ledger.keys else { return false }
        return try await self.reader.onOneServer { reader in
            let end = try await reader.head().position
            return end > 0 ? try await self.lastEnd(authenticatedBy: keys, in: 0..<end, reader) != nil : false
        }
    }

    /// The last end behind the first of `positions`, among ``searchLimit`` of each key, that one of the keys authenticates.
    private func lastEnd(
        authenticatedBy keys: BatchKeys, in positions: Range<Int64>, _ reader: LedgerReader
    ) async throws -> Head? {
        var last: Head?
        for key in keys.keys {
            guard let end = try await self.lastEnd(authenticatedBy: key, in: positions, reader) else { continue }
            if end.position > last?.position ?? 0 { last = end }
        }
        return last
    }

    private func lastEnd(
        authenticatedBy key: BatchKey, in positions: Range<Int64>, _ reader: LedgerReader
    ) async throws -> Head? {
        var bound = positions.upperBound
        var searched = 0
        while searched < Self.searchLimit, bound > positions.lowerBound {
            let page = try await reader.macs(
                at: positions.lowerBound..<bound, of: key, limit: min(self.pageSize, Self.searchLimit - searched))
            for candidate in page where key.defect(of: candidate.mac, beside: candidate.head) == nil {
                return candidate.head
            }
            guard let last = page.last else { return nil }
            bound = last.head.position - 1
            searched += page.count
        }
        return nil
    }

    /// Reads on to the last end of the ledger that the node verifies as it does others, where events behind it are missing: a node
    /// that starts then knows keys and apps, and can serve documents. Nothing changes where there is none.
    ///
    /// - Throws: ``LedgerFault`` where an event before that end is missing or damaged too.
    package func catchUpToVerified() async throws {
        guard self.ledger.keys == nil else { return try await self.catchUpToAuthenticated() }
        let (base, verifiers) = (self.ledger.view, self.ledger.verifiers)
        try await self.reader.onOneServer { reader in
            guard var end = try await reader.lastEnd(), end.position > base.head.position else { return }
            if !verifiers.isEmpty {
                let found = try await reader.signedEnd(at: base.head.position..<end.position, by: verifiers)
                guard let signed = found.end else { return }
                end = signed
            }
            let fold = try await self.fold(base, to: end, reader)
            self.ledger.advance(
                from: base.head, to: fold.view, changing: fold.grown, isLocal: false, halting: fold.fault,
                entries: fold.entries)
        }
    }

    /// How many batches at the end are looked at: each costs a few small queries.
    private static let searchLimit = 2000
}

package import EventStore
package import Keys
import PinWire
import Pinning
package import Postgres
package import Secrets
import Synchronization
package import TransparencyLog

/// The checkpoints that a node shows of the log: signed by the log's keys and, where it has witnesses, cosigned by them.
///
/// Without a quorum, a node shows the checkpoint of what it has verified itself. With one, it shows the newest checkpoint that
/// so many witnesses have cosigned, so that readers are shown no history that the witnesses have not seen.
package final class CheckpointSource: Sendable {
    /// A checkpoint to be shown.
    package struct Shown: Sendable {
        package var note: SignedNote
        package var checkpoint: Checkpoint
        /// The witnesses that have cosigned it, and when.
        package var cosignatures: [SignedNote.Verified] = []
    }

    /// Why no checkpoint can be shown.
    package enum Unavailable: Error, Hashable, Sendable {
        case halted(LedgerFault)
        case notOpen
        /// Events were lost since the log has its name.
        case ended
        /// None has the cosignatures of the quorum yet.
        case notCosigned
    }

    /// What was read from the database, and found to be right under this trust.
    private struct Known {
        var bytes: [UInt8]
        var trust: LogTrust
        var shown: Shown
    }

    package let stored: CosignedCheckpoints
    private let ledger: Ledger
    private let keys: SigningKeys
    private let reader: LedgerReader
    private let known = Mutex<Known?>(nil)

    package init(ledger: Ledger, keys: SigningKeys, pool: PostgresPool) {
        self.ledger = ledger
        self.keys = keys
        self.reader = LedgerReader(pool: pool)
        self.stored = CosignedCheckpoints(pool: pool)
    }

    /// The checkpoint to show now.
    ///
    /// - Throws: ``Unavailable``, `SigningKeys.Unavailable`, or the database's error.
    package func newest() async throws -> Shown {
        // What a halted node has seen last may be what no other node has.
        if let fault = self.ledger.fault { throw Unavailable.halted(fault) }
        let view = self.ledger.view
        let log = view.state.log
        guard log.origin != nil else { throw Unavailable.notOpen }
        guard let origin = view.state.signableOrigin else { throw Unavailable.ended }
        guard !log.witnesses.isEmpty else { return try await self.signed(of: view, as: origin) }
        let cosigned = try await self.cosigned(of: view)?.shown
        if let cosigned, log.quorum > 0 || cosigned.checkpoint.size == view.head.frontier.size { return cosigned }
        guard log.quorum == 0 else { throw Unavailable.notCosigned }
        do { return try await self.signed(of: view, as: origin) } catch let unavailable as SigningKeys.Unavailable {
            // A node that cannot sign shows what others have signed.
            guard let cosigned else { throw unavailable }
            return cosigned
        }
    }

    /// The checkpoint to show of an entry: one that witnesses have cosigned, if it covers the entry; else the newest.
    ///
    /// - Throws: As ``newest()``.
    package func best(covering index: UInt64) async throws -> Shown {
        let view = self.ledger.view
        if self.ledger.fault == nil, !view.state.log.witnesses.isEmpty,
            let cosigned = try await self.cosigned(of: view)?.shown, cosigned.checkpoint.size > index
        {
            return cosigned
        }
        return try await self.newest()
    }

    /// The checkpoint of a view, signed by every key of the log that is in use. Always the same for the same ledger and keys,
    /// on every node.
    func signed(of view: LedgerView, as origin: LogName) async throws -> Shown {
        let frontier = view.head.frontier
        let checkpoint = Checkpoint(origin: origin, size: frontier.size, root: frontier.root)
        var signatures: [SignedNote.Signature] = []
        for key in view.state.log.signers {
            let privateKey = try await self.keys.privateKey(of: key)
            signatures.append(try NoteSigner(name: origin, privateKey: privateKey).sign(checkpoint.text))
        }
        return Shown(note: SignedNote(text: checkpoint.text, signatures: signatures), checkpoint: checkpoint)
    }

    /// The newest cosigned checkpoint in the database, where it is one of this ledger and has the signatures that the ledger
    /// asks for; else, or where that one is of fewer events, the last one that was read and still has them, which is not in the
    /// database any more; nil for none.
    func cosigned(of view: LedgerView) async throws -> (shown: Shown, isStored: Bool)? {
        guard let origin = view.state.signableOrigin, let trust = LogTrust(view.state.log, of: origin) else {
            return nil
        }
        let known = self.known.withLock { $0 }.flatMap { $0.trust == trust ? $0 : nil }
        let held = known.map { (shown: $0.shown, isStored: false) }
        guard let stored = try await self.stored.newest() else { return held }
        if let known, known.bytes == stored { return (known.shown, true) }
        guard let shown = try await self.verified(stored, by: trust, of: origin, in: view),
            shown.checkpoint.size >= known?.shown.checkpoint.size ?? 0
        else { return held }
        self.known.withLock { $0 = Known(bytes: stored, trust: trust, shown: shown) }
        return (shown, true)
    }

    private func verified(
        _ bytes: [UInt8], by trust: LogTrust, of origin: LogName, in view: LedgerView
    ) async throws -> Shown? {
        guard let note = try? SignedNote(bytes), let verified = try? trust.verify(checkpoint: bytes),
            verified.checkpoint.origin == origin, verified.checkpoint.size <= view.head.frontier.size
        else { return nil }
        do {
            try await self.reader.check(
                view.head, goesOnFrom: Int64(verified.checkpoint.size), root: verified.checkpoint.root)
        } catch let error where error is LedgerFault || error is LedgerReader.Behind {
            return nil
        }
        return Shown(note: note, checkpoint: verified.checkpoint, cosignatures: verified.cosignatures)
    }
}

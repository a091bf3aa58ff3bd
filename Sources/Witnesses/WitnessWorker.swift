import Concurrency
package import EventStore
import Keys
import LogLines
package import Logging
package import PinWire
import Pinning
package import Postgres
import TransparencyLog

/// Has witnesses cosign the log's checkpoints.
///
/// Several nodes may ask the same witness: it takes their submissions one after another, and each node reads what the others
/// have stored first. If the process dies, the next round of any node goes on.
package actor WitnessWorker {
    /// The time between two looks at whether the log has grown.
    private static let interval = Duration.seconds(5)
    /// After so many seconds, the witnesses cosign the same checkpoint again: readers see that it is fresh.
    private static let refreshSeconds: Int64 = 600
    /// By how many seconds a witness's clock may be off.
    private static let clockTolerance: Int64 = 300
    /// Attempts within a round: one to learn which checkpoint a witness has, one with it, and one where another node was faster.
    private static let attemptLimit = 3
    /// A witness that took longer for an attempt is not asked again in the same round, which the others wait for.
    private static let patience = Duration.seconds(3)

    private let ledger: Ledger
    private let source: CheckpointSource
    private let client: WitnessClient
    private let reader: LedgerReader
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private var collected = Collection()
    /// By the witnesses' vkeys.
    private var standings: [String: Standing] = [:]

    /// A witness's signature of a checkpoint, with the time that it states, in seconds from 1970 on.
    private struct Cosignature {
        var signature: SignedNote.Signature
        var seconds: Int64
    }

    /// What this node has collected for one checkpoint.
    private struct Collection {
        var text: [UInt8] = []
        /// By the witnesses' vkeys.
        var cosignatures: [String: Cosignature] = [:]
        /// How many of them are stored.
        var storedCount = 0
    }

    /// Whether the ledger was compared with what the witnesses have, since this node started.
    private var hasCompared = false

    /// What this node knows of a witness.
    private struct Standing {
        /// The size of the checkpoint that it cosigned last, as it says.
        var size: UInt64 = 0
        var failures = 0
        var notBefore = ContinuousClock.now
    }

    package init(
        ledger: Ledger, source: CheckpointSource, client: WitnessClient, pool: PostgresPool, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.clock = clock
        self.ledger = ledger
        self.source = source
        self.client = client
        self.reader = LedgerReader(pool: pool)
        self.logger = logger
    }

    /// How long a witness is not asked after so many failures in a row: 5 to 30 seconds.
    private static func pause(after failures: Int) -> Duration { .seconds(min(5 << min(failures - 1, 3), 30)) }

    /// Works until cancelled.
    package func run() async {
        let worker = PeriodicWorker(every: Self.interval, jitter: 0.2) { [ledger] in ledger.fault != nil }
        await worker.run(logging: .witnessesNotAsked, to: self.logger) { try await self.round() }
    }

    private func round() async throws {
        let view = self.ledger.view
        let log = view.state.log
        guard !log.witnesses.isEmpty, let origin = view.state.signableOrigin, view.head.position > 0 else { return }
        if !self.hasCompared {
            // The database may be an old backup, with a checkpoint of its own that needs no new cosignature.
            await withDiscardingTaskGroup { group in
                for witness in log.witnesses { group.addTask { await self.compare(with: witness) } }
            }
            self.hasCompared = true
        }
        guard self.ledger.fault == nil else { return }
        // What is stored counts, by whichever node, while it is fresh and of this very checkpoint.
        let oldest = self.now - Self.refreshSeconds
        var stored: [String: Cosignature] = [:]
        if let (shown, isStored) = try await self.source.cosigned(of: view), isStored,
            shown.checkpoint.size == view.head.frontier.size
        {
            for verified in shown.cosignatures {
                guard let seconds = verified.seconds, seconds >= oldest, seconds <= self.now + Self.clockTolerance,
                    let signature = shown.note.signature(of: verified.key)
                else { continue }
                stored[verified.key.text] = Cosignature(signature: signature, seconds: seconds)
            }
        }
        guard log.witnesses.contains(where: { stored[$0.verifier] == nil }) else { return }
        let signed = try await self.source.signed(of: view, as: origin)
        if self.collected.text != signed.note.text { self.collected = Collection(text: signed.note.text) }
        self.collected.cosignatures = self.collected.cosignatures.filter { $0.value.seconds >= oldest }
        self.collected.cosignatures.merge(stored) { _, stored in stored }
        self.collected.storedCount = stored.count
        let due = log.witnesses.filter {
            self.collected.cosignatures[$0.verifier] == nil
                && self.standings[$0.verifier, default: Standing()].notBefore <= .now
        }
        // What an earlier round has collected and could not store.
        try await self.store(signed, of: origin, log)
        try await withThrowingTaskGroup(of: (LogWitness, Result<Cosignature?, WitnessClient.Failure>).self) { group in
            for witness in due {
                group.addTask { (witness, await self.cosignature(of: witness, on: signed, of: view)) }
            }
            // One that is slow does not delay what the others have cosigned.
            for try await (witness, result) in group {
                try await self.take(result, of: witness, on: signed)
                try await self.store(signed, of: origin, log)
            }
        }
    }

    /// Keeps what a witness has answered.
    private func take(
        _ result: Result<Cosignature?, WitnessClient.Failure>, of witness: LogWitness, on signed: CheckpointSource.Shown
    ) async throws {
        guard !Task.isCancelled else { return }
        var standing = self.standings[witness.verifier, default: Standing()]
        defer { self.standings[witness.verifier] = standing }
        switch result {
        case .success(nil): break  // Another node is ahead.
        case .success(let cosignature?):
            standing.failures = 0
            standing.size = signed.checkpoint.size
            self.collected.cosignatures[witness.verifier] = cosignature
            try await self.source.stored.keep(.success(Int64(signed.checkpoint.size)), of: witness)
        case .failure(let failure):
            standing.failures += 1
            standing.notBefore = .now + Self.pause(after: standing.failures)
            self.logger.log(.witnessFailed, ["witness": "\(witness.name)", "error": "\(failure)"])
            try await self.source.stored.keep(.failure(failure), of: witness)
        }
    }

    /// Stores the checkpoint with its cosignatures, where they are enough and more than are stored.
    private func store(_ signed: CheckpointSource.Shown, of origin: LogName, _ log: LogSettings) async throws {
        let signatures = log.witnesses.compactMap { self.collected.cosignatures[$0.verifier]?.signature }
        guard signatures.count > self.collected.storedCount, signatures.count >= max(1, log.quorum) else { return }
        let note = signatures.reduce(signed.note) { $0.adding($1) }
        try await self.source.stored.keep(note.encoded, of: origin, size: Int64(signed.checkpoint.size))
        self.collected.storedCount = signatures.count
    }

    /// The time, in seconds from 1970 on.
    private var now: Int64 { self.clock().microseconds / 1_000_000 }

    /// A witness's cosignature of a checkpoint; nil where the witness has cosigned a later one, which another node has sent it.
    private func cosignature(
        of witness: LogWitness, on signed: CheckpointSource.Shown, of view: LedgerView
    ) async -> Result<Cosignature?, WitnessClient.Failure> {
        let began = ContinuousClock.now
        let size = signed.checkpoint.size
        var old = min(self.standings[witness.verifier]?.size ?? 0, size)
        do {
            for _ in 0..<Self.attemptLimit {
                let proof =
                    0 < old && old < size ? try await self.reader.consistencyProof(from: old, to: size).hashes : []
                let submission = CheckpointSubmission(oldSize: old, hashes: proof, checkpoint: signed.note.encoded)
                switch try await self.client.submit(submission, of: signed.note, to: witness) {
                case .cosigned(let signature, let seconds):
                    // It would look fresh for too long, or never.
                    let now = self.now
                    guard ((now - Self.clockTolerance)...(now + Self.clockTolerance)).contains(seconds) else {
                        throw WitnessClient.Failure.refused("stated the time \(seconds), and it is \(now)")
                    }
                    return .success(Cosignature(signature: signature, seconds: seconds))
                case .other(let other) where other <= size && other != old: old = other
                case .other(let other):
                    if other > size, try await self.knows(Int64(clamping: other)) { return .success(nil) }
                    throw WitnessClient.Failure.refused(
                        "says that it has cosigned \(other) entries of this log, and was asked for \(size)")
                }
                guard began.duration(to: .now) < Self.patience else {
                    throw WitnessClient.Failure.refused("answers too slowly")
                }
            }
            throw WitnessClient.Failure.refused("answered 409 to each of \(Self.attemptLimit) submissions")
        } catch {
            let failure = error as? WitnessClient.Failure ?? .refused("not asked: \(error)")
            if case .refused = failure, began.duration(to: .now) < Self.patience { await self.compare(with: witness) }
            return .failure(failure)
        }
    }

    /// Whether the database's ledger has so many events.
    private func knows(_ size: Int64) async throws -> Bool {
        if self.ledger.position >= size { return true }
        return try await self.reader.head().position >= size
    }

    /// Compares the ledger with the last checkpoint that a witness shows, and halts the node where the log itself has signed
    /// another history. What a witness says without the log's signature proves nothing.
    private func compare(with witness: LogWitness) async {
        let state = self.ledger.view.state
        guard let origin = state.signableOrigin,
            let trust = LogTrust(log: state.log.signers.compactMap { NoteKey($0, of: origin) }),
            let bytes = try? await self.client.checkpoint(of: origin, from: witness),
            let shown = try? trust.verify(checkpoint: bytes).checkpoint, shown.origin == origin
        else { return }
        let size = Int64(clamping: shown.size)
        do {
            // A node that is behind its database is about to catch up.
            if self.ledger.position < size, try await self.knows(size) { return }
            try await self.reader.check(self.ledger.view.head, goesOnFrom: size, root: shown.root)
        } catch let fault as LedgerFault {
            // A recovery meanwhile has given the log another name.
            let state = self.ledger.view.state
            guard !state.fleet.hasEnded(historyOf: size, in: state.epoch(ofLog: origin)) else { return }
            self.logger.log(.witnessContradicted, ["witness": "\(witness.name)", "fault": "\(fault)"])
            self.ledger.halt(fault)
        } catch {
            // The database cannot be read; the next round compares again.
        }
    }
}

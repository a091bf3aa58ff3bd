import EventStore
import Keys
import PinWire
import Pinning
import TransparencyLog
import Webhooks
import Witnesses

extension Node {
    /// The checkpoints that the ledger has to go on from, as `--expect-checkpoint` says.
    func expectedCheckpoints(_ log: LogSettings) async throws -> [Checkpoint] {
        switch self.configuration.memory.expected {
        case nil: return []
        case .known(let checkpoint): return [checkpoint]
        case .address(let url): return [try await self.checkpoint(at: url, log)]
        case .witnesses: return try await self.checkpointsOfWitnesses(log)
        }
    }

    /// The checkpoint at an address, which one of the keys that the ledger names has signed: another server
    /// at the address could otherwise keep the node from recording.
    private func checkpoint(at url: OutgoingURL, _ log: LogSettings) async throws -> Checkpoint {
        let origin = try Self.origin(of: log)
        let answer: ReceiverAnswer
        let advice = "Check --expect-checkpoint, or give it a file."
        do {
            answer = try await self.withOutgoingClient { try await $0.get(url, reading: WitnessClient.answerLimit) }
        } catch {
            throw CommandFailure(
                "the checkpoint cannot be read from \(url): \(error)", advice: advice, status: .unreachable)
        }
        guard answer.status == 200 else {
            throw CommandFailure(
                "the checkpoint cannot be read: \(url) \(DeliveryVerdict.text(of: answer))", advice: advice,
                status: .unreachable)
        }
        return try Self.verified(answer.body, of: log, origin, from: url.text)
    }

    /// The last checkpoint of each witness that answers, which the log has signed. At least as many as the quorum have to
    /// answer, and one in any case.
    func checkpointsOfWitnesses(_ log: LogSettings) async throws -> [Checkpoint] {
        let origin = try Self.origin(of: log)
        let (checkpoints, failures) = await self.withOutgoingClient { client in
            var checkpoints: [Checkpoint] = []
            var failures: [String] = []
            for witness in log.witnesses {
                do {
                    let bytes = try await WitnessClient(client: client).checkpoint(of: origin, from: witness)
                    checkpoints.append(try Self.verified(bytes, of: log, origin, from: witness.name.text))
                } catch {
                    failures.append("\(witness.name): \((error as? CommandFailure)?.message ?? "\(error)")")
                }
            }
            return (checkpoints, failures)
        }
        guard checkpoints.count >= max(1, Int(log.quorum)) else {
            let said = failures.joined(separator: "; ")
            throw CommandFailure(
                log.witnesses.isEmpty
                    ? "the ledger names no witness that could be asked for a checkpoint"
                    : "\(checkpoints.count) of \(log.witnesses.count) witnesses gave a checkpoint of \(origin): \(said)",
                advice:
                    "Try again when the witnesses answer, start a node that remembers the ledger, which this one asks where it has no --expect-checkpoint, give --expect-checkpoint a file, or start this node once with --trust-database and without it.",
                status: .unreachable
            )
        }
        return checkpoints
    }

    private static func origin(of log: LogSettings) throws -> LogName {
        guard let origin = log.origin else {
            throw CommandFailure(
                "the ledger's log is not open, so nobody else has a checkpoint of it",
                advice: "Give --expect-checkpoint a file, or start the node without it.")
        }
        return origin
    }

    private static func verified(
        _ bytes: [UInt8], of log: LogSettings, _ origin: LogName, from place: String
    ) throws -> Checkpoint {
        do throws(LogTrust.Invalid) {
            guard let trust = LogTrust(log: log.signers.compactMap { NoteKey($0, of: origin) }) else { throw .unsigned }
            return try trust.verify(checkpoint: bytes).checkpoint
        } catch {
            throw CommandFailure("the checkpoint of \(place) cannot be believed: \(error)", status: .notVerified)
        }
    }

    private func withOutgoingClient<R: Sendable>(_ body: (OutgoingClient) async throws -> R) async rethrows -> R {
        let client = self.makeOutgoingClient()
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }
}

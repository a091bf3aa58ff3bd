package import Keys
package import PinWire
package import Pinning
package import TransparencyLog
package import Webhooks

/// Asks witnesses to cosign checkpoints, and what they have cosigned (C2SP tlog-witness).
package struct WitnessClient: Sendable {
    private let client: OutgoingClient

    package init(client: OutgoingClient) {
        self.client = client
    }

    /// Why there is no cosignature.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The witness could not be asked.
        case unreached(SendFailure)
        /// It answered with another status, or with what is not an answer to the request.
        case refused(String)
        /// Its address cannot be put together.
        case address(String)

        package var description: String {
            switch self {
            case .unreached(let failure): DeliveryVerdict.printable(failure.description)
            case .refused(let why): why
            case .address(let why): "the witness's address cannot be used: it \(why)"
            }
        }
    }

    /// An answer to a submission.
    package enum Answer: Sendable {
        /// With the time that the witness states, in seconds from 1970 on.
        case cosigned(SignedNote.Signature, seconds: Int64)
        /// The witness has cosigned a checkpoint of another size than the submission's old one: of this one.
        case other(size: UInt64)
    }

    /// Bytes that are read of an answer: enough for a checkpoint with 64 signatures under the longest names.
    package static let answerLimit = 32_768

    /// Asks a witness to cosign a checkpoint.
    ///
    /// - Throws: ``Failure``. A cosignature that does not fit the checkpoint is none.
    package func submit(
        _ submission: CheckpointSubmission, of note: SignedNote, to witness: LogWitness
    ) async throws(Failure) -> Answer {
        let url = try Self.url(witness.url, "add-checkpoint")
        let answer: ReceiverAnswer
        do throws(SendFailure) {
            answer = try await self.client.post(
                submission.encoded, "text/plain; charset=utf-8", to: url, reading: Self.answerLimit)
        } catch {
            throw .unreached(error)
        }
        if answer.status == 409, let size = CheckpointSubmission.size(in: answer.body) { return .other(size: size) }
        guard answer.status == 200 else { throw .refused(DeliveryVerdict.text(of: answer)) }
        guard let key = NoteKey(witness),
            let lines = try? SignedNote.signatures(in: answer.body[...]),
            let signature = SignedNote(text: note.text, signatures: lines).signature(of: key)
        else { throw .refused("answered 200 without a cosignature of the key \(witness.keyID)") }
        let verified = try? SignedNote(text: note.text, signatures: [signature]).verified(by: [key])
        guard let seconds = verified?.first?.seconds else {
            throw .refused("answered 200 with a cosignature that does not fit the checkpoint")
        }
        return .cosigned(signature, seconds: seconds)
    }

    /// The last checkpoint that a witness has cosigned of a log: a signed note that is not verified.
    ///
    /// - Throws: ``Failure``.
    package func checkpoint(of origin: LogName, from witness: LogWitness) async throws(Failure) -> [UInt8] {
        let name = Hex.encode(sha256(Array(origin.text.utf8)))
        let url = try Self.url(witness.monitoringURL ?? witness.url, "\(name)/checkpoint")
        let answer: ReceiverAnswer
        do throws(SendFailure) { answer = try await self.client.get(url, reading: Self.answerLimit) } catch {
            throw .unreached(error)
        }
        guard answer.status == 200 else { throw .refused(DeliveryVerdict.text(of: answer)) }
        return answer.body
    }

    private static func url(_ prefix: OutgoingURL, _ path: String) throws(Failure) -> OutgoingURL {
        do throws(OutgoingURL.Malformed) {
            return try OutgoingURL("\(prefix.text)\(prefix.text.hasSuffix("/") ? "" : "/")\(path)")
        } catch {
            throw .address(error.description)
        }
    }
}

package import PinWire
package import TransparencyLog

/// What a reader of a log believes: which keys sign for the log, and how many of which witnesses have to agree.
package struct LogTrust: Hashable, Sendable {
    /// The log's keys, all of one name; two while the log changes its key.
    package let log: [NoteKey]
    /// Keys of witnesses.
    package let witnesses: [NoteKey]
    /// How many of the witnesses have to have cosigned a checkpoint; 0 for none.
    package let quorum: Int

    /// Names the keys; nil where there is none of the log, the log's have several names or are a witness's, or fewer
    /// different witnesses than the quorum are known.
    package init?(log: [NoteKey], witnesses: [NoteKey] = [], quorum: Int = 0) {
        guard let name = log.first?.name, log.allSatisfy({ $0.name == name && $0.kind == .ed25519 }),
            witnesses.allSatisfy({ $0.kind == .cosignature }),
            (0...Set(witnesses.map(\.publicKey)).count).contains(quorum)
        else { return nil }
        self.log = log
        self.witnesses = witnesses
        self.quorum = quorum
    }

    /// A checkpoint that is to be believed.
    package struct Verified: Hashable, Sendable {
        package let checkpoint: Checkpoint
        /// The witnesses that cosigned it, and when.
        package let cosignatures: [SignedNote.Verified]
    }

    /// Why a checkpoint or a proof is not to be believed.
    package enum Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// The note is malformed, or one of its signatures wrong.
        case note(SignedNote.Invalid)
        /// What is signed is not a checkpoint, or the proof does not lead to it.
        case log(LogError)
        /// None of the log's keys signed the checkpoint.
        case unsigned
        /// The checkpoint is another log's.
        case foreign(origin: LogName)
        /// Too few witnesses cosigned the checkpoint.
        case noQuorum(of: Int, cosigned: Int)

        package var description: String {
            switch self {
            case .note(let invalid): invalid.description
            case .log(let error): error.description
            case .unsigned: "no known key of the log signed the checkpoint"
            case .foreign(let origin): "the checkpoint is of the log \(origin)"
            case .noQuorum(let quorum, let cosigned):
                "\(cosigned) of the known witnesses cosigned the checkpoint, and \(quorum) have to"
            }
        }
    }

    /// Verifies a signed checkpoint: the log's signature, its origin, the witnesses' quorum.
    ///
    /// - Throws: ``Invalid``.
    package func verify(checkpoint bytes: [UInt8]) throws(Invalid) -> Verified {
        let note: SignedNote
        let signed: [SignedNote.Verified]
        let cosigned: [SignedNote.Verified]
        do {
            note = try SignedNote(bytes)
            signed = try note.verified(by: self.log)
            cosigned = try note.verified(by: self.witnesses)
        } catch {
            throw .note(error)
        }
        guard let signer = signed.first else { throw .unsigned }
        let checkpoint: Checkpoint
        do { checkpoint = try Checkpoint(text: note.text) } catch { throw .log(error) }
        // A key could sign for several logs.
        guard checkpoint.origin == signer.key.name else { throw .foreign(origin: checkpoint.origin) }
        guard cosigned.count >= self.quorum else { throw .noQuorum(of: self.quorum, cosigned: cosigned.count) }
        return Verified(checkpoint: checkpoint, cosignatures: cosigned)
    }

    /// Verifies that an entry with the leaf hash `leaf` is in the log, by a proof file alone.
    ///
    /// - Throws: ``Invalid``.
    package func verify(_ proof: LogProof, leaf: LogHash) throws(Invalid) -> Verified {
        let verified = try self.verify(checkpoint: proof.checkpoint)
        do { try proof.verify(leaf: leaf, against: verified.checkpoint) } catch { throw .log(error) }
        return verified
    }
}
